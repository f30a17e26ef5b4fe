"""Print the tables of finished runs from their records: `python -m analysis.table RUN_FOLDER [RUN_FOLDER ...]`.

Prints what the run itself printed, by the same function; `--csv` the table of conditions of several runs as one file,
`--sheet NAME` one of the further tables. Never loads a model and writes nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from thinkgap.errors import StoreError, ThinkgapError
from thinkgap.readouts.report import report_of_run, report_text
from thinkgap.readouts.sheet import sheet_dicts
from thinkgap.readouts.table import tables_of_run
from thinkgap.readouts.table_text import to_csv, to_dicts


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; returns 1 if some folder gave none (its reason goes to stderr), else 0."""
    parser = argparse.ArgumentParser(prog="python -m analysis.table", description="Print the tables of finished runs.")
    parser.add_argument("folders", nargs="+", metavar="RUN_FOLDER", help="folder of a finished run")
    parser.add_argument(
        "--csv", action="store_true", help="the table of conditions at full precision, for all folders as one file"
    )
    parser.add_argument(
        "--sheet", metavar="NAME", help="one further table instead, as CSV: permutation, vocabulary, layers, ..."
    )
    options = parser.parse_args(arguments)
    rows: list[dict[str, str | int | float | None]] = []
    failed = False
    for place, folder in enumerate(options.folders):
        try:
            if options.sheet:
                rows += [{"run": folder, **row} for row in _sheet(folder, options.sheet)]
            elif options.csv:
                rows += [{"run": folder, **row} for table in tables_of_run(folder) for row in to_dicts(table)]
            else:
                text = report_text(folder)
                heading = f"{folder}\n\n" if len(options.folders) > 1 else ""
                print(("\n" if place else "") + heading + text, end="")
        except ThinkgapError as error:
            print(f"error: {error}", file=sys.stderr)
            failed = True
    if rows:
        print(to_csv(rows), end="")
    return 1 if failed else 0


def _sheet(folder: str, name: str) -> list[dict[str, str | int | float | None]]:
    sheets = {sheet.name: sheet for sheet in report_of_run(folder).sheets}
    if name not in sheets:
        raise StoreError(f"{folder} has no table {name!r}; it has {', '.join(sheets)}")
    return sheet_dicts(sheets[name])


if __name__ == "__main__":
    sys.exit(main())
