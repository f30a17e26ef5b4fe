"""How the end of a request is spelt by servers and decoders, brought to three questions.

It knows words only, no response and no server.
"""

from __future__ import annotations

import re
from functools import lru_cache

_CUT = frozenset(
    {
        "length",
        "limit",
        "max_length",
        "max_new_tokens",
        "max_output_tokens",
        "max_tokens",
        "model_context_window_exceeded",
        "model_length",
        "token_limit",
    }
)
_FILTERED = frozenset(
    {
        "blocklist",
        "content_blocked",
        "content_filter",
        "content_filtered",
        "data_inspection_failed",
        "guardrail_intervened",
        "image_safety",
        "prohibited_content",
        "recitation",
        "safety",
        "sensitive",
        "spii",
    }
)
_REFUSED = frozenset({"refusal", "refused"})
_OTHERS = re.compile(r"[\s-]+")
_PREFIX = re.compile(r".*[.:/]_*")
"""`FinishReason.MAX_TOKENS`, `incomplete: max_output_tokens`: what stands before the reason itself."""


def is_cut(reason: str) -> bool:
    """Whether `reason` says that the limit on tokens ended the response."""
    return _plain(reason) in _CUT


def is_filtered(reason: str) -> bool:
    """Whether `reason` says that a filter of the server held the response back or ended it."""
    return _plain(reason) in _FILTERED


def is_refusal(reason: str) -> bool:
    """Whether `reason` says that the model refused."""
    return _plain(reason) in _REFUSED


@lru_cache(maxsize=1024)
def _plain(reason: str) -> str:
    return _PREFIX.sub("", _OTHERS.sub("_", reason.strip().lower()))
