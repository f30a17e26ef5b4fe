"""The extractor from the command line: `python -m thinkgap.responses check FILE` and `... read FILE`.

`check` runs a file of cases, `read` reads the answers out of a file of responses. It knows no format of a file, and it
extracts nothing itself.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from thinkgap.errors import ConfigError, DataError, RowError, ThinkgapError
from thinkgap.importers import FORMATS, load_responses
from thinkgap.importers.build import SPACES
from thinkgap.importers.text import as_utf8, json_lines, read_file
from thinkgap.nothinking.equality import MathEquality
from thinkgap.printable import printable
from thinkgap.responses.answered import read_answered
from thinkgap.responses.cases import Case, Equal, parse_case, run_case
from thinkgap.store.atomic import write_parquet, write_text
from thinkgap.tracking.progress import progress
from thinkgap.types import Answered

FAILED = 1
UNREADABLE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments say and return the exit status: 0, 1 if cases failed, 2 if a file cannot be used."""
    options = _parser().parse_args(arguments)
    # A terminal that cannot show a character gets its number, not a traceback.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        return check(options.file) if options.command == "check" else read(options)
    except ThinkgapError as error:
        print(f"error: {printable(str(error))}", file=sys.stderr)
        return UNREADABLE


def check(file: Path, equal: Equal | None = None) -> int:
    """Run the cases of a file, print what differs, and return 1 if any case failed, else 0.

    Args:
        file: JSON Lines; `docs/extraction.md` gives the keys.
        equal: decides whether an open answer (first) equals the right one; None is `MathEquality`, by which a pair that
            it does not decide is not equal.

    Raises:
        DataError: a file or a line of it that cannot be read; no case has run then.
        ConfigError: an equality that needs algebra, and math-verify does not start.
    """
    if equal is None:
        with MathEquality() as decide:
            return check(file, lambda answer, gold: decide(gold, answer) is True)
    numbered = _cases(file)
    n_failed = 0
    for where, case in numbered:
        try:
            differences = run_case(case, equal)
        except RowError as error:
            raise DataError(f"{file}, {where}: {error}") from None
        n_failed += bool(differences)
        for one in differences:
            print(f"{printable(case.id)}: {one.field}: expected {one.expected!r}, found {one.found!r}")
    print(f"{len(numbered) - n_failed} passed, {n_failed} failed")
    return FAILED if n_failed else 0


def read(options: argparse.Namespace) -> int:
    """Read the answers out of a file of responses, write a row for each, and print counts by status.

    Raises:
        DataError: a file that cannot be read, or in which no row can be used.
        ConfigError: a place or suffix that cannot be written.
        StoreError: the disk is full or read-only.
    """
    out: Path = options.out or options.file.with_name(options.file.name + ".read.jsonl")
    if out.suffix not in (".jsonl", ".parquet"):
        raise ConfigError(f"--out {out}: its suffix is .jsonl or .parquet, not {out.suffix or 'none'}")
    if not out.parent.is_dir():
        raise ConfigError(f"--out {out}: there is no folder {out.parent}")
    if out.resolve() == options.file.resolve():
        raise ConfigError(f"--out {out} is the file that is read: choose another name")
    labels = [label.strip() for label in options.labels.split(",")] if options.labels else []
    found = load_responses(
        options.file,
        options.format,
        space=options.space,
        mode=options.mode,
        labels=labels,
        watch=lambda rows: progress(rows, description="check", unit="row"),
    )
    rows = [row_of(answered) for answered in progress(found.answered, description="read", unit="reply")]
    if out.suffix == ".parquet":
        import pyarrow as pa

        # With its types, which a column of nulls or of empty lists does not tell.
        columns = [(name, pa.list_(pa.string()) if name == "flags" else pa.string()) for name in rows[0]]
        write_parquet(out, pa.Table.from_pylist(rows, schema=pa.schema(columns)))
    else:
        write_text(out, "".join(json.dumps(row) + "\n" for row in rows))
    for bad in found.bad:
        print(f"not used: {printable(bad.id)}: {printable(bad.reason)}")
    for note in found.notes:
        print(f"note: {printable(note)}")
    counts = Counter(str(row["status"]) for row in rows)
    print(f"{len(rows):,} responses read as {found.format}, {len(found.bad):,} rows not used")
    for status, n in counts.most_common():
        print(f"  {status}: {n:,} ({100 * n / len(rows):.1f}%)")
    print(f"written: {printable(str(out))}")
    return 0


def row_of(answered: Answered) -> dict[str, Any]:
    """What `read` writes for a response; `docs/own_responses.md` lists the columns."""
    question, response, reading = answered.question, answered.response, read_answered(answered)
    reasoning = "\n\n".join(text for text in (response.reasoning, reading.reasoning) if text)
    return {
        "item_id": question.item_id,
        "group_id": question.group_id,
        "dataset": question.dataset,
        "space": question.space,
        "mode": answered.mode,
        "thinking": answered.thinking.value,
        "model": response.model,
        "status": reading.status,
        "answer": reading.answer,
        "gold": question.answer or None,
        "rule": reading.rule,
        "flags": list(reading.flags),
        "trace": reading.trace,
        "post": reading.post,
        "reasoning": reasoning,
        "finish_reason": response.finish_reason,
    }


def _cases(file: Path) -> list[tuple[str, Case]]:
    data, _ = as_utf8(read_file(file), file)
    cases = []
    first: dict[str, str] = {}
    for found in json_lines(data, file.parent):
        try:
            if found.row.problem:
                raise RowError(found.row.problem)
            case = parse_case(found.row.values)
            if case.id in first:
                raise RowError(f"it has the id of {first[case.id]} ({case.id!r})")
        except RowError as error:
            reason = str(error).removeprefix(f"{found.where} ")
            raise DataError(f"{file}, {found.where}: {reason}") from None
        first[case.id] = found.where
        cases.append((found.where, case))
    return cases


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m thinkgap.responses", description="Reads answers out of replies.")
    commands = parser.add_subparsers(dest="command", required=True)
    cases = commands.add_parser("check", help="run a file of cases", description="Runs a file of cases.")
    cases.add_argument("file", type=Path, metavar="FILE", help="JSON Lines; docs/extraction.md gives the keys")
    own = commands.add_parser("read", help="read a file of responses", description="Reads a file of responses.")
    own.add_argument("file", type=Path, metavar="FILE", help="responses; docs/own_responses.md gives the formats")
    own.add_argument("--out", type=Path, metavar="FILE", help=".jsonl or .parquet (default FILE.read.jsonl)")
    own.add_argument("--format", choices=("auto", *FORMATS), default="auto", help="default: by content")
    own.add_argument("--space", choices=SPACES, help="answer space of rows that do not say theirs")
    own.add_argument("--mode", default="", metavar="NAME", help="mode of rows that do not name theirs, such as strict")
    own.add_argument("--labels", metavar="A,B,C", help="labels of multiple-choice rows that have none")
    return parser


if __name__ == "__main__":
    sys.exit(main())
