"""What a model wrote after a prompt, and the gathering of replies in the order of their prompts. Knows no model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from thinkgap.types import Prompt

Finish: TypeAlias = Literal["stop", "length"]
Place: TypeAlias = tuple[int, int]
"""Number of a group, and of a prompt in it."""


@dataclass(frozen=True)
class Reply:
    """What a model wrote after one prompt."""

    prompt: Prompt
    token_ids: tuple[int, ...]
    """Without the stop token."""
    finish: Finish
    """Whether it came to a stop token, or to the length cap."""
    label_logprobs: tuple[float, ...]
    """Per slot, as `Reading.label_logprobs`, from the logits that gave the first token; empty if no label is read."""
    first_token_id: int
    """The first token, also if it is a stop token."""


OnReply: TypeAlias = Callable[[int, Reply], None]
"""Called with the number of its group and a reply as soon as that is finished."""


class Replies:
    """Replies by place; a prompt that is done again gives the same reply again, of which the first counts."""

    def __init__(self, on_reply: OnReply | None) -> None:
        self._on_reply = on_reply
        self._sizes: list[int] = []
        self._found: dict[Place, Reply] = {}

    def expect(self, prompts: int) -> list[Place]:
        """The places of a further group."""
        self._sizes.append(prompts)
        return [(len(self._sizes) - 1, index) for index in range(prompts)]

    def add(self, place: Place, reply: Reply) -> None:
        """Keep a reply and tell of it."""
        if place in self._found:
            return
        self._found[place] = reply
        if self._on_reply is not None:
            self._on_reply(place[0], reply)

    def __contains__(self, place: Place) -> bool:
        return place in self._found

    def in_order(self) -> list[list[Reply]]:
        """Those of every group."""
        return [[self._found[number, index] for index in range(size)] for number, size in enumerate(self._sizes)]
