"""Reasoning that came back in several channels: each text once, without what nobody can read.

Servers name channels differently and repeat one text in several of them (arXiv 2610.11765 joins `reasoning`,
`reasoning_content` and the readable part of `reasoning_details`). It does not know which server sent them.
"""

from __future__ import annotations

from collections.abc import Sequence

from thinkgap.responses.noise import clean
from thinkgap.responses.normalise import normalise, split_reasoning
from thinkgap.types import Response

ENCRYPTED = ".encrypted"
"""Ending of the names of channels that show that there was reasoning, and whose text says nothing."""


def each_once(texts: Sequence[str]) -> list[str]:
    """`texts` without those that another one holds; white space does not count."""
    bare = ["".join(text.split()) for text in texts]
    return [
        text
        for index, text in enumerate(texts)
        if bare[index]
        and not any(
            bare[index] in other and (bare[index] != other or place < index)
            for place, other in enumerate(bare)
            if place != index
        )
    ]


def joined(channels: Sequence[str]) -> str:
    """The texts of channels, each once, set apart by empty lines.

    Args:
        channels: a text for each channel. A server that sends a text whole and in pieces has its pieces joined there.
    """
    return "\n\n".join(each_once(channels))


def reasoning_texts(response: Response) -> list[str]:
    """Text of the reasoning channels, normalised, each once and without tags; formatting alone is no text."""
    channels = [text for name, text in response.channels.items() if not name.endswith(ENCRYPTED)]
    texts = [response.reasoning] if response.reasoning.strip() else channels
    return each_once([said for text in texts for said in as_list(_untagged(normalise(text)))])


def is_encrypted(response: Response) -> bool:
    """Whether some reasoning came back that nobody can read."""
    return any(name.endswith(ENCRYPTED) and bool(text.strip()) for name, text in response.channels.items())


def as_list(text: str) -> list[str]:
    """`text` as a list of one; of none if it is nothing but formatting, which its first lines mostly tell."""
    return [text.strip()] if any(clean(line) for line in text.splitlines()) else []


def _untagged(text: str) -> str:
    if "think" not in text:
        return text
    parts = split_reasoning(text)
    return "\n".join(filter(None, (parts.reasoning, parts.visible.strip())))
