"""One response as it was found in a file: where, and its values under the names of our own schema.

Every format is brought into this form first, so that there is one place where values are checked. It knows no format.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from thinkgap.data.adapter import Row

REQUIRED = ("question", "response", "gold", "space")
OPTIONAL = (
    "id",
    "group_id",
    "dataset",
    "mode",
    "model",
    "thinking",
    "open_box",
    "labels",
    "options",
    "context",
    "subject",
    "presentation",
    "contents",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "refusal",
    "finish_reason",
    "usage",
)


@dataclass(frozen=True)
class Found:
    """A row before any check."""

    where: str
    """Place in the file, such as `line 3` or `row 3`."""
    row: Row
    prompt: str = ""
    """The whole prompt that was sent, where the question's own text is not in the file."""
    repeat: int = 1
    """Which of several responses to the same request this is, 1 the first."""

    @staticmethod
    def bad(where: str, problem: str, name: object = None) -> Found:
        """A row that cannot be used, with the reason and its id, if that is known."""
        return Found(where, Row({} if name is None else {"id": name}, problem=problem))


@dataclass(frozen=True)
class Contents:
    """All rows of a file."""

    rows: list[Found]
    notes: tuple[str, ...] = ()
    """What a reader of the results has to know about the file."""


def counted(remarks: Mapping[str, int]) -> Iterable[str]:
    """`remarks` with how many rows each concerns."""
    return (f"{n:,} row(s): {remark}" for remark, n in remarks.items() if n)
