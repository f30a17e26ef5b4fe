r"""Whether two texts are the same number: 1/2, 0.5, `\frac12` and 50% are, 5 cm and 5 m are not.

`rational` leaves units out, so this looks at what stands beside the numbers. Knows no question and no response.
"""

from __future__ import annotations

import re

from thinkgap.responses.rational import rational, unwrapped

_NO_UNIT = re.compile(
    r"\\[A-Za-z]+|(?<=[\d.])[eE](?=[+-]?\d)|per ?cent\b|\b(?:dozen|hundred|thousand|million|billion|trillion)\b",
    re.IGNORECASE,
)
_LETTERS = re.compile(r"[^\W\d_]+")


def same_number(one: str, other: str) -> bool | None:
    """Whether two texts are the same number; None unless both are numbers.

    A number without a unit is the same as one with it; two units must agree but for case.
    """
    if not (any(map(str.isnumeric, one)) and any(map(str.isnumeric, other))):
        return None
    first, second = rational(one), rational(other)
    if first is None or second is None:
        return None
    units = {unit for unit in (_unit(one), _unit(other)) if unit}
    return first == second and len(units) < 2


def _unit(text: str) -> str:
    return "".join(_LETTERS.findall(_NO_UNIT.sub(" ", unwrapped(text)))).casefold()
