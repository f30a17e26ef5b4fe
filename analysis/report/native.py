"""A run of `evaluate.py` (records, replies) as the page's data.

Figures and verdicts are those of `readouts.report`, which the run printed. Loads no model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.report.encode import lens_bytes
from analysis.report.manifest import facts_of_manifest
from analysis.report.native_charts import native_charts
from analysis.report.shapes import Level, Plain, RunData, Verdict, cell, cut, sheet
from thinkgap.errors import ThinkgapError
from thinkgap.metrics.pride import over_labels
from thinkgap.readouts.in_short import in_short
from thinkgap.readouts.report import report_of_run
from thinkgap.readouts.table import Table, tables_of_run
from thinkgap.readouts.verdict import Verdict as Found
from thinkgap.responses import extract
from thinkgap.store.items import read_items
from thinkgap.store.records import facts_of, read_run
from thinkgap.store.side import read_side

if TYPE_CHECKING:
    import pandas as pd

_READ = ("native", "aligned", "lm_head_lora")
"""Readouts whose scores are label log probabilities."""
_NO_ITEMS = "The run keeps no items.parquet (an older version wrote it): questions are not shown."
_KEPT = (
    *("presentation", "condition", "readout", "subject", "split", "k", "gold_slot", "pred_slot", "tied", "correct"),
    *("top_token", "n_tokens", "n_image_tokens"),
)


def native_run(folder: Path, manifest: Plain) -> RunData:
    """The run in `folder`.

    Raises:
        StoreError: an unfinished run, a damaged file, or one of another version.
    """
    stored = read_run(folder)
    facts = facts_of(stored)
    frame = stored.to_pandas()
    model, dataset, told = facts_of_manifest(manifest)
    has_native = "native" in set(frame["readout"])
    report = report_of_run(folder) if has_native else None
    conditions = list(facts.conditions) or [str(name) for name in frame["condition"].unique()]
    sheets = report.sheets if report else ()
    tables = [report.table] if report else tables_of_run(folder)
    items = items_of(folder, dataset)
    rows = _rows(frame, dataset, items, read_side(folder, "replies"))
    found = tuple(_verdict(one) for one in report.verdicts) if report else ()
    return RunData(
        folder=str(folder),
        kind="native",
        model=model,
        revision=str((manifest.get("model") or {}).get("revision") or ""),
        datasets=(dataset,),
        title=facts.title,
        conditions=tuple(conditions),
        n_items=int(frame["item_id"].nunique()),
        facts=told,
        said=in_short(report.table) if report else "",
        verdicts=found,
        sheets=(*map(table_sheet, tables), *map(sheet, sheets)),
        charts=tuple(native_charts(sheets, frame, conditions)) if report else (),
        rows=rows,
        items=items,
        notes=() if items else (_NO_ITEMS,),
        n_rows=len(rows),
    )


def items_of(folder: Path, dataset: str) -> dict[tuple[str, str], Plain]:
    """The items that a run asked, by data set and id; empty where it kept none.

    Args:
        folder: of the run.
        dataset: the name under which rows refer to the data set, where the run has only one; empty keeps the file's.

    Raises:
        StoreError: a damaged file, or one of another version.
    """
    table = read_items(folder)
    found = {}
    for row in [] if table is None else table.to_pylist():
        own = {key: row[key] for key in ("question", "context", "gold", "answer", "subject", "space", "split")}
        own |= {"question": cut(row["question"]), "context": cut(row["context"]), "choices": row["choices"]}
        own |= {"images": row["images"], "meta": [[name, cut(value)] for name, value in row["meta"]]}
        found[dataset or row["dataset"], row["item_id"]] = own
    return found


def table_sheet(table: Table) -> Plain:
    """The table of conditions in the form of the further sheets."""
    columns = [["condition", "text"], ["options", "text"], ["n", "count"], ["groups", "count"]]
    columns += [["accuracy %", "percent"], [f"difference to {table.reference}", "points"], ["p", "p"]]
    columns += [["first slot %", "percent"], ["gold first %", "percent"], ["mean(1/k) %", "percent"]]
    columns += [["label mass", "mass"], ["ties", "count"]]
    rows = []
    for row in table.all_rows:
        pair = row.difference
        paired = [cell(pair.difference), cell(pair.p_value)] if pair else [{"missing": "the reference"}] * 2
        rows.append(
            [
                *(row.condition, "all" if row.k is None else str(row.k), row.n, row.n_groups),
                *(cell(row.accuracy), *paired),
                *(cell(row.first_slot), cell(row.gold_first), cell(row.mean_reciprocal_k), cell(row.label_mass)),
                row.tied,
            ]
        )
    notes = [f"Not asked: {count} items, {reason}." for reason, count in table.excluded.items()]
    notes.append(f"Differences are paired, to {table.reference} on the same rows; p by McNemar's test.")
    return {
        "name": "conditions",
        "title": f"Conditions ({table.readout} readout)",
        "columns": columns,
        "rows": rows,
        "notes": notes,
    }


def _verdict(one: Found) -> Verdict:
    found = one.evidence
    known = found.gap is not None or found.aligned_gap is not None
    level, word = _level(one.match, bool(one.findings), known)
    asked = {"label": "an option's label", "answer_only": "the answer alone"}.get(found.requests, "reasoning first")
    text = f"The prompt asks for {asked}; what is read is the label as the very next token. "
    text += "".join(f"{finding[0].upper()}{finding[1:]}. " for finding in one.findings)
    figures = [("native", found.native), ("generated", found.generated), ("after the reply", found.aligned)]
    figures += [("first slot read", found.first_slot), ("label probability", found.label_mass)]
    shown = tuple((name, cell(value)) for name, value in figures if value is not None)
    return Verdict(found.condition, level, word, f"{text}{one.advice[0].upper()}{one.advice[1:]}.", shown)


def _level(match: bool, doubted: bool, known: bool) -> tuple[Level, str]:
    if match:
        return ("warn", "Readout has a caveat") if doubted else ("ok", "Readout holds")
    if doubted:
        return "bad", "Readout is broken"
    return ("warn", "Reads another event") if known else ("unknown", "Not measured")


def _rows(
    frame: pd.DataFrame, dataset: str, items: Mapping[tuple[str, str], Plain], replies: pd.DataFrame | None
) -> pd.DataFrame:
    rows = frame[list(_KEPT)].assign(dataset=dataset, item=frame["item_id"])
    labels = [[str(one) for one in own] for own in frame["labels"]]
    orders = [[int(one) for one in own] for own in frame["order"]]
    scores = frame["label_logprobs"].tolist()
    read = [str(name).startswith(_READ) for name in frame["readout"]]
    gold, slots = frame["gold_slot"].tolist(), frame["pred_slot"].tolist()
    rows["labels"], rows["order"], rows["scores"] = labels, orders, scores
    rows["gold"] = [_at(own, slot) for own, slot in zip(labels, gold, strict=True)]
    rows["predicted"] = [_at(own, slot) for own, slot in zip(labels, slots, strict=True)]
    rows["p_gold"] = [_p(own, slot) if on else math.nan for own, slot, on in zip(scores, gold, read, strict=True)]
    for name in ("label_mass", "entropy", "reasoning_mass"):
        rows[name] = frame[name]
    rows["gold_rank"] = [None if rank < 0 else rank for rank in frame["gold_rank"].tolist()]
    rows["pred_slot"] = [None if slot < 0 else slot for slot in slots]
    rows["top_tokens"], rows["top_logprobs"] = frame["top_tokens"], frame["top_logprobs"]
    rows["space"] = [items.get((dataset, item), {}).get("space") for item in frame["item_id"]]
    rows["lens"] = [lens_bytes(np.concatenate(list(own))) if len(own) else None for own in frame["lens_label_logprobs"]]
    rows["model"] = None
    return rows if replies is None else _with_replies(rows, replies, items)


def _with_replies(rows: pd.DataFrame, replies: pd.DataFrame, items: Mapping[tuple[str, str], Plain]) -> pd.DataFrame:
    own = replies[["item_id", "presentation", "condition", "text", "finish", "status", "rule", "answer"]]
    own = own.assign(item=own["item_id"], reply=own["text"], readout="generation").drop(columns=["item_id", "text"])
    joined = rows.merge(own, on=["item", "presentation", "condition", "readout"], how="left", validate="m:1")
    texts, traces, spans = [], [], []
    columns = (joined[name] for name in ("dataset", "item", "reply", "finish", "answer", "labels", "order"))
    for dataset, item, reply, finish, answer, labels, order in zip(*columns, strict=True):
        if not isinstance(reply, str):
            for column in (texts, traces, spans):
                column.append(None)
            continue
        asked = items.get((dataset, item), {})
        choices = asked.get("choices") or []
        options = tuple(choices[content] for content in order) if len(choices) == len(order) else ()
        found = _read_again(reply, str(asked.get("space") or "mcq"), tuple(labels), options, finish == "length")
        # Only where it is the answer that the run found; openings of modes may be missing here.
        same = found is not None and found[3] == (answer if isinstance(answer, str) else None)
        texts.append(cut(found[0] if found is not None and same else reply))
        traces.append(cut(found[1]) if found is not None and same else None)
        spans.append(list(found[2]) if found is not None and same and found[2] else None)
    return joined.drop(columns="answer").assign(reply=texts, trace=traces, span=spans)


@lru_cache(maxsize=100_000)
def _read_again(
    text: str, space: str, labels: tuple[str, ...], options: tuple[str, ...], truncated: bool
) -> tuple[str, str, tuple[int, int] | None, str | None] | None:
    """Normalised reply, trace, span of the answer, and the answer; None where it cannot be read."""
    try:
        found = extract(text, space, labels=labels, options=options, truncated=truncated)  # type: ignore[arg-type]
    except ThinkgapError:
        return None
    return found.text, found.trace, found.span, found.answer


def _at(labels: Sequence[str], slot: int) -> str | None:
    return labels[slot] if 0 <= slot < len(labels) else None


def _p(scores: Any, slot: int) -> float:
    return float(np.exp(over_labels(scores)[slot])) if len(scores) > slot >= 0 else math.nan
