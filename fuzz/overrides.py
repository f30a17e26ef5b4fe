"""Fuzz target: any argument of the command line composes, or is refused with a message, by us or by Hydra."""

from __future__ import annotations

import contextlib

from fuzz.driver import fuzz, instrumented

with instrumented():
    from thinkgap.cli import CONF, prepare_arguments
    from thinkgap.errors import ThinkgapError
    from thinkgap.schema import EvaluateConfig

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException

_PARSER = OverridesParser.create()


def check(data: bytes) -> None:
    """Arguments, one a line."""
    arguments = [one for one in data.decode("utf-8", "surrogateescape").split("\n") if one and "\0" not in one]
    try:
        prepared = prepare_arguments(arguments, EvaluateConfig, CONF)
    except ThinkgapError:
        return
    for one in prepared:
        if not one.startswith("-") and "=" in one:
            with contextlib.suppress(HydraException):
                _PARSER.parse_override(one)


if __name__ == "__main__":
    fuzz("overrides", check)
