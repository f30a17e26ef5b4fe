"""Scenes: one to four digits, each in a colour and a place of its own, and how they are told in words.

It knows no handwriting, no picture and no question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from thinkgap.demo.world.draws import Draws
from thinkgap.demo.world.parts import position
from thinkgap.demo.world.words import COLOURS, DIGITS, PLACES, an, listing

ATTRIBUTES = ("digit", "colour", "place")


@dataclass(frozen=True)
class Mark:
    """One digit of a scene."""

    digit: str
    colour: str
    place: str

    def value(self, attribute: str) -> str:
        """Its digit, colour or place."""
        return {"digit": self.digit, "colour": self.colour, "place": self.place}[attribute]


@dataclass(frozen=True)
class Scene:
    """Marks in reading order, at most one in a place; digits and colours may repeat."""

    marks: tuple[Mark, ...]

    @property
    def text(self) -> str:
        """What identifies it: `upper left red 7; lower right blue 3`."""
        return "; ".join(f"{mark.place} {mark.colour} {mark.digit}" for mark in self.marks)

    @property
    def place(self) -> float:
        """Where it stands between 0 and 1 (`thinkgap.demo.world.parts`)."""
        return position("scene", self.text.encode())

    def told(self, order: Sequence[int] | None = None) -> str:
        """The whole scene as a sentence, in reading order or in the `order` given."""
        marks = self.marks if order is None else [self.marks[index] for index in order]
        return f"There is {listing([f'a {mark.colour} {mark.digit} in the {mark.place}' for mark in marks])}."

    def count(self, attribute: str, value: str) -> int:
        """How many marks have a digit, colour or place."""
        return sum(mark.value(attribute) == value for mark in self.marks)


def draw_scene(draws: Draws, n: int, colours: Sequence[str] | None = None) -> Scene:
    """A scene of `n` marks; digits, places and, unless they are given, colours are drawn uniformly."""
    places = sorted(draws.several(range(len(PLACES)), n))
    colours = colours or [draws.one(tuple(COLOURS)) for _ in places]
    marks = [Mark(draws.one(DIGITS), colour, PLACES[place]) for colour, place in zip(colours, places, strict=True)]
    return Scene(tuple(marks))


def noun(attribute: str, value: str) -> str:
    """What names a mark: `the 7`, `the red digit`, `the digit in the upper left`."""
    shapes = {"digit": f"the {value}", "colour": f"the {value} digit", "place": f"the digit in the {value}"}
    return shapes[attribute]


def predicate(attribute: str, value: str) -> str:
    """What is said of a mark: `a 7`, `red`, `in the upper left`."""
    return {"digit": an(value), "colour": value, "place": f"in the {value}"}[attribute]
