"""The list of all tables and figures of both studies: what each needs, and whether its values are published in text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from analysis.reference.blocks import FOLDER, STUDIES, read_yaml
from thinkgap.errors import DataError, nearest

Kind = Literal["table", "figure", "text"]
Values = Literal["full", "part", "none", "no figures"]


@dataclass(frozen=True)
class Entry:
    """One table or figure."""

    study: str
    id: str
    """`table2`, `I.4`, `figure5`, `figureG.1`; `text` for what stands in no table."""
    title: str
    """Ours; the captions are the studies'."""
    values: Values
    """Whether the text gives its values: all, some, none, or there are none to give."""
    needs: str
    """What has to be run for it."""
    note: str

    @property
    def kind(self) -> Kind:
        """What it is."""
        if self.id == "text":
            return "text"
        return "figure" if self.id.startswith("figure") else "table"


@cache
def catalogue(study: str | None = None) -> tuple[Entry, ...]:
    """All tables and figures, in the order of the file.

    Args:
        study: `prefix` or `inertia`; None for both.

    Raises:
        DataError: no such study, or a damaged file.
    """
    if study is not None and study not in STUDIES:
        raise DataError(f"no study {study!r}{nearest(study, STUDIES)}")
    return tuple(entry for entry in _read(FOLDER / "catalogue.yaml") if study in (None, entry.study))


def _read(path: Path) -> list[Entry]:
    found: dict[tuple[str, str], Entry] = {}
    for study, entries in read_yaml(path).items():
        if study not in STUDIES:
            raise DataError(f"{path.name}: no study {study!r}{nearest(study, STUDIES)}")
        for entry in entries:
            key = (study, str(entry.get("id")))
            place = f"{path.name}, {' '.join(key)}"
            if not {"id", "title", "values", "needs"} <= set(entry) <= {"id", "title", "values", "needs", "note"}:
                raise DataError(f"{place}: it needs id, title, values and needs, and may have a note")
            if entry["values"] not in get_args(Values):
                raise DataError(f"{place}: values is one of {', '.join(get_args(Values))}, not {entry['values']!r}")
            if key in found:
                raise DataError(f"{place} is there twice")
            found[key] = Entry(
                study, entry["id"], entry["title"], entry["values"], entry["needs"], entry.get("note", "")
            )
    return list(found.values())
