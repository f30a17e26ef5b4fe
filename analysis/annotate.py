"""Have people label traces: `python -m analysis.annotate make RUN --out FOLDER`, later `... read FOLDER FILE.csv`.

`make` draws a blinded sample of stored responses and writes the page on which it is labelled; `read` takes the files
that come back and prints how far people, judges and encoders agree. Loads no model. See `docs/annotation.md`.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Sequence
from pathlib import Path

from analysis.annotation.page import page, sheet_csv
from analysis.annotation.read import Problem, read_files
from analysis.annotation.sample import BY, draw, read_key, read_pool, write_key
from analysis.annotation.tables import agreement_sheets, join
from thinkgap.errors import ThinkgapError
from thinkgap.printable import printable
from thinkgap.readouts.sheet import sheet_dicts, sheet_markdown
from thinkgap.readouts.table_text import to_csv
from thinkgap.spreadsheet import cell
from thinkgap.store.atomic import disk_errors, write_bytes, write_text

PAGE_FILE = "annotate.html"
SHEET_FILE = "sample.csv"
TABLES_FOLDER = "agreement"
PROBLEMS_FILE = "problems.csv"
_PROBLEMS_SHOWN = 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the two commands; returns 1 if something could not be done (its reason goes to stderr), else 0."""
    parser = argparse.ArgumentParser(prog="python -m analysis.annotate", description="Have people label traces.")
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("make", help="draw a sample and write its page")
    make.add_argument("runs", nargs="+", metavar="RUN", help="folder of a finished no-thinking run")
    make.add_argument("--out", required=True, metavar="FOLDER", help="where the sample goes; one folder a sample")
    make.add_argument("--n", type=int, default=600, help="number of responses (default 600, as in the study)")
    make.add_argument("--seed", type=int, default=0, help="of the draw (default 0)")
    make.add_argument(
        "--by", default=",".join(BY), metavar="COLUMN,...", help=f"what the cells are (default {','.join(BY)})"
    )
    make.add_argument("--exclude-empty", action="store_true", help="draw only among responses whose trace is not empty")
    read = commands.add_parser("read", help="read annotators' files and print the agreement")
    read.add_argument("folder", metavar="FOLDER", help="where the sample was made, with its key.parquet")
    read.add_argument("files", nargs="+", metavar="FILE.csv", help="what annotators exported")
    read.add_argument("--runs", nargs="+", default=[], metavar="RUN", help="runs with judgements and relevance to join")
    options = parser.parse_args(arguments)
    try:
        return _make(options) if options.command == "make" else _read(options)
    except ThinkgapError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _make(options: argparse.Namespace) -> int:
    folder = Path(options.out)
    by = [name.strip() for name in options.by.split(",")]
    source = "run" if len(options.runs) == 1 else f"pool of {len(options.runs)} runs"
    sample = draw(
        read_pool(options.runs), options.n, options.seed, by, include_empty=not options.exclude_empty, source=source
    )
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    # The key first: it refuses a folder in which another sample is being labelled.
    key = write_key(folder, sample)
    write_text(folder / PAGE_FILE, page(sample))
    write_bytes(folder / SHEET_FILE, sheet_csv(sample))
    n_empty = sum(sample.rows["empty"])
    print(f"sample {sample.digest}: {len(sample.rows):,} responses, {n_empty:,} of them with an empty trace")
    for note in sample.notes:
        print(f"note: {note}")
    print(f"send to annotators: {folder / PAGE_FILE} (or {folder / SHEET_FILE}, to fill in in a spreadsheet)")
    print(f"keep to yourself until all are done: {key} (it says which model and mode wrote which text)")
    return 0


def _read(options: argparse.Namespace) -> int:
    folder = Path(options.folder)
    key = read_key(folder)
    found = read_files(options.files, key)
    tables = folder / TABLES_FOLDER
    with disk_errors(tables):
        tables.mkdir(parents=True, exist_ok=True)
    write_text(tables / PROBLEMS_FILE, _problems_csv(found.problems))
    _print_problems(found.problems, tables)
    if found.rows.empty:
        print("error: no file holds a label of this sample", file=sys.stderr)
        return 1
    joined = join(found.rows, key, options.runs)
    sheets = agreement_sheets(joined, key)
    notes = [f"note: {note}" for note in joined.notes]
    text = "\n".join([sheet_markdown(sheet) for sheet in sheets] + notes + [""] * bool(notes))
    write_text(tables / "agreement.md", text)
    write_text(tables / "annotations.csv", joined.annotations.map(cell).to_csv(index=False, lineterminator="\n"))
    for sheet in sheets:
        write_text(tables / f"{sheet.name}.csv", to_csv(sheet_dicts(sheet)))
    print(text, end="")
    return 1 if found.unread else 0


def _print_problems(problems: Sequence[Problem], tables: Path) -> None:
    for problem in problems[:_PROBLEMS_SHOWN]:
        print(f"problem: {printable(str(problem))}", file=sys.stderr)
    if len(problems) > _PROBLEMS_SHOWN:
        more = len(problems) - _PROBLEMS_SHOWN
        print(f"problem: {more:,} more, all in {tables / PROBLEMS_FILE}", file=sys.stderr)


def _problems_csv(problems: Sequence[Problem]) -> str:
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(["file", "line", "problem"])
    writer.writerows([cell(problem.file), problem.line, cell(problem.text)] for problem in problems)
    return sink.getvalue()


if __name__ == "__main__":
    sys.exit(main())
