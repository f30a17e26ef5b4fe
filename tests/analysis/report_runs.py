"""Runs of made-up records and responses for the tests of the report page."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from probes.controls.sheet import ConditionControls
from probes.controls.stored import CONTROLS_FOLDER, write_controls
from probes.fits_file import write_fits
from probes.predictions import write_predictions
from tests.analysis.annotation_runs import HOSTILE, ordinary_run
from tests.items import mcq
from tests.probes.predicted import STATE, made_fits, prediction_rows, study, table_of
from tests.store.examples import record
from thinkgap.metrics import Estimate
from thinkgap.readouts.sheet import Missing
from thinkgap.store.atomic import write_parquet
from thinkgap.store.items import write_items
from thinkgap.store.records import RECORDS_FILE, RecordFacts, to_table, with_facts
from thinkgap.store.side import REPLIES, write_side

DATASET, TRIGGER = "made_up", "think"
RTL = "\u202eright to left\u2066 \u05d0\u05d1\u05d2 \u0627\u0628\u062c"
TEXTS = (*HOSTILE, RTL, "long" * 3000)
"""Texts of questions and replies that would do something if anything took them for more than text."""


def manifest(folder: Path, model: str = "tiny", revision: str = "r1", **more: Any) -> None:
    """Writes a manifest with what the page reads of it."""
    told = {
        "finished": "2026-01-02T03:04:05+00:00",
        "config": {"model": {"name": model}, "dataset": {"name": DATASET}},
        # Half a pair, as a path on some systems holds it.
        "model": {"path": "hub/\ud800tiny", "revision": revision},
        **more,
    }
    (folder / "manifest.json").write_text(json.dumps(told), encoding="utf-8")


def native_folder(
    folder: Path, n: int = 16, *, wrong: Sequence[int] = (), images: bool = False, replies: bool = True, **told: Any
) -> Path:
    """`n` items of four options with gold in slot 1, in two orders, under `direct` and a trigger that reads slot 0.

    Args:
        folder: of the run.
        n: number of items.
        wrong: items that `direct` gets wrong.
        images: whether every item has a picture, which no data set can give.
        replies: whether the trigger's replies are there, right under both conditions.
        told: of the manifest.
    """
    folder.mkdir(parents=True)
    records, side = [], []
    for number in range(n):
        name = f"q{number:03d}"
        for condition, slot in (("direct", 2 if number in wrong else 1), (TRIGGER, 0)):
            common: dict[str, Any] = {"subject": f"subject {number % 3}", "top_tokens": (HOSTILE[0], HOSTILE[1])}
            common |= {"label_mass": 0.9 if condition == "direct" else 0.001}
            records.append(record(name, condition, pred_slot=slot, **common))
            turned = {"presentation": "permutation_1", "order": (1, 0, 3, 2), "gold_slot": 0}
            records.append(record(name, condition, pred_slot=0, lens_label_logprobs=(), **turned, **common))
            if replies:
                missing = {"label_mass": math.nan, "entropy": math.nan, "label_logprobs": (), "lens_label_logprobs": ()}
                records.append(record(name, condition, readout="generation", lens_label_mass=(), **missing))
                side.append(_reply(name, condition, TEXTS[number % len(TEXTS)]))
    facts = RecordFacts(
        conditions=("direct", TRIGGER),
        title=f"tiny on {DATASET}",
        reference="direct",
        settings={"kind": "native", "requests": {"direct": "label", TRIGGER: "rationale"}},
    )
    write_parquet(folder / RECORDS_FILE, with_facts(to_table(records), facts))
    write_items(folder, {DATASET: [_item(number) for number in range(n)]})
    if images:
        _with_images(folder)
    if replies:
        write_side(folder, "replies", side, REPLIES)
    manifest(folder, **told)
    return folder


def response_folder(folder: Path) -> Path:
    """A no-thinking run: 12 written traces, some hostile, and 3 empty ones."""
    ordinary_run(folder)
    manifest(folder, modes=["think_off"], notes=[HOSTILE[0]])
    return folder


def probe_folder(folder: Path) -> Path:
    """Linear probes of 8 items, right under both conditions, beside a readout that the trigger draws to slot 0."""
    folder.mkdir(parents=True)
    gold = [0, 1] * 4
    native = {"direct": gold, TRIGGER: [0] * 8}
    probes = {study("direct"): gold, study(TRIGGER): gold, study(TRIGGER, "direct"): [1] * 8}
    write_predictions(folder, [table_of(prediction_rows(gold, native, probes))])
    write_fits(folder, made_fits(["direct", TRIGGER]))
    (folder / CONTROLS_FOLDER).mkdir()
    none = {field.name: Missing("not asked for") for field in dataclasses.fields(ConditionControls)}
    for name in ("direct", TRIGGER):
        own: dict[str, Any] = {"condition": name, "state": STATE, "probe": Estimate(1.0, 0.6, 1.0, 8)}
        write_controls(folder / CONTROLS_FOLDER, ConditionControls(**{**none, **own}))
    manifest(folder)
    return folder


def _item(number: int) -> Any:
    text = TEXTS[number % len(TEXTS)]
    return mcq(
        f"q{number:03d}",
        question=f"Question {number}: {text}",
        choices=("nought", f"one {text[:40]}", "two", "three"),
        gold=1,
        answer=f"one {text[:40]}",
        meta={"level": str(number % 2), "note": text},
    )


def _with_images(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(folder / "items.parquet")
    column = pa.array([["ab" * 32]] * len(table), table.schema.field("images").type)
    table = table.set_column(table.schema.get_field_index("images"), table.schema.field("images"), column)
    write_parquet(folder / "items.parquet", table)


def _reply(item: str, condition: str, text: str) -> dict[str, object]:
    return {
        "item_id": item,
        "presentation": "identity",
        "condition": condition,
        "prompt_sha256": "0" * 64,
        # An emoji takes two units in the browser and one in Python.
        "text": f"\U0001f914 {text} The answer is B. That is all.",
        "n_tokens": 9,
        "finish": "stop",
        "status": "ok",
        "rule": "statement",
        "answer": "B",
        "permissive": "B",
        "first_token_id": 1,
        "first_token": "\U0001f914",
        "forced_slot": 1,
        "forced_difference": math.nan,
    }
