"""Errors a user can act on.

Each message says what is wrong, which item, file or setting it concerns, and the way out.
Entry points print these without a traceback; anything else is a defect and keeps its traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ThinkgapError(Exception):
    """Base of every error that names its own remedy."""


class ConfigError(ThinkgapError):
    """A setting, or a combination of settings, that cannot be honoured."""


class DataError(ThinkgapError):
    """A data source that cannot be read as the adapter expects, or too many bad rows."""


class RowError(ThinkgapError):
    """One row that cannot become an `Item`; the loader reports it with its id and skips it."""


class PromptError(ThinkgapError):
    """A prompt that cannot be rendered or read as the condition requires.

    `kind` is the short reason under which excluded items are counted.
    """

    def __init__(self, message: str, kind: str = "cannot be shown to this model") -> None:
        super().__init__(message)
        self.kind = kind


class LabelError(PromptError):
    """Option labels that cannot be read as one token each at the read position."""


class ModelError(ThinkgapError):
    """A model that cannot be loaded, or whose structure fails its numerical check."""


class NotFiniteError(ModelError):
    """Logits that are NaN or infinite."""


class StoreError(ThinkgapError):
    """Records on disk that are missing, damaged, or were written under other settings."""


class ProcessError(ThinkgapError):
    """Another process of the same job ended before it was done."""


def nearest(name: str, options: Iterable[str]) -> str:
    """`"; did you mean 'a' or 'b'?"` for the closest of `options`, or the whole list if none is close."""
    known = sorted(options)
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if close:
        return "; did you mean " + " or ".join(repr(option) for option in close) + "?"
    return f"; known: {', '.join(known) or 'none'}"
