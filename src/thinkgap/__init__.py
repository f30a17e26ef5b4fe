"""thinkgap measures whether an evaluation reads the event that its prompt requested.

`thinkgap.load(RUN)` gives a finished run as data frames (`docs/analysis.md`); nothing is imported before it is called.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["load"]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    # By name, so that importing any module of the package loads neither pandas nor pyarrow.
    if name in __all__:
        return getattr(importlib.import_module("thinkgap.frames"), name)
    raise AttributeError(f"module 'thinkgap' has no attribute {name!r}")
