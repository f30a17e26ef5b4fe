"""Print the table of finished runs from their records: `python -m analysis.table RUN_FOLDER [RUN_FOLDER ...] [--csv]`.

Prints what the run itself printed, by the same function. Never loads a model and writes nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from thinkgap.errors import ThinkgapError
from thinkgap.readouts.table import Table, tables_of_run
from thinkgap.readouts.table_text import to_csv, to_dicts, to_markdown


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; returns 1 if some folder gave none (its reason goes to stderr), else 0."""
    parser = argparse.ArgumentParser(prog="python -m analysis.table", description="Print the table of finished runs.")
    parser.add_argument("folders", nargs="+", metavar="RUN_FOLDER", help="folder of a finished run")
    parser.add_argument(
        "--csv", action="store_true", help="machine-readable columns at full precision, for all folders"
    )
    options = parser.parse_args(arguments)
    found: list[tuple[str, Table]] = []
    failed = False
    for folder in options.folders:
        try:
            found += [(folder, table) for table in tables_of_run(folder)]
        except ThinkgapError as error:
            print(f"error: {error}", file=sys.stderr)
            failed = True
    if options.csv and found:
        rows = [{"run": folder, **row} for folder, table in found for row in to_dicts(table)]
        print(to_csv(rows), end="")
    elif len(options.folders) == 1:
        print("\n".join(to_markdown(table) for _, table in found), end="")
    else:
        print("\n".join(f"{folder}\n\n{to_markdown(table)}" for folder, table in found), end="")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
