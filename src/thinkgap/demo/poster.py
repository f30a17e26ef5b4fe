"""Four items of a run with what the model answered: `python -m thinkgap.demo.poster RUN FILE.png`.

The items are the first of the run with a picture, one of each question kind, whatever was answered. It loads no model.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from thinkgap.cli import exit_code
from thinkgap.data import load_dataset_items
from thinkgap.demo.sheet import COLUMNS, contact_sheet
from thinkgap.errors import StoreError
from thinkgap.schema import DatasetConfig
from thinkgap.store.atomic import write_bytes
from thinkgap.store.records import read_run
from thinkgap.types import Item


def poster(run: Path, conditions: Sequence[str]) -> bytes:
    """A PNG of the items, with the letter that each of `conditions` read.

    Args:
        run: folder of a finished run on `digit_scenes` with the default split and seed.
        conditions: names of conditions of the run.

    Raises:
        StoreError: the folder holds no finished run, or not these conditions.
    """
    records = read_run(run).to_pandas()
    records = records[records["presentation"] == "identity"].set_index(["item_id", "condition"])
    by_id = {item.id: item for item in load_dataset_items(DatasetConfig(name="digit_scenes", path="generated")).items}
    chosen: dict[str, Item] = {}
    for item_id in records.index.get_level_values(0).unique().sort_values():
        item = by_id.get(item_id)
        if item is not None and item.images and item.subject not in chosen and len(chosen) < COLUMNS:
            chosen[item.subject] = item
    notes = []
    for item in chosen.values():
        lines = []
        for name in conditions:
            if (item.id, name) not in records.index:
                raise StoreError(f"{run} holds no condition {name!r}")
            record = records.loc[(item.id, name)]
            letter = record["labels"][record["pred_slot"]]
            lines.append(f"{name}: {letter} ({'right' if record['correct'] else 'wrong'})")
        notes.append(lines)
    if not chosen:
        raise StoreError(f"{run} holds no items of dataset=digit_scenes with a picture")
    return contact_sheet(list(chosen.values()), notes)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the picture and return 0; a refusal is printed and returns 1."""
    parser = argparse.ArgumentParser(prog="python -m thinkgap.demo.poster", description="Items of a run as a picture.")
    parser.add_argument("run", metavar="RUN", type=Path, help="folder of a finished run on digit_scenes")
    parser.add_argument("file", metavar="FILE.png", type=Path)
    parser.add_argument("--conditions", nargs="+", default=["direct", "let_me_think"], metavar="NAME")
    options = parser.parse_args(arguments)

    def job() -> None:
        write_bytes(options.file, poster(options.run, options.conditions))
        print(options.file)

    return exit_code(job)


if __name__ == "__main__":
    sys.exit(main())
