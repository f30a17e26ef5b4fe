"""The words of the world: colours with their tints, places, and how a list or a digit is written.

It knows no scene and no question.
"""

from __future__ import annotations

from collections.abc import Sequence

# Corners of the RGB cube, moved apart until each is told from the others also where a thin stroke blends with the
# ground. A dark ground leaves room for all of them; on a light one yellow, cyan and white would be lost.
COLOURS = {
    "red": (240, 50, 40),
    "green": (50, 200, 70),
    "blue": (70, 110, 255),
    "yellow": (250, 215, 40),
    "pink": (255, 90, 205),
    "cyan": (60, 225, 235),
    "white": (250, 250, 250),
}
GROUND = (24, 24, 24)
PLACES = ("upper left", "upper right", "lower left", "lower right")
"""In reading order."""
DIGITS = tuple(str(digit) for digit in range(10))


def listing(parts: Sequence[str]) -> str:
    """`x`, `x and y`, or `x, y and z`."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def an(digit: str) -> str:
    """A digit with its article: `a 7`, `an 8`."""
    return f"an {digit}" if digit == "8" else f"a {digit}"


def capitalised(text: str) -> str:
    """`text` as it opens a sentence."""
    return text[:1].upper() + text[1:]
