"""Replies that go on from a text that the prompt put before them.

After "The answer is" a reply is " B. It orbits the earth." Alone such a reply states nothing, because what makes it a
statement is not part of it. Knows no prompt.
"""

from __future__ import annotations

from typing import Any

from thinkgap.responses.extract import Extraction, extract
from thinkgap.responses.normalise import normalise
from thinkgap.types import AnswerSpace

_NO_BLANK_AFTER = "([{“‘「『（"


def extract_opened(opening: str, content: str, space: AnswerSpace, **asked: Any) -> Extraction:
    """The answer of a reply by itself; if it has none, that of the statement which the opening begins and it ends.

    Args:
        opening: text right before the reply, at the end of the prompt; empty if the reply opens its turn.
        content: the reply.
        space: what kind of answer was asked for.
        **asked: further arguments of `extract`.

    Returns:
        What `extract` says of the reply, or, for a statement that lies across the joint, of opening and reply.

    Raises:
        ConfigError: see `extract`.
    """
    found = extract(content, space, **asked)
    if found.answer is not None or not opening.strip() or not content.strip():
        return found
    # Some tokenizers drop the blank at the beginning of what they decode.
    joint = "" if content[0].isspace() or opening[-1].isspace() or opening[-1] in _NO_BLANK_AFTER else " "
    joined = extract(opening + joint + content, space, **asked)
    across = joined.rule == "statement" and joined.span is not None and joined.span[1] > len(normalise(opening))
    return joined if across else found
