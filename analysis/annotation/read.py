"""Reads the files that annotators send back: from the page, or filled in and saved by some spreadsheet.

What cannot be read is named with its file and line; a bad row never costs a good one. Knows the key of the sample and
the labels, neither responses nor judges.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from analysis.annotation.rubric import CHOICES, EMPTY_RELEVANCE, RELEVANCE
from analysis.annotation.sample import Key
from thinkgap.nothinking.levels import EMPTY, TRACE_LABELS
from thinkgap.spreadsheet import unguarded

_NEEDED = ("id", "label", "relevance", "sample")
_MARKS = (",", ";", "\t")
_BY_TITLE = {re.sub(r"[^a-z]+", "_", one.title.lower()): one.label for one in CHOICES}
_LONGEST_CELL = 2**31 - 1


@dataclass(frozen=True)
class Problem:
    """Something in an annotator's file that could not be taken as it stands."""

    file: str
    line: int | None
    """From 1; None if it concerns the whole file."""
    text: str

    def __str__(self) -> str:
        return f"{self.file}{'' if self.line is None else f', line {self.line}'}: {self.text}"


@dataclass(frozen=True)
class Row:
    """What one annotator said of one text that is not empty."""

    item: str
    annotator: str
    label: str | None
    relevance: int | None
    note: str
    seconds: float | None
    file: str
    line: int

    @property
    def said(self) -> tuple[str | None, int | None]:
        """The part that counts."""
        return self.label, self.relevance


@dataclass(frozen=True)
class Annotations:
    """All that could be read."""

    rows: pd.DataFrame
    """A row for each text and annotator: item, annotator, label (None), relevance (None), note, seconds (None).
    Empty texts have theirs by definition, for every annotator."""
    problems: tuple[Problem, ...]
    unread: tuple[str, ...]
    """Files that gave nothing."""


def read_files(paths: Sequence[str | Path], key: Key) -> Annotations:
    """Reads annotators' files against the key of their sample.

    A row with a label or a relevance counts, whatever else it lacks. If an annotator says two things of one text, the
    later row counts, files being taken in the order given.
    """
    empty = dict(zip(key.rows["id"], key.rows["empty"], strict=True))
    problems: list[Problem] = []
    unread: list[str] = []
    kept: dict[tuple[str, str], Row] = {}
    names: dict[str, str] = {}
    files: dict[str, str] = {}
    for path in map(str, paths):
        found = _read_file(path, key.digest, empty, problems)
        if not found:
            unread.append(path)
        for row in found:
            # Ann and ann are one annotator, called as in the first file.
            annotator = names.setdefault(row.annotator.casefold(), row.annotator)
            if (first := files.setdefault(annotator, path)) != path:
                problems.append(Problem(path, None, f"{annotator} has another file, {first}: they are taken together"))
                files[annotator] = path
            earlier = kept.get((annotator, row.item))
            if earlier:
                where = f"line {earlier.line}" if earlier.file == row.file else f"{earlier.file}, line {earlier.line}"
                same = "says the same" if earlier.said == row.said else "says something else; this row counts"
                problems.append(Problem(path, row.line, f"{row.item} is there twice: {where} {same}"))
            kept[annotator, row.item] = row
    annotators = list(dict.fromkeys(annotator for annotator, _ in kept))
    return Annotations(_frame(kept, annotators, key), tuple(problems), tuple(unread))


def _frame(kept: dict[tuple[str, str], Row], annotators: list[str], key: Key) -> pd.DataFrame:
    rows: list[tuple[object, ...]] = []
    for annotator in annotators:
        for item, is_empty in zip(key.rows["id"], key.rows["empty"], strict=True):
            row = kept.get((annotator, item))
            if is_empty:
                rows.append((item, annotator, EMPTY, EMPTY_RELEVANCE, "", None))
            elif row:
                rows.append((item, annotator, row.label, row.relevance, row.note, row.seconds))
    frame = pd.DataFrame(rows, columns=["item", "annotator", "label", "relevance", "note", "seconds"])
    return frame.astype({"label": object, "relevance": "Int64", "seconds": "Float64"})


