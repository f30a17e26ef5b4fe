"""Print and write the tables and figures of the studies from finished runs, beside the published ones.

`python -m analysis.paper prefix runs=A,B`, `... inertia runs='outputs/evaluate/*'`, `... prefix.table2 runs=A`, or
`... all`. Loads no model.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from analysis.paper.cases import cases, cases_markdown
from analysis.paper.ours import read_runs
from analysis.paper.people import read_annotation
from analysis.paper.plots import is_figure, write_figures
from analysis.paper.render import file_name, in_short, to_csv, to_latex, to_markdown
from analysis.paper.specs import SPECS
from analysis.paper.tables import PaperTable, paper_table
from thinkgap.errors import ConfigError, ThinkgapError, nearest
from thinkgap.frames.folders import folders_of
from thinkgap.store.atomic import write_text

_WRITERS = {".md": to_markdown, ".tex": to_latex, ".csv": to_csv}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print and write; 1 if something cannot be used (the reason goes to stderr), else 0."""
    parser = argparse.ArgumentParser(
        prog="python -m analysis.paper",
        description="Tables and figures of the two studies from finished runs, beside the published ones.",
    )
    parser.add_argument("what", nargs="+", metavar="WHAT", help="prefix, inertia, all, or one table: inertia.I.4, ...")
    parser.add_argument("--runs", help="folders of finished runs, or patterns, separated by commas (also runs=...)")
    parser.add_argument("--annotation", help="folder of a labelled sample, for tables 5, 6 and D.6 to D.9")
    parser.add_argument("--out", default="paper", help="folder for .md, .tex, .csv, .pdf and .svg (also out=...)")
    parser.add_argument("--no-figures", action="store_true", help="tables alone")
    options = parser.parse_args(_flags(sys.argv[1:] if arguments is None else arguments))
    try:
        runs = read_runs(folders_of(part.strip() for part in (options.runs or "").split(",") if part.strip()))
        if options.annotation:
            runs.append(read_annotation(Path(options.annotation).expanduser(), runs))
        out = Path(options.out).expanduser()
        out.mkdir(parents=True, exist_ok=True)
        asked = list(dict.fromkeys(_asked(options.what)))
        drawn = {(study, name) for study, name in asked if is_figure(study, name)}
        tables = [paper_table(study, table, runs) for study, table in asked if (study, table) not in drawn]
        for table in tables:
            print(_written(table, out))
        if not options.no_figures:
            whole = {name for name in options.what if "." not in name}
            for file in write_figures(runs, out, whole, drawn):
                print(f"figure: {file}")
        if {"inertia", "all"} & set(options.what):
            write_text(out / "inertia.cases.md", cases_markdown(cases([run.folder for run in runs if run.manifest])))
            print(f"representative responses: {out / 'inertia.cases.md'}")
        if tables:
            print(in_short(tables))
        print(f"files: {out}")
    except ThinkgapError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _flags(arguments: Sequence[str]) -> list[str]:
    """`runs=A` as `--runs A`, as the other commands have it."""
    spelled: list[str] = []
    for one in arguments:
        name, found, value = one.partition("=")
        spelled += [f"--{name}", value] if found and name in ("runs", "out", "annotation") else [one]
    return spelled


def _asked(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    for name in names:
        study, _, table = name.partition(".")
        if name == "all" or (study in SPECS and not table):
            yield from ((one, id_) for one in SPECS if name in ("all", one) for id_ in SPECS[one])
        elif study in SPECS and table:
            yield study, table
        else:
            known = ["all", *SPECS, *(f"{one}.{id_}" for one in SPECS for id_ in SPECS[one])]
            raise ConfigError(f"{name}: no study and no table{nearest(name, known)}")


def _written(table: PaperTable, out: Path) -> str:
    text = to_markdown(table)
    for ending, writer in _WRITERS.items():
        write_text(out / f"{file_name(table)}{ending}", writer(table))
    return text


if __name__ == "__main__":
    sys.exit(main())
