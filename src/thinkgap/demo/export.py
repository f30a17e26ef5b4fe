"""Write a generated data set as Parquet: `python -m thinkgap.demo.export FOLDER --split test --limit 500`.

The file has the rows that `dataset=NAME` with the same settings would use, pictures inside as on the hub, and is read
back with `dataset=NAME dataset.path=FOLDER`. It knows no question and no picture; those are the world's.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from thinkgap.cli import exit_code
from thinkgap.data import ADAPTERS, load_dataset_items
from thinkgap.data.adapter import Adapter
from thinkgap.demo.sheet import contact_sheet
from thinkgap.demo.world.parts import SPLITS
from thinkgap.errors import DataError
from thinkgap.schema import DatasetConfig, GenerationConfig
from thinkgap.store.atomic import write_bytes, write_parquet

NAMES = ("digit_scenes", "number_facts")


def export(folder: Path, cfg: DatasetConfig) -> Path:
    """Write the rows that `cfg` uses to `{split}.parquet` in `folder`, replacing such a file.

    Raises:
        ConfigError: A setting that cannot be honoured.
        DataError: The folder cannot be made.
        StoreError: The file cannot be written.
    """
    import pyarrow as pa

    adapter = ADAPTERS[cfg.name]
    assert adapter.generate is not None
    used = {item.id for item in load_dataset_items(cfg).items}
    rows = [row for row in adapter.generate(cfg) if row["id"] in used]
    _make(folder)
    file = folder / f"{cfg.split}.parquet"
    write_parquet(file, pa.Table.from_pylist(rows, schema=_schema(adapter)))
    return file


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"folder {folder} cannot be made: {error.strerror}; choose another") from error


def _schema(adapter: Adapter) -> Any:
    """Arrow schema of an adapter's columns with the hub's notes on them, so that viewers show the pictures."""
    import datasets

    kinds: Mapping[str, Any] = {
        "text": datasets.Value("string"),
        "texts": datasets.List(datasets.Value("string")),
        "integer": datasets.Value("int64"),
        "image": datasets.Image(),
    }
    return datasets.Features(
        {name: kinds[kind.split(" or ")[0]] for name, kind in adapter.columns.items()}
    ).arrow_schema


def main(arguments: Sequence[str] | None = None) -> int:
    """Export, say what was written, and return 0; a refusal is printed and returns 1."""
    options = _parser().parse_args(arguments)
    generation = GenerationConfig(size=options.size)
    if options.image_free is not None:
        generation.image_free = options.image_free
    cfg = DatasetConfig(
        name=options.dataset,
        path="generated",
        split=options.split,
        limit=options.limit,
        seed=options.seed,
        generation=generation,
    )

    def job() -> None:
        file = export(Path(options.folder), cfg)
        items = load_dataset_items(DatasetConfig(name=cfg.name, path=str(file), split=cfg.split)).items
        print(f"{file}: {len(items):,} items, {sum(bool(item.images) for item in items):,} with a picture")
        if options.sheet:
            _make(Path(options.sheet).parent)
            write_bytes(Path(options.sheet), contact_sheet(items[: options.scenes]))
            print(f"{options.sheet}: {min(options.scenes, len(items))} of them to look at")

    return exit_code(job)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m thinkgap.demo.export",
        description="Write a generated data set as Parquet.",
        epilog="Read it back with `python evaluate.py dataset=NAME dataset.path=FOLDER`.",
    )
    parser.add_argument("folder", metavar="FOLDER", help="where SPLIT.parquet is written")
    parser.add_argument("--dataset", choices=NAMES, default=NAMES[0])
    parser.add_argument("--split", choices=SPLITS, default="test")
    parser.add_argument("--limit", type=int, metavar="N", help="a sample of N items, as dataset.limit takes it")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--size", type=int, metavar="N", help="questions in the split (dataset.generation.size)")
    parser.add_argument("--image-free", type=float, metavar="SHARE", help="share of scenes told in words")
    parser.add_argument("--sheet", metavar="FILE.png", help="also write some of the items as a picture to look at")
    parser.add_argument("--scenes", type=int, default=12, metavar="N", help="items on the sheet (default 12)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