def _read_file(path: str, digest: str, empty: dict[str, bool], problems: list[Problem]) -> list[Row]:
    def problem(line: int | None, text: str) -> None:
        problems.append(Problem(path, line, text))

    try:
        data = Path(path).read_bytes()
    except OSError as error:
        problem(None, f"cannot be read: {error.strerror}")
        return []
    text, remark = _decoded(data)
    if remark:
        problem(None, remark)
    records = _records(text)
    head = next(records, (0, []))[1]
    names = [name.strip().lower() for name in head] if isinstance(head, list) else []
    if lacking := [name for name in _NEEDED if name not in names]:
        problem(None, f"has no column {', '.join(lacking)}: export it from the page again, or keep the header's names")
        return []
    rows: list[Row] = []
    for line, cells in records:
        if isinstance(cells, str):
            problem(line, f"{cells}: the row is left out")
        elif any(cell.strip() for cell in cells):
            one = {name: cell.strip() for name, cell in zip(names, cells, strict=False)}
            one |= dict.fromkeys(names[len(cells) :], "")
            row = _row(one, path, line, digest, empty, problems)
            rows += [row] if row else []
    if not rows:
        problem(None, "holds no label of this sample")
    return rows


def _row(
    one: dict[str, str], path: str, line: int, digest: str, empty: dict[str, bool], problems: list[Problem]
) -> Row | None:
    def problem(text: str) -> None:
        problems.append(Problem(path, line, text))

    item = one["id"]
    said = one["label"] or one["relevance"]
    if one["sample"] != digest:
        # A row that nobody filled in is nobody's loss.
        if said:
            problem(f"belongs to the sample {one['sample'] or '(none named)'}, not to {digest}: the row is left out")
        return None
    if item not in empty:
        problem(f"the sample has no text {item!r}: the row is left out")
        return None
    label, relevance = _label(one["label"]), _relevance(one["relevance"])
    if empty[item]:
        if (label or EMPTY, relevance or EMPTY_RELEVANCE) != (EMPTY, EMPTY_RELEVANCE):
            problem(f"{item} is empty, which is its label by definition: {said!r} is not taken")
        return None
    if one["label"] and label not in TRACE_LABELS:
        problem(f"{item} cannot have the label {one['label']!r}; labels: {', '.join(TRACE_LABELS)}")
        label = None
    if one["relevance"] and relevance is None:
        problem(f"{item} cannot have the relevance {one['relevance']!r}: it goes from 1 to {len(RELEVANCE)}")
    if label is None and relevance is None:
        return None
    annotator = " ".join(unguarded(one.get("annotator", "")).split())
    if not annotator:
        annotator = Path(path).stem
        problem(f"names no annotator: the file's name, {annotator}, is taken")
    seconds = one.get("seconds", "").replace(",", ".")
    known = re.fullmatch(r"[0-9]+(\.[0-9]+)?", seconds) is not None
    note = unguarded(one.get("note", ""))
    return Row(item, annotator, label, relevance, note, float(seconds) if known else None, path, line)


def _label(text: str) -> str | None:
    name = re.sub(r"[^a-z]+", "_", text.lower()).strip("_")
    return _BY_TITLE.get(name, name) or None


def _relevance(text: str) -> int | None:
    # Spreadsheets write 4.0, in some languages 4,0.
    found = re.fullmatch(r"([0-9])(?:[.,]0+)?", text)
    return int(found[1]) if found and 1 <= int(found[1]) <= len(RELEVANCE) else None


def _decoded(data: bytes) -> tuple[str, str]:
    """The text, and what is doubtful about it."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace"), ""
    try:
        return data.decode("utf-8-sig"), ""
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace"), (
            "is not UTF-8; it was read as Windows-1252, so that letters of notes and names may be wrong"
        )


def _records(text: str) -> Iterator[tuple[int, list[str] | str]]:
    """Each row with its first line; what is wrong instead of a row that cannot be taken apart."""
    csv.field_size_limit(_LONGEST_CELL)
    lines = list(io.StringIO(text, newline=""))
    # Some spreadsheets say in a first line what they separate cells with.
    start = 1 if lines and re.match(r'"?sep=.', lines[0], re.IGNORECASE) else 0
    mark = max(_MARKS, key=lines[start].count) if start < len(lines) else ","
    while start < len(lines):
        reader = csv.reader(lines[start:], delimiter=mark, strict=True)
        before = 0
        try:
            for cells in reader:
                yield start + before + 1, cells
                before = reader.line_num
            return
        except csv.Error as error:
            # A quote that never closes would swallow all rows after it.
            yield start + before + 1, f"cannot be taken apart ({error})"
            start += before + 1
