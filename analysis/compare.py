"""Compare two finished runs item by item: `python -m analysis.compare A B [--fail-on EXPR] [--csv] [--out FILE]`.

Prints paired differences with intervals of every figure that both runs have, the answers that turned, how many prompts
are the same, and what differs in settings, model and software. Loads no model. Exit status: 0; 1 if a condition of
`--fail-on` holds; 2 for an error. Described in `docs/analysis.md`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from analysis.comparing.facts import same_prompts, settings_that_differ
from analysis.comparing.fail_on import failures, parse_fail_on
from analysis.comparing.pairs import compare_all
from analysis.comparing.scores import n_models, scores_of
from analysis.comparing.tables import Comparison, csv_of, difference_text, text_of
from thinkgap.errors import StoreError, ThinkgapError
from thinkgap.frames import Runs, load
from thinkgap.store.atomic import write_text


def compare_runs(first: str | Path, second: str | Path) -> Comparison:
    """All that differs between two finished runs.

    Args:
        first: folder of A, to which differences are taken.
        second: folder of B.

    Raises:
        StoreError: a folder without a finished run (see `thinkgap.load`), or runs without a figure or an item in
            common.
    """
    own, other = _single(first), _single(second)
    by_model = max(n_models(own), n_models(other)) > 1
    compared, only_own, only_other = compare_all(scores_of(own, by_model), scores_of(other, by_model))
    if not compared:
        raise StoreError(
            f"{first} and {second} have no figure in common: A has {_named(only_own)}; B has {_named(only_other)}"
        )
    if not any(one.difference.n for one in compared):
        raise StoreError(
            f"{first} and {second} have no item in common: compare runs of the same data set, split and sample"
        )
    return Comparison(
        str(first),
        str(second),
        compared,
        only_own,
        only_other,
        settings_that_differ(*(next(iter(run.manifests.values())) for run in (own, other))),
        same_prompts(own, other),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the comparison, or write it to a file; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m analysis.compare", description="Compare two finished runs item by item (B minus A)."
    )
    parser.add_argument("first", metavar="A", help="folder of the run that differences are taken to")
    parser.add_argument("second", metavar="B", help="folder of the other run")
    parser.add_argument(
        "--fail-on",
        action="append",
        default=[],
        metavar="EXPR",
        help="exit with 1 if a difference is beyond so many points: 'accuracy<-2', 'etr_*>5 significant', "
        "'accuracy:let_me_think<0'; several with commas, or the option again",
    )
    parser.add_argument("--csv", action="store_true", help="all figures, flips, prompts and settings as one CSV file")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write to this file instead of printing")
    options = parser.parse_args(arguments)
    try:
        conditions = [one for text in options.fail_on for one in parse_fail_on(text)]
        comparison = compare_runs(options.first, options.second)
        text = csv_of(comparison) if options.csv else text_of(comparison)
        if options.out is None:
            print(text, end="")
        else:
            options.out.parent.mkdir(parents=True, exist_ok=True)
            write_text(options.out, text)
            print(f"written to {options.out}", file=sys.stderr)
        failed = failures(conditions, comparison.compared)
    except (ThinkgapError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for condition, one in failed:
        print(f"fails {condition}: {difference_text(one)}", file=sys.stderr)
    return 1 if failed else 0


def _single(folder: str | Path) -> Runs:
    run = load(folder)
    if len(run.folders) > 1:
        raise StoreError(f"{folder} stands for {len(run.folders)} runs ({', '.join(run.folders)}): name two folders")
    return run


def _named(keys: Sequence[tuple[str, str]]) -> str:
    return ", ".join(dict.fromkeys(figure for figure, _ in keys)) or "none"


if __name__ == "__main__":
    sys.exit(main())
