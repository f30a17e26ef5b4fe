"""Small finished runs for the tests of the studies' tables: made by rule, with figures known by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.nothinking.scripted_models import Says, frames, numbers
from tests.store.examples import run_records
from thinkgap.nothinking.columns import SCHEMA
from thinkgap.nothinking.levels import JUDGEMENTS_SCHEMA, RELEVANCE_SCHEMA, write_levels
from thinkgap.nothinking.store import RESPONSES_FILE
from thinkgap.schema import VariantsConfig
from thinkgap.store import RunFolder
from thinkgap.store.atomic import write_parquet
from thinkgap.store.items import write_items
from thinkgap.store.manifest import write_manifest
from thinkgap.store.records import RecordFacts


def native_run(folder: Path, model: str = "qwen25vl7b", dataset: str = "scienceqa", **config: Any) -> Path:
    """Twelve items under Direct and let_me_think."""
    run = RunFolder(folder)
    run.open({})
    run.write_shard(
        [replace(one, condition={"think": "let_me_think"}.get(one.condition, one.condition)) for one in run_records(12)]
    )
    run.merge(("direct", "let_me_think"), RecordFacts(title=folder.name))
    settings = {"model": {"name": model}, "dataset": {"name": dataset, "limit": 12}, **config}
    write_manifest(folder, {"config": settings, "finished": "2026-01-01"})
    return folder


def no_thinking_run(folder: Path, says: Says, asked: VariantsConfig, dataset: str = "mmlu", n: int = 8) -> Path:
    """Responses of a scripted model, encoder `minilm` and judge `rules`, as a run leaves them."""
    folder.mkdir(parents=True)
    items = [replace(item, meta={"area": "STEM" if place % 2 else "other"}) for place, item in enumerate(numbers(n))]
    responses, relevance, judgements = frames(items, says, asked, dataset, explicit="Because")
    relevance = relevance.assign(encoder="minilm")
    judgements = judgements.assign(judge="rules", kind="rules")
    write_parquet(folder / RESPONSES_FILE, pa.Table.from_pandas(responses, SCHEMA, preserve_index=False))
    write_levels(
        folder,
        pa.Table.from_pandas(relevance, RELEVANCE_SCHEMA, preserve_index=False),
        pa.Table.from_pandas(judgements, JUDGEMENTS_SCHEMA, preserve_index=False),
    )
    write_items(folder, {dataset: items})
    generation = {"max_new_tokens": 64}
    variants = {"rewrites": list(asked.rewrites), "negative": asked.negative.name}
    write_manifest(
        folder,
        {
            "modes": ["strict"],
            "datasets": {dataset: {"items": n}},
            "decoding": {"method": "shared"},
            "config": {
                "model": {"name": "m"},
                "dataset": {"name": dataset, "limit": None},
                "evaluation": {"kind": "no_thinking", "generation": generation, "variants": variants},
            },
        },
    )
    return folder
