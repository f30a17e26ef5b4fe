"""The question kinds: for a drawn scene a question, its answer, the steps to it, and wrong answers.

Everything is a function of the scene and of random choices. It does not know how many options are shown, in which
order, or in which split a scene belongs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from thinkgap.demo.world.draws import Draws
from thinkgap.demo.world.scenes import ATTRIBUTES, Mark, Scene, draw_scene, noun, predicate
from thinkgap.demo.world.words import COLOURS, DIGITS, PLACES, an, capitalised, listing

_VALUES = {"digit": DIGITS, "colour": tuple(COLOURS), "place": PLACES}
# A scene of one digit leaves nothing to find, and there are only 280 of them.
_COUNTS = (1, *(2, 3, 4) * 3)
_NEAR = 5


@dataclass(frozen=True)
class Question:
    """A question about a scene, before options are chosen."""

    scene: Scene
    topic: str
    """What it goes by: digit, colour, place, or all marks."""
    text: str
    answer: str
    steps: str
    """Sentences that lead to the answer; they name no option and do not repeat the answer as such."""
    wrong: tuple[str, ...]
    """At least as many wrong answers as options are ever shown, the more plausible first."""
    claim: Callable[[str], str]
    """The yes/no question whether an answer is right."""


def _look_up(asked: str) -> Callable[[Draws], Question | None]:
    """Questions for one attribute of a mark that another attribute names."""

    def question(draws: Draws) -> Question | None:
        scene = draw_scene(draws, draws.one(_COUNTS))
        mark = draws.one(scene.marks)
        by, told = draws.shuffled([attribute for attribute in ATTRIBUTES if attribute != asked])
        if scene.count(by, mark.value(by)) > 1:
            return None
        name, answer = noun(by, mark.value(by)), mark.value(asked)
        text = {
            "digit": f"Which digit is {predicate(by, mark.value(by))}?",
            "colour": f"What colour is {name}?",
            "place": f"Where is {name}?",
        }[asked]
        steps = f"{capitalised(name)} is {predicate(told, mark.value(told))}. It is {predicate(asked, answer)}."
        shown, absent = _others(scene, asked, answer)
        wrong = (*draws.shuffled(shown), *draws.shuffled(absent))
        return Question(scene, by, text, answer, steps, wrong, lambda value: f"Is {name} {predicate(asked, value)}?")

    return question


def _how_many(draws: Draws) -> Question:
    """Counts of all digits, or of those of a colour."""
    if draws.chance(0.5):
        scene = draw_scene(draws, draws.one((1, 2, 3, 4)))
        n, what, topic = len(scene.marks), "", "all"
        text, steps = "How many digits are there?", scene.told()
    else:
        # Drawn by the count, since few scenes of freely drawn colours have more than one digit of any.
        size = draws.one((2, 3, 4))
        n, colour = draws.below(size + 1), draws.one(tuple(COLOURS))
        rest = [draws.one([other for other in COLOURS if other != colour]) for _ in range(size - n)]
        scene = draw_scene(draws, size, draws.shuffled([colour] * n + rest))
        what, topic = f"{colour} ", "colour"
        text = f"How many digits are {colour}?"
        steps = " ".join(f"The {mark.digit} in the {mark.place} is {mark.colour}." for mark in scene.marks)
    steps += f" That makes {n} {what}{_digits(n)}."
    wrong = tuple(draws.shuffled([str(number) for number in range(len(PLACES) + 2) if number != n]))
    return Question(scene, topic, text, str(n), steps, wrong, lambda value: _is_there(value, what))


def _largest(draws: Draws) -> Question | None:
    """The largest digit of at least two, where no other equals it."""
    scene = draw_scene(draws, draws.one((2, 3, 4)))
    digits = [mark.digit for mark in scene.marks]
    answer = max(digits)
    if digits.count(answer) > 1:
        return None
    shown, absent = _others(scene, "digit", answer)
    larger = draws.shuffled([digit for digit in absent if digit > answer])
    smaller = draws.shuffled([digit for digit in absent if digit < answer])
    # Were all wrong options in the scene, the largest option would always be right, whatever the picture shows.
    wrong = _mixed(draws, draws.shuffled(shown), larger + smaller)
    steps = f"The digits are {listing(digits)}. The largest of them is {answer}."
    text = "Which digit is the largest?"
    return Question(scene, "all", text, answer, steps, wrong, lambda value: f"Is the largest digit {an(value)}?")


def _sum(draws: Draws) -> Question | None:
    """The sum of two marks, both named by colour or both by place."""
    scene = draw_scene(draws, draws.one((2, 3, 4)))
    pair: list[Mark] = draws.several(scene.marks, 2)
    by = draws.one(("colour", "place"))
    if any(scene.count(by, mark.value(by)) > 1 for mark in pair):
        return None
    first, second = (noun(by, mark.value(by)) for mark in pair)
    total = sum(int(mark.digit) for mark in pair)
    steps = " ".join(f"{capitalised(noun(by, mark.value(by)))} is {an(mark.digit)}." for mark in pair)
    steps += f" {pair[0].digit} plus {pair[1].digit} is {total}."
    # The right sum stands anywhere among its neighbours, so that a middle option is no better guess than another.
    start = max(0, min(total - draws.below(_NEAR), 18 - _NEAR + 1))
    near = draws.shuffled([str(number) for number in range(start, start + _NEAR) if number != total])
    asked = f"the sum of {first} and {second}"
    text, answer = f"What is {asked}?", str(total)
    return Question(scene, by, text, answer, steps, tuple(near), lambda value: f"Is {asked} {value}?")


KINDS: dict[str, Callable[[Draws], Question | None]] = {
    "which digit": _look_up("digit"),
    "which colour": _look_up("colour"),
    "where": _look_up("place"),
    "how many": _how_many,
    "largest": _largest,
    "sum": _sum,
}
"""By name: draws a scene with a question, or None where the drawn scene has no such question."""

SKILLS = dict.fromkeys(("which digit", "which colour", "where"), "finding") | {
    "how many": "counting",
    "largest": "comparing",
    "sum": "adding",
}


def _others(scene: Scene, attribute: str, answer: str) -> tuple[list[str], list[str]]:
    """Wrong values of an attribute: those in the scene, and the rest."""
    shown = {mark.value(attribute) for mark in scene.marks} - {answer}
    others = [value for value in _VALUES[attribute] if value != answer]
    return [value for value in others if value in shown], [value for value in others if value not in shown]


def _mixed(draws: Draws, first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    """Both lists in one, each in its order, taken from at random."""
    left, right, mixed = list(first), list(second), []
    while left and right:
        mixed.append((left if draws.chance(0.5) else right).pop(0))
    return (*mixed, *left, *right)


def _digits(n: int) -> str:
    return "digit" if n == 1 else "digits"


def _is_there(value: str, what: str) -> str:
    return f"Is there 1 {what}digit?" if value == "1" else f"Are there {value} {what}digits?"
