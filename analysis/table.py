"""Print the tables of finished runs from their records: `python -m analysis.table RUN_FOLDER [RUN_FOLDER ...]`.

Prints what the run itself printed, by the same function, and of linear probes all tables; `--csv` the table of
conditions (of a no-thinking run that by data set and mode) of several runs as one file, `--sheet NAME` one of the
further tables. Loads no model and writes nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from thinkgap.errors import StoreError, ThinkgapError
from thinkgap.frames.columns import PARTS
from thinkgap.nothinking.run_sheets import nothinking_sheets, nothinking_text
from thinkgap.nothinking.store import RESPONSES_FILE
from thinkgap.readouts.report import report_of_run, report_text
from thinkgap.readouts.sheet import Sheet, sheet_dicts
from thinkgap.readouts.table import tables_of_run
from thinkgap.readouts.table_text import to_csv, to_dicts

Row: TypeAlias = dict[str, str | int | float | None]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; returns 1 if some folder gave none (its reason goes to stderr), else 0."""
    parser = argparse.ArgumentParser(prog="python -m analysis.table", description="Print the tables of finished runs.")
    parser.add_argument("folders", nargs="+", metavar="RUN_FOLDER", help="folder of a finished run")
    parser.add_argument(
        "--csv", action="store_true", help="the table of conditions at full precision, for all folders as one file"
    )
    parser.add_argument(
        "--sheet",
        metavar="NAME",
        help="one further table instead, as CSV: permutation, vocabulary, layers, answer_first, ...",
    )
    parser.add_argument(
        "--by",
        metavar="FIELDS",
        help="figures by fields of the items too, such as subject,k or level,type (any field of items.parquet)",
    )
    options = parser.parse_args(arguments)
    if options.by is not None and options.csv:
        parser.error("--by adds tables, and --csv prints that of conditions: give --sheet by_FIELD_FIELD instead")
    by = None if options.by is None else [name.strip() for name in options.by.split(",") if name.strip()]
    rows: list[Row] = []
    failed = False
    for place, folder in enumerate(options.folders):
        try:
            if options.sheet:
                rows += [{"run": folder, **row} for row in _sheet(folder, options.sheet, by)]
            elif options.csv:
                rows += [{"run": folder, **row} for row in _conditions(folder)]
            else:
                text = _text(folder, by)
                heading = f"{folder}\n\n" if len(options.folders) > 1 else ""
                print(("\n" if place else "") + heading + text, end="")
        except ThinkgapError as error:
            print(f"error: {error}", file=sys.stderr)
            failed = True
    if rows:
        print(to_csv(rows), end="")
    return 1 if failed else 0


def _text(folder: str, by: Sequence[str] | None) -> str:
    if _has_responses(folder):
        return nothinking_text(Path(folder), nothinking_sheets(Path(folder), by))
    if not _has_probes(folder):
        return report_text(folder, by)
    _refuse_grouping(folder, by)
    # Probes import torch, which evaluations need not wait for.
    from probes.tables import report_markdown, report_of_probes

    return report_markdown(report_of_probes(Path(folder)))


def _conditions(folder: str) -> list[Row]:
    if _has_responses(folder):
        return _sheet(folder, "nothinking")
    if _has_probes(folder):
        return _sheet(folder, "linear_probes")
    return [row for table in tables_of_run(folder) for row in to_dicts(table)]


def _sheet(folder: str, name: str, by: Sequence[str] | None = None) -> list[Row]:
    sheets = {sheet.name: sheet for sheet in _sheets(folder, by)}
    if name not in sheets:
        raise StoreError(f"{folder} has no table {name!r}; it has {', '.join(sheets)}")
    return sheet_dicts(sheets[name])


def _sheets(folder: str, by: Sequence[str] | None) -> Sequence[Sheet]:
    if _has_responses(folder):
        return nothinking_sheets(Path(folder), by)
    if not _has_probes(folder):
        return report_of_run(folder, by).sheets
    _refuse_grouping(folder, by)
    from probes.tables import report_of_probes

    return report_of_probes(Path(folder)).sheets


def _refuse_grouping(folder: str, by: Sequence[str] | None) -> None:
    if by:
        raise StoreError(f"{folder} is a training, which keeps no fields of its items: --by takes runs of evaluate.py")


def _has_responses(folder: str) -> bool:
    """Whether it is a no-thinking run."""
    return (Path(folder) / RESPONSES_FILE).exists()


def _has_probes(folder: str) -> bool:
    """Whether it is a training of linear probes."""
    return (Path(folder) / PARTS["predictions"].file).exists()


if __name__ == "__main__":
    sys.exit(main())
