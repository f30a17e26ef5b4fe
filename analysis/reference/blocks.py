"""From the data files to single published figures: reads blocks, checks them, and keeps each value as it is printed.

Knows the form of the files (docs/reference_figures.md), and nothing of what the figures are for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from thinkgap.errors import DataError, nearest

FOLDER = Path(__file__).parent
STUDIES = {"prefix": "arXiv 2609.29278", "inertia": "arXiv 2610.11765"}
MODES = {"M1": "think_on", "M2": "think_off", "M3": "cot", "M4": "soft", "M5": "strict", "M6": "prefix"}
"""The study's name of a mode -> ours (conf/mode/paper.yaml)."""
_WRITTEN = (
    *("model", "dataset", "split", "condition", "readout", "study_mode", "space", "area", "subject", "variant"),
    *("outputs", "encoder", "judge", "annotator", "variable", "item", "layer", "k"),
)
KEYS = (*_WRITTEN, "mode")
"""What tells figures of one table and measure apart; "" where it does not apply or is not said."""
UNITS = ("percent", "points", "count", "ratio", "probability", "rank", "cosine", "correlation", "alpha", "setting")
CHANNELS = ("all", "content", "unstated")
CLOSED: Mapping[str, tuple[str, ...]] = {
    "study_mode": tuple(MODES),
    "mode": tuple(MODES.values()),
    "space": ("bool", "mcq", "open"),
    "area": ("STEM", "humanities", "social", "other"),
    "outputs": ("all", "non-empty"),
}
"""Keys whose values are known from the start."""
NOT_PRINTED = "–"
_FIELDS = {"table", "source", "keys", "etr", "note", "columns", "rows"}
_TEXTS = ("table", "source", "columns", "rows")
_NUMBER = re.compile(r"[+-]?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?(?:e[+-]?\d+)?")


@dataclass(frozen=True)
class Measure:
    """What a figure measures."""

    name: str
    unit: str
    ours: str
    """Column of our tables that has it; "" for none."""
    means: str


@dataclass(frozen=True)
class Published:
    """One published figure."""

    study: str
    table: str
    keys: Mapping[str, str] = field(hash=False)
    """Every one of `KEYS`."""
    measure: str
    printed: str
    """As it is printed, percent sign and formatting apart."""
    unit: str
    n: int | None
    """Size that is stated for it."""
    channels: str
    """Of an ETR: `all`, `content` or `unstated`; else ""."""
    source: str
    note: str

    @property
    def value(self) -> float:
        """The number, in `unit`."""
        return float(self._decimal())

    @property
    def decimals(self) -> int:
        """Decimal places that are printed; of `2.15e-8` ten."""
        exponent = self._decimal().as_tuple().exponent
        return max(0, -exponent) if isinstance(exponent, int) else 0

    def rounded(self, value: float) -> float:
        """A value in the same unit, rounded to the printed decimals, half away from 0."""
        return float(Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-self.decimals), ROUND_HALF_UP))

    def _decimal(self) -> Decimal:
        return Decimal(self.printed.replace(",", ""))


@cache
def measures() -> dict[str, Measure]:
    """All measures by name.

    Raises:
        DataError: a measure without unit or meaning, or with an unknown unit.
    """
    found: dict[str, Measure] = {}
    for name, entry in read_yaml(FOLDER / "measures.yaml").items():
        if set(entry) != {"unit", "ours", "means"} or entry["unit"] not in UNITS or not entry["means"]:
            raise DataError(f"measures.yaml: {name} needs ours, means, and a unit of {', '.join(UNITS)}")
        found[name] = Measure(name, entry["unit"], entry["ours"], entry["means"])
    return found


def read_figures(path: Path, study: str, tables: frozenset[str]) -> list[Published]:
    """All figures of a data file, in its order.

    Args:
        path: YAML file of blocks.
        study: whose figures these are.
        tables: ids that a block may have.

    Raises:
        DataError: a block, column, cell or key that is not as it should be, or a figure that is there twice.
    """
    found: dict[tuple[str, ...], Published] = {}
    blocks = read_yaml(path)
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise DataError(f"{path} is no list of blocks; docs/reference_figures.md says what one looks like")
    for number, block in enumerate(blocks, 1):
        place = f"{path.name}, block {number} ({block.get('table')})"
        for figure in _block(block, study, tables, place):
            key = (figure.table, figure.measure, *figure.keys.values())
            if key in found:
                named = ", ".join(value for value in key if value)
                raise DataError(f"{place}: {named} is there twice: {found[key].printed} and {figure.printed}")
            found[key] = figure
    return list(found.values())


