"""Looking published figures up, as a table or one at a time.

`published` is for whoever shows a table, `figure` and `find` for whoever sets one published figure beside one of ours.
Knows nothing of our runs.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from analysis.reference.blocks import CLOSED, FOLDER, KEYS, STUDIES, Published, measures, read_figures
from analysis.reference.catalogue import catalogue
from thinkgap.errors import DataError, nearest

if TYPE_CHECKING:
    import pandas as pd

_FIGURE = ("measure", "printed", "value", "decimals", "unit", "n", "channels", "source", "note")
COLUMNS = ("study", "table", *KEYS, *_FIGURE)
"""Of the data frames."""


@cache
def figures(study: str) -> tuple[Published, ...]:
    """All published figures of one study, in the order of its file.

    Raises:
        DataError: no such study, or a damaged file.
    """
    if study not in STUDIES:
        raise DataError(f"no study {study!r}{nearest(study, STUDIES)}")
    tables = frozenset(entry.id for entry in catalogue(study))
    return tuple(read_figures(FOLDER / f"{study}.yaml", study, tables))


def published(study: str, table: str | None = None, **keys: str | int) -> pd.DataFrame:
    """Published figures as rows.

    Args:
        study: `prefix` or `inertia`.
        table: id in the catalogue; None for all.
        keys: `measure`, or any of `KEYS`, with the value that rows must have; "" where a key does not apply.

    Raises:
        DataError: no such study, table, key, measure, mode, answer space, area or kind of outputs. Another value that
            no figure has, such as a model of your own, gives no rows.

    Returns:
        A row per figure with `COLUMNS`. `printed` is the text; `value` the number in `unit`; `decimals` its decimal
        places; `n` is missing where none is stated.
    """
    import pandas as pd

    rows = [
        {"study": one.study, "table": one.table, **one.keys, **{name: getattr(one, name) for name in _FIGURE}}
        for one in _matching(study, table, keys)
    ]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.astype({"value": "float64", "decimals": "int64", "n": "Int64"})


def find(study: str, table: str, measure: str, **keys: str | int) -> Published | None:
    """The one published figure with these keys; None where none is published.

    Keys that are left out may have any value, as long as one figure remains.

    Raises:
        DataError: an unknown name, as in `published`, or several figures, with the keys that tell them apart.
    """
    found = _matching(study, table, {"measure": measure, **keys})
    if len(found) > 1:
        apart = [key for key in KEYS if len({one.keys[key] for one in found}) > 1]
        choices = "; ".join(
            f"{key}: {', '.join(sorted({one.keys[key] or repr('') for one in found}))}" for key in apart
        )
        raise DataError(f"{_asked(study, table, measure, keys)}: {len(found)} published figures; say which ({choices})")
    return found[0] if found else None


def figure(study: str, table: str, measure: str, **keys: str | int) -> Published:
    """As `find`, where a figure must be there.

    Raises:
        DataError: as in `find`, and where none is published, with what the catalogue says of the table.
    """
    found = find(study, table, measure, **keys)
    if found is None:
        entry = next(entry for entry in catalogue(study) if entry.id == table)
        note = f"; {entry.note}" if entry.note else ""
        raise DataError(
            f"{_asked(study, table, measure, keys)}: no such figure is published in text (values of {table}: "
            f"{entry.values}{note}); published({study!r}, {table!r}) shows those that are"
        )
    return found


def _matching(study: str, table: str | None, keys: dict[str, str | int]) -> list[Published]:
    known = {entry.id for entry in catalogue(study)}
    if table is not None and table not in known:
        raise DataError(f"the {study} study has no {table!r}{nearest(table, known)}")
    wanted = {name: str(value) for name, value in keys.items()}
    for name, value in wanted.items():
        if name != "measure" and name not in KEYS:
            raise DataError(f"no key {name!r}{nearest(name, (*KEYS, 'measure'))}")
        if name == "measure" and value not in measures():
            raise DataError(f"no measure {value!r}{nearest(value, measures())}")
        if value and name in CLOSED and value not in CLOSED[name]:
            raise DataError(f"no {name} {value!r}{nearest(value, CLOSED[name])}")
    measure = wanted.pop("measure", None)
    return [
        one
        for one in figures(study)
        if table in (None, one.table)
        and measure in (None, one.measure)
        and all(one.keys[name] == value for name, value in wanted.items())
    ]


def _asked(study: str, table: str, measure: str, keys: dict[str, str | int]) -> str:
    return ", ".join([f"{study} study", table, measure, *(f"{name}={value}" for name, value in keys.items())])
