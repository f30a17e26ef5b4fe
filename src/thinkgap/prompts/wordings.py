"""The wordings of the comprehension check, and the record of one question.

After the idea of figure E.1 of arXiv 2610.11765, whose exchange is published as a picture: these wordings are ours.
Knows no mode, no item and no reply, and is light enough for whoever only prints tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from thinkgap.errors import ConfigError, nearest
from thinkgap.types import AnswerSpace, Condition, Item, Presentation, Request, Thinking

Polarity = Literal["yes", "no", ""]

VERSION = 1
"""Of the wordings and the frame; raised with any change to them, so that replies to two versions are told apart."""
_FRAME = "A prompt that asks a question ends with these lines:\n\n---\n{instruction}\n---\n\n{question}"
_ONE_WORD = "Reply with the single word yes or no."


@dataclass(frozen=True)
class Wording:
    """One way of asking what instructions permit."""

    question: str
    answer: Polarity = ""
    """What follows from instructions that ask for an answer only; empty for a question without a yes or no."""

    def about(self, instruction: str) -> str:
        """The whole user message."""
        return _FRAME.replace("{question}", self.question).replace("{instruction}", instruction)


WORDINGS: dict[str, Wording] = {
    "permits": Wording(
        "What may a reply to such a prompt contain, and what may it not contain? Explain it in one or two sentences."
    ),
    "examples": Wording(
        "Write one short reply that follows these lines and one short reply that does not, and say which is which."
    ),
    "allowed": Wording(
        f"May a reply to such a prompt contain any working, reasoning or explanation before the answer? {_ONE_WORD}",
        "no",
    ),
    "ruled_out": Wording(
        f"Do these lines rule out any working, reasoning or explanation before the answer? {_ONE_WORD}", "yes"
    ),
}
"""By name. The two closed ones ask the same with opposite answers, so that a model that always says no shows."""


@dataclass(frozen=True)
class ComprehensionQuestion:
    """One wording about the instructions of one mode for one answer space."""

    mode: str
    space: AnswerSpace
    wording: str
    text: str
    """The whole user message."""
    closed: bool
    """Whether it is answered by yes or no."""
    expected: Polarity
    """What the instructions imply; empty for open questions, and where they do not say it."""
    thinking: Thinking
    """The mode's own setting of the thinking switch."""
    version: int = VERSION

    @property
    def id(self) -> str:
        """Name of the question where items have theirs."""
        return f"{self.mode}/{self.space}/{self.wording}"

    @property
    def presentation(self) -> Presentation:
        """The question as an item that is shown without anything else."""
        item = Item(self.id, self.id, self.text, (), None, "open", split="comprehension")
        return Presentation(item, (), ())

    @property
    def condition(self) -> Condition:
        """What is asked beside the text: the mode's setting of the thinking switch."""
        return Condition("comprehension", "trigger", Request.rationale, thinking=self.thinking)


def check_wordings(names: Sequence[str]) -> None:
    """Refuse names that are no wording's, or that come twice.

    Raises:
        ConfigError: such a name.
    """
    for name in names:
        if name not in WORDINGS:
            raise ConfigError(f"evaluation.comprehension.wordings: no wording {name!r}{nearest(name, WORDINGS)}")
    if len(set(names)) < len(names):
        raise ConfigError("evaluation.comprehension.wordings: name each wording once")
