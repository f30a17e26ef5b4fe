"""The permissive scorer: the last label, number, or yes/no anywhere in a reply that the strict rules leave unread.

It takes any capital A for an answer, so it is only ever a second column beside the strict one: the distance between the
two says how much a result hangs on reading. It does not know what the answer should be.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from thinkgap.responses.extract import Extraction, extract
from thinkgap.responses.labels import labels_of
from thinkgap.responses.normalise import split_reasoning
from thinkgap.types import AnswerSpace

_NUMBER = re.compile(r"-?\d(?:[\d,]*\d)?(?:\.\d+)?")
_POLARITY = re.compile(r"(?<![\w'’-])(?:(yes|true)|(no|false))(?![\w'’-])", re.IGNORECASE)


def permissive(
    content: str,
    space: AnswerSpace,
    *,
    labels: Sequence[str] = (),
    options: Sequence[str] = (),
    mode: str | None = None,
    truncated: bool = False,
    open_box: bool | None = None,
) -> str | None:
    """The strict answer where there is one, else the last isolated label, yes/no, or number of the visible text.

    Args: as for `extract`.

    Raises:
        ConfigError: as for `extract`.
    """
    found = extract(content, space, labels=labels, options=options, mode=mode, truncated=truncated, open_box=open_box)
    return permissive_of(found, space, labels, options)


def permissive_of(
    read: Extraction, space: AnswerSpace, labels: Sequence[str] = (), options: Sequence[str] = ()
) -> str | None:
    """`permissive` of a reply that is read already.

    Args:
        read: what `extract` says of the reply.
        space: as for `extract`, and so is the next.
        labels: the labels that were shown.
        options: the options' texts, which take the place of labels where none were shown.
    """
    if read.answer is not None:
        return read.answer
    visible = split_reasoning(read.text).visible
    if space == "mcq":
        known = labels_of(tuple(labels) or tuple(option.strip() for option in options))
        found = known.isolated(visible)
        return known.names[found[-1].slot] if found else None
    if space == "bool":
        said = list(_POLARITY.finditer(visible))
        return None if not said else "yes" if said[-1].group(1) else "no"
    numbers = _NUMBER.findall(visible)
    return numbers[-1] if numbers else None