def _block(block: Mapping[str, Any], study: str, tables: frozenset[str], place: str) -> Iterator[Published]:
    if unknown := sorted(set(block) - _FIELDS):
        raise DataError(f"{place}: no field {unknown[0]!r}{nearest(unknown[0], _FIELDS)}")
    if missing := [name for name in _TEXTS if not isinstance(block.get(name), str)]:
        raise DataError(f"{place}: {missing[0]} is missing or no text")
    if block["table"] not in tables:
        raise DataError(f"{place}: catalogue.yaml has no {block['table']!r}{nearest(block['table'], tables)}")
    columns = [_column(text.strip(), place) for text in block["columns"].split("|")]
    has_etr = any("etr" in names for names, _ in columns)
    channels = block.get("etr", "")
    if has_etr != bool(channels) or (channels and channels not in CHANNELS):
        raise DataError(f"{place}: etr says which ETR a block has ({', '.join(CHANNELS)}), of those that have one only")
    constant = _checked(block.get("keys", {}), place)
    for line in block["rows"].splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        where = f"{place}, row {line.strip()!r}"
        if len(cells) != len(columns):
            raise DataError(f"{where}: {len(cells)} cells for {len(columns)} columns")
        heads = {names[0]: cell for (names, _), cell in zip(columns, cells, strict=True) if _is_key(names[0])}
        row = constant | _checked({name: cell for name, cell in heads.items() if cell != NOT_PRINTED}, where)
        for (names, own), cell in zip(columns, cells, strict=True):
            if _is_key(names[0]) or cell == NOT_PRINTED:
                continue
            values = [part.strip() for part in cell.split("/")]
            if len(values) != len(names):
                raise DataError(f"{where}: {cell!r} should hold {'/'.join(names)}")
            keys = row | own
            n = keys.get("n")
            named = {key: keys.get(key, "") for key in KEYS} | {"mode": MODES.get(keys.get("study_mode", ""), "")}
            for measure, value in zip(names, values, strict=True):
                unit = measures()[measure].unit
                yield Published(
                    study,
                    block["table"],
                    named,
                    measure,
                    _printed(value, unit, where),
                    unit,
                    int(n.replace(",", "")) if n else None,
                    channels if measure == "etr" else "",
                    f"{STUDIES[study]}, {block['source']}",
                    block.get("note", ""),
                )


def _column(text: str, place: str) -> tuple[list[str], dict[str, str]]:
    """Names of a column (a key, or measures that share a cell) and the keys that it adds."""
    head, *rest = text.split()
    names = head.split("/")
    if not (len(names) == 1 and _is_key(head)):
        for name in names:
            if name not in measures():
                raise DataError(f"{place}: no key or measure {name!r}{nearest(name, [*_WRITTEN, *measures()])}")
    if wrong := [part for part in rest if part.count("=") != 1]:
        raise DataError(f"{place}: {wrong[0]!r} in column {text!r} should be KEY=VALUE")
    return names, _checked(dict(part.split("=") for part in rest), place)


def _checked(keys: Mapping[str, Any], place: str) -> dict[str, str]:
    for name, value in keys.items():
        if not _is_key(name):
            raise DataError(f"{place}: no key {name!r}{nearest(name, _WRITTEN)}")
        if not isinstance(value, str) or not value:
            raise DataError(
                f"{place}: {name} is {value!r}; write a text in quotes, and {NOT_PRINTED} in a row for none"
            )
        if name in CLOSED and value not in CLOSED[name]:
            raise DataError(f"{place}: no {name} {value!r}{nearest(value, CLOSED[name])}")
        if name in ("n", "k") and not re.fullmatch(r"\d[\d,]*", value):
            raise DataError(f"{place}: {name} is {value!r}, not a whole number")
    return dict(keys)


def _is_key(name: str) -> bool:
    return name in _WRITTEN or name == "n"


def _printed(text: str, unit: str, place: str) -> str:
    bare = text.removesuffix("%") if unit == "percent" else text
    if not _NUMBER.fullmatch(bare):
        raise DataError(f"{place}: {text!r} is no number in {unit}; write {NOT_PRINTED} where none is printed")
    return bare


def read_yaml(path: Path) -> Any:
    """What a YAML file holds.

    Raises:
        DataError: it is not there, or no YAML.
    """
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error
