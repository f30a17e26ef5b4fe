"""Keeping keys, tokens and passwords out of what is stored or sent.

Two nets: a field whose name says that it is a secret, and a value that holds what a secret environment variable
holds. Knows nothing of where the result goes.
"""

from __future__ import annotations

import numbers
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:(?:api|access|private|secret|auth)_?keys?|key|(?:access|auth|api|bearer|refresh|hf|hub)_?tokens?|token"
    r"|secrets?|passw(?:or)?d|passphrase|pwd|credentials?|authorization|bearer|cookie)(?:$|_(?!ids?$|type$|count$))"
)
_FOLDERS = ("PWD", "OLDPWD")
"""A shell's working folders: no passwords, and paths below them must stay readable."""
_SHORTEST = 8
"""Shorter environment values ("1", "true") occur by accident."""


def looks_secret(name: str) -> bool:
    """Whether a field or variable of this name may hold a secret (`api_key`, `HF_TOKEN`; not `max_tokens`)."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("-", "_").replace(".", "_")
    return _SECRET_NAME.search(snake.lower()) is not None


def plain(value: Any, secrets: Sequence[str] | None = None) -> Any:
    """`value` as JSON data without its secrets.

    Mappings and dataclasses become dicts, tuples and sets lists, enums their value, anything else unknown its text.
    Fields with a secret name are left out; texts that hold the value of a secret environment variable become
    "[removed]".

    Args:
        value: A configuration or other facts of a run.
        secrets: Values to look for; None takes them from the environment.
    """
    known = _environment_secrets() if secrets is None else secrets
    if is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(inner, known) for key, inner in value.items() if not looks_secret(str(key))}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(inner, known) for inner in value]
    if isinstance(value, Enum):
        return plain(value.value, known)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, numbers.Real):  # numpy's own number types
        return int(value) if isinstance(value, numbers.Integral) else float(value)
    text = str(value)
    return "[removed]" if any(secret in text for secret in known) else text


def _environment_secrets() -> list[str]:
    return [
        value
        for name, value in os.environ.items()
        if len(value) >= _SHORTEST and looks_secret(name) and name not in _FOLDERS
    ]
