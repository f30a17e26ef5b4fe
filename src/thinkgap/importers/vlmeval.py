"""VLMEvalKit: the result sheets `MODEL_DATASET.xlsx` or `.tsv`, a row for each question and a column `prediction`.

Columns are `index`, `question`, `answer`, `prediction`, an option under each letter, and often `hint`, `category`,
`split`, and `thinking` (with SPLIT_THINK). Circular copies of a question have its index plus multiples of a million.
Sheets hold no pictures and do not say why a reply ended. It does not know what our own schema requires.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path

from thinkgap.data.adapter import Row
from thinkgap.errors import DataError, nearest
from thinkgap.importers.detect import SHEET_COLUMNS
from thinkgap.importers.found import Contents, Found
from thinkgap.importers.text import as_utf8
from thinkgap.types import LETTERS

_COPY = 1_000_000
_FAILED = "Failed to obtain answer"
"""How VLMEvalKit begins the text that stands for a request without a reply."""
_LONGEST_CELL = 32_767
"""Characters that an Excel cell holds; writers cut longer texts or leave them out."""
_NO_REASON = (
    "a sheet does not say why a reply ended: one that was cut counts as whole, so its status is never truncated"
)

Cells = tuple[str, list[str], str]
"""Place of a row, its cells, and why they cannot be told apart, if they cannot."""


def read_vlmeval(data: bytes, path: Path) -> Contents:
    """Rows of a result sheet.

    Raises:
        DataError: no result sheet, a damaged one, or an .xlsx without openpyxl.
    """
    is_excel = data.startswith(b"PK")
    lines = _excel(data, path) if is_excel else _tabbed(data, path)
    where, header, problem = next(lines, ("", [], ""))
    if problem:
        raise DataError(f"{path}, {where}: {problem}")
    columns = [name if name in LETTERS else name.strip().lower() for name in header]
    notes = [_NO_REASON]
    for name in SHEET_COLUMNS:
        if name in columns:
            continue
        if name == "answer":
            notes.append("the sheet has no column 'answer', so right answers are not known")
            continue
        hint = " (a benchmark's own file has none; the sheet that a run writes has)" if name == "prediction" else ""
        raise DataError(
            f"{path} has no column {name!r}{hint}{nearest(name, columns)} (columns found: {', '.join(columns)})"
        )
    rows = [
        Found.bad(where, problem) if problem else _found(where, cells, columns, is_excel)
        for where, cells, problem in lines
        if problem or any(cells)
    ]
    if not rows:
        raise DataError(f"{path} has a header and no rows")
    return Contents(rows, tuple(notes))


def _found(where: str, cells: list[str], columns: list[str], is_excel: bool) -> Found:
    if len(cells) != len(columns):
        return Found.bad(where, f"it has {len(cells)} cells, and the header has {len(columns)}")
    values = dict(zip(columns, cells, strict=True))
    if any("\udc80" <= character <= "\udcff" for cell in cells for character in cell):
        name = values["index"].encode("ascii", "backslashreplace").decode()
        return Found.bad(where, "it is not UTF-8: save the file as UTF-8", name)
    if any("\0" in cell for cell in cells):
        return Found.bad(where, "it holds a zero byte, so it is no text", values["index"].replace("\0", ""))
    index, prediction = _whole(values["index"]), values["prediction"]
    if not index:
        return Found.bad(where, "'index' is empty")
    if prediction.startswith(_FAILED):
        return Found.bad(where, f"no reply came: {prediction[:80]!r}", index)
    if is_excel and len(prediction) >= _LONGEST_CELL:
        reason = (
            f"its prediction fills the cell ({_LONGEST_CELL:,} characters), so the end of the reply is lost: use .tsv"
        )
        return Found.bad(where, reason, index)
    return Found(where, Row(_values(values, index)))


def _values(values: Mapping[str, str], index: str) -> dict[str, object]:
    options = {letter: values[letter].strip() for letter in LETTERS if values.get(letter, "").strip()}
    group = str(int(index) % _COPY) if index.isdecimal() else index
    return {
        "id": index,
        "group_id": group,
        "question": values["question"],
        "context": values.get("hint", ""),
        "options": list(options.values()) or None,
        "labels": list(options) or None,
        "gold": values.get("answer"),
        "response": values["prediction"],
        "reasoning": values.get("thinking"),
        "subject": values.get("category"),
    }


def _whole(index: str) -> str:
    """An index without the ".0" that pandas adds to a column with gaps."""
    text = index.strip()
    return text.removesuffix(".0") if text.removesuffix(".0").isdecimal() else text


def _tabbed(data: bytes, path: Path) -> Iterator[Cells]:
    text, _ = as_utf8(data, path)
    # Bytes that are no UTF-8 become marks, so that only their row is lost.
    stream = io.StringIO(text.decode("utf-8", "surrogateescape"), newline="")
    before = csv.field_size_limit(2**31 - 1)  # pictures may stand in a cell
    # Strict, because the last cell of a file that was cut would pass for a whole reply.
    reader, first = csv.reader(stream, delimiter="\t", strict=True), 1
    try:
        while True:
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield f"line {first}", [], f"its quotes do not match, or the file was cut ({error})"
            else:
                yield f"line {first}", cells, ""
            first = reader.line_num + 1
    finally:
        csv.field_size_limit(before)


def _excel(data: bytes, path: Path) -> Iterator[Cells]:
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise DataError(
            f"{path} is an .xlsx sheet, for which openpyxl is needed: pip install openpyxl, or save the sheet as .tsv "
            "(VLMEvalKit writes it with PRED_FORMAT=tsv)"
        ) from None
    try:
        sheet = load_workbook(io.BytesIO(data), read_only=True, data_only=True).worksheets[0]
        for number, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
            yield f"row {number}", [_cell(cell) for cell in cells], ""
    except Exception as error:  # openpyxl passes on what zipfile, its XML parser and its own checks raise
        raise DataError(f"{path} is no readable .xlsx sheet: {type(error).__name__}: {error}") from error


def _cell(value: object) -> str:
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
