"""Make one HTML page of finished runs: `python -m analysis.report runs=A,B out=report.html`.

Takes folders as they are too, and patterns (`runs=outputs/evaluate/*`). Runs that cannot be read are named on the page
and on stderr. Loads no model.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from analysis.report.collect import collect
from analysis.report.page import page
from thinkgap.errors import ConfigError, ThinkgapError, nearest
from thinkgap.frames.folders import folders_of
from thinkgap.store.atomic import write_text

USAGE = """python -m analysis.report RUN_FOLDER [RUN_FOLDER ...] [out=report.html]

  runs=A,B        folders of finished runs, or patterns in quotes: 'runs=outputs/evaluate/*'; may be given again
  out=FILE        the page to write (report.html)
  title=TEXT      heading of the page
  items=N         list N items of each run, evenly; figures are over all of them anyway
  images=false    do not read pictures again from the data sets
"""
_SETTINGS = {"runs", "out", "title", "items", "images"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page; returns 1 if there is none, or if some run could not be read, else 0."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or {"-h", "--help"} & set(given):
        print(USAGE, end="", file=sys.stdout if given else sys.stderr)
        return 0 if given else 1
    try:
        patterns, settings = _parsed(given)
        out = Path(settings.get("out", "report.html"))
        found = collect([str(one) for one in folders_of(patterns)], images=_flag(settings), items=_items(settings))
        text = page(found, settings.get("title", ""))
        write_text(out, text)
    except ThinkgapError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for problem in found.problems:
        print(f"warning: {problem}", file=sys.stderr)
    rows = sum(len(run.rows) for run in found.runs)
    print(f"{out}: {len(found.runs)} runs, {rows:,} rows, {len(text) / 1e6:.1f} MB; open it in a browser")
    return 1 if found.unread else 0


def _parsed(given: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    patterns: list[str] = []
    settings: dict[str, str] = {}
    for argument in given:
        key, equals, value = argument.partition("=")
        if equals and key in _SETTINGS:
            if key == "runs":
                patterns += [one.strip() for one in value.strip("[]").split(",") if one.strip()]
            else:
                settings[key] = value
        elif equals and not Path(argument).exists() and "/" not in key:
            raise ConfigError(f"{argument}: no such setting{nearest(key, _SETTINGS)}")
        elif argument.startswith("-"):
            raise ConfigError(f"{argument}: no such option; settings are written as KEY=VALUE, see --help")
        else:
            patterns.append(argument)
    return patterns, settings


def _items(settings: dict[str, str]) -> int | None:
    value = settings.get("items", "")
    if not value:
        return None
    if not value.isdecimal() or int(value) < 1:
        raise ConfigError(f"items={value}: a number of 1 or more is needed")
    return int(value)


def _flag(settings: dict[str, str]) -> bool:
    value = settings.get("images", "true").lower()
    if value not in ("true", "false"):
        raise ConfigError(f"images={value}: true or false is needed")
    return value == "true"


if __name__ == "__main__":
    sys.exit(main())
