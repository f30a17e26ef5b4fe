"""The conditions of `--fail-on`: what they may say, and which differences they hold for.

Grammar (blanks are free):

    CONDITIONS := CONDITION { "," CONDITION }        one that holds is enough
    CONDITION  := PATTERN ("<" | ">") POINTS [ "significant" ]
    PATTERN    := shell pattern of FIGURE or FIGURE:PLACE, as the tables name them
    POINTS     := number; hundredths of the figure's unit, so percentage points of a rate
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from analysis.comparing.pairs import Compared
from thinkgap.errors import ConfigError, StoreError

_CONDITION = re.compile(
    r"(?P<pattern>[^<>,]*[^<>,\s])\s*(?P<sign>[<>])\s*(?P<points>[+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:\s+(?P<word>significant))?"
)
# A difference of exactly the limit is not beyond it, whatever its last bit.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class FailOn:
    """One condition."""

    pattern: str
    below: bool
    """Whether the difference must be below the limit (`<`), else above it."""
    points: float
    significant: bool

    def __str__(self) -> str:
        sign, word = "<" if self.below else ">", " significant" if self.significant else ""
        return f"{self.pattern}{sign}{self.points:g}{word}"

    def matches(self, one: Compared) -> bool:
        """Whether it is about this figure."""
        return fnmatchcase(one.figure, self.pattern) or fnmatchcase(f"{one.figure}:{one.place}", self.pattern)

    def holds(self, one: Compared) -> bool:
        """Whether the difference, B minus A, is beyond the limit, and its interval excludes 0 if that is asked."""
        points = 100 * one.difference.value
        beyond = points < self.points - _ROUNDING if self.below else points > self.points + _ROUNDING
        return beyond and (one.significant or not self.significant)


def parse_fail_on(text: str) -> list[FailOn]:
    """The conditions of one `--fail-on`.

    Raises:
        ConfigError: something that is no condition.
    """
    found = []
    for part in text.split(","):
        match = _CONDITION.fullmatch(part.strip())
        if match is None:
            raise ConfigError(
                f"--fail-on {text!r}: {part.strip()!r} is no condition; write FIGURE<POINTS or FIGURE>POINTS, with "
                "'significant' behind it if the interval must exclude 0, such as 'accuracy<-2 significant'"
            )
        found.append(
            FailOn(match["pattern"].strip(), match["sign"] == "<", float(match["points"]), match["word"] is not None)
        )
    return found


def failures(conditions: Sequence[FailOn], compared: Sequence[Compared]) -> list[tuple[FailOn, Compared]]:
    """The conditions that hold, with the differences that they hold for.

    Raises:
        StoreError: a condition that is about no figure, or about one that has no item in common and so cannot be
            checked.
    """
    found = []
    for condition in conditions:
        about = [one for one in compared if condition.matches(one)]
        if not about:
            names = ", ".join(dict.fromkeys(one.figure for one in compared)) or "none"
            raise StoreError(f"--fail-on {condition}: no figure of both runs matches; they have {names}")
        if empty := [one for one in about if not one.difference.n]:
            raise StoreError(
                f"--fail-on {condition}: {empty[0].figure}:{empty[0].place} has no item that both runs count, so it "
                "cannot be checked; name another place, or compare runs of the same items"
            )
        found += [(condition, one) for one in about if condition.holds(one)]
    return found
