"""The stream of facts of a split: a scene, a question with its options, numbered; the same for pictures and for words.

Kinds come in turn and numbers of options from decks, so that both are balanced in any stretch of the stream. It knows
no handwriting, no picture and no row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from thinkgap.demo.world.draws import Deck, Draws
from thinkgap.demo.world.parts import Part
from thinkgap.demo.world.questions import KINDS, Question

SIZES = (2, 3, 4, 5)
# There are four places and no fifth, so that the other kinds have five options more often: over all kinds each number
# of options is as frequent as another.
_FOUR_AT_MOST = (2, 3, 4)
_OTHERS = (*(2, 3, 4) * 7, *(5,) * 9)


@dataclass(frozen=True)
class Fact:
    """One question about one scene, with its options in order."""

    number: int
    kind: str
    question: Question
    choices: tuple[str, ...]
    gold: int

    @property
    def wrong(self) -> tuple[str, ...]:
        """The options that are not the answer."""
        return self.choices[: self.gold] + self.choices[self.gold + 1 :]

    def rationale(self, answer: str) -> str:
        """The steps, and a last sentence that gives `answer`; no option is named by its letter."""
        return f"{self.question.steps} So the answer is {answer}."


def facts(split: str, seed: int, part: Part) -> Iterator[Fact]:
    """The facts of a split, without end; none of them twice.

    Args:
        split: name of the split.
        seed: of the stream.
        part: which scenes are the split's.
    """
    draws = Draws("facts", split, seed)
    sizes = {kind: Deck(draws, _FOUR_AT_MOST if kind == "where" else _OTHERS) for kind in KINDS}
    slots = {k: Deck(draws, range(k)) for k in SIZES}
    seen: set[tuple[str, str, frozenset[str]]] = set()
    for number in count():
        kind = tuple(KINDS)[number % len(KINDS)]
        k = sizes[kind].draw()
        while True:
            question = KINDS[kind](draws)
            if question is None or question.scene.place not in part:
                continue
            wrong = question.wrong[: k - 1]
            shown = (question.scene.text, question.text, frozenset(wrong))
            if shown not in seen:
                break
        seen.add(shown)
        gold = slots[k].draw()
        yield Fact(number, kind, question, (*wrong[:gold], question.answer, *wrong[gold:]), gold)
