"""A no-thinking run (responses, relevance, judgements) as the page's data.

Figures are those of `nothinking.run_sheets`, which the run printed. Loads no model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.report.charts import response_charts
from analysis.report.manifest import facts_of_manifest
from analysis.report.native import items_of
from analysis.report.shapes import Level, Plain, RunData, Verdict, cell, cut, sheet
from thinkgap.metrics import Estimate
from thinkgap.nothinking.columns import KEY
from thinkgap.nothinking.levels import read_judgements, read_relevance
from thinkgap.nothinking.run_sheets import as_given, nothinking_sheets
from thinkgap.nothinking.store import RESPONSES_FILE, read_responses
from thinkgap.nothinking.variants import Variants
from thinkgap.presentation_names import IDENTITY
from thinkgap.readouts.sheet import Cell
from thinkgap.responses.normalise import normalise

if TYPE_CHECKING:
    import pandas as pd

_KEPT = (
    *("dataset", "presentation", "model", "space", "split", "subject", "area", "status", "rule", "correct"),
    *("control_leak", "etr_strict", "etr_prefix", "trace_words", "gold"),
)


def response_run(folder: Path, manifest: Plain) -> RunData:
    """The run in `folder`.

    Raises:
        StoreError: an unfinished run, a damaged file, or one of another version.
    """
    frame = read_responses(folder / RESPONSES_FILE).to_pandas()
    sheets = nothinking_sheets(folder)
    model, _, facts = facts_of_manifest(manifest)
    modes = [str(mode) for mode in manifest.get("modes", ())] or [str(mode) for mode in frame["mode"].unique()]
    models = [str(one) for one in frame["model"].unique()]
    items = items_of(folder, "") or _items(frame)
    relevance, judgements = read_relevance(folder).to_pandas(), read_judgements(folder).to_pandas()
    variants = Variants.of(as_given(frame), as_given(relevance), as_given(judgements), modes)
    return RunData(
        folder=str(folder),
        kind="responses",
        model=", ".join(models) or model,
        revision=str((manifest.get("model") or {}).get("revision") or ""),
        datasets=tuple(str(one) for one in frame["dataset"].unique()),
        title="No-thinking study: what stands before the answer when no reasoning was asked for",
        conditions=tuple(modes),
        n_items=int(frame.groupby(["dataset", "item_id"]).ngroups),
        facts=facts,
        said="",
        verdicts=tuple(_verdict(mode, variants) for mode in modes),
        sheets=tuple(map(sheet, sheets)),
        charts=tuple(response_charts(sheets)),
        rows=_rows(frame, folder),
        items=items,
        notes=tuple(str(note) for note in manifest.get("notes") or ()),
        n_rows=len(frame),
    )


def _verdict(mode: str, variants: Variants) -> Verdict:
    """What the responses of a mode were, over all answer spaces; the project has no rule that calls a mode broken."""
    frame = variants.rows.frame
    places = np.flatnonzero((frame["mode"] == mode).to_numpy())
    own = frame.iloc[places]
    cells = [(figure, variants.cell(figure, places)) for figure in variants.figures]
    figures = [(figure.column.name, value) for figure, value in cells]
    strict, before = (_rate(figures, name) for name in ("etr_strict", "etr_prefix"))
    spaces = ", ".join(sorted(set(own["space"])))
    text = (
        f"{len(own):,} responses ({spaces}): {strict} are an answer and nothing else, {before} have nothing before it."
    )
    for figure, value in cells:
        if figure.column.name.startswith("explicit_") and isinstance(value, Estimate):
            # A judge of rules is named as one there; its rate is no EIR.
            name = figure.column.heading.removesuffix(" %")
            low, high = (_percent(bound) for bound in (value.low, value.high))
            text += f" Explicit inference, {name}: {_percent(value.value)} % [{low}, {high}]."
    level: Level = "info"
    if leaks := int(own["control_leak"].sum()):
        level = "warn"
        text += f" Reasoning came back in {leaks:,} responses although it was asked to be off."
    elif "disabled" not in set(own["thinking"]):
        text += " Thinking was not asked to be off."
    shown = tuple((_plain_name(name), cell(value)) for name, value in figures)
    return Verdict(mode, level, f"Answer alone in {strict}", text, shown)


def _rate(figures: Sequence[tuple[str, Cell]], name: str) -> str:
    """A share in percent, for a sentence."""
    value = next(value for own, value in figures if own == name)
    return f"{_percent(value.value)} %" if isinstance(value, Estimate) else "none"


def _plain_name(column: str) -> str:
    fixed = {"accuracy": "right", "etr_strict": "answer alone", "etr_prefix": "nothing before it"}
    for start, told in (("qrel_", "relevance"), ("explicit_", "inference")):
        if column.startswith(start):
            return f"{told} ({column.removeprefix(start)})"
    return fixed.get(column, column.replace("_", " "))


def _percent(share: float) -> str:
    return f"{100 * share:.1f}" if share == share else "?"


def _rows(frame: pd.DataFrame, folder: Path) -> pd.DataFrame:
    rows = frame[list(_KEPT)].assign(item=frame["item_id"], condition=frame["mode"], readout="response")
    rows["predicted"] = frame["answer"]
    rows["finish"] = frame["finish_reason"]
    rows["k"] = [len(own) or None for own in frame["options"]]
    rows["pred_slot"] = frame["slot"]
    for name, source in (("labels", "labels"), ("shown", "options")):
        rows[name] = [[str(one) for one in own] for own in frame[source]]
    rows["order"] = [[int(one) for one in own] for own in frame["contents"]]
    rows["problem"] = [cut(text) for text in frame["problem"]]
    rows["reasoning"] = [cut(text) if text else None for text in frame["reasoning_trace"]]
    rows["trace"] = [cut(text) for text in frame["trace"]]
    rows["reply"] = [cut(normalise(text)) for text in frame["content"]]
    spans = zip(frame["span_start"], frame["span_end"], frame["swap_read"], strict=True)
    rows["span"] = [_span(*one) for one in spans]
    keys = list(zip(*(frame[name] for name in KEY), strict=True))
    judged = _judged(folder)
    rows["judged"] = [judged.get(key) for key in keys]
    rows["judge_label"] = [own[0]["label"] if (own := judged.get(key)) else None for key in keys]
    encoded = _encoded(folder)
    rows["encoded"] = [encoded.get(key) for key in keys]
    rows["relevance"] = [own[0][1] if (own := encoded.get(key)) else None for key in keys]
    return rows


def _span(start: float, end: float, swapped: bool) -> list[int] | None:
    """Place of the answer in the content; None if there is none, or if it was read out of the reasoning."""
    return None if swapped or math.isnan(start) else [int(start), int(end)]


def _judged(folder: Path) -> dict[tuple[str, ...], list[Plain]]:
    found: dict[tuple[str, ...], list[Plain]] = {}
    for row in read_judgements(folder).to_pylist():
        own = {name: row[name] for name in ("judge", "kind", "label", "status", "verbatim", "reason")}
        own["evidence"] = cut(row["evidence"])
        found.setdefault(tuple(row[name] for name in KEY), []).append(own)
    return found


def _encoded(folder: Path) -> dict[tuple[str, ...], list[list[Any]]]:
    found: dict[tuple[str, ...], list[list[Any]]] = {}
    for row in read_relevance(folder).to_pylist():
        cosine = float(f"{row['cosine']:.4f}")
        found.setdefault(tuple(row[name] for name in KEY), []).append([row["encoder"], cosine])
    return found


def _items(frame: pd.DataFrame) -> dict[tuple[str, str], Plain]:
    """What was asked, from the responses alone: of runs that keep no items."""
    found: dict[tuple[str, str], Plain] = {}
    names = ("dataset", "item_id", "presentation", "problem", "options", "parts", "gold", "labels", "subject", "space")
    for dataset, item, shown, problem, options, parts, gold, labels, subject, space in zip(
        *(frame[name] for name in names), strict=True
    ):
        if (dataset, item) in found and shown != IDENTITY:
            continue
        choices = [str(one) for one in options]
        own = list(labels)
        stem = [str(one) for one in parts][: max(0, len(parts) - len(choices))]
        found[dataset, item] = {
            "question": cut("\n".join(stem) or problem),
            "context": "",
            "gold": own.index(gold) if gold in own else None,
            "answer": choices[own.index(gold)] if gold in own and len(choices) == len(own) else gold,
            "subject": subject,
            "space": space,
            "choices": choices,
            "images": [],
            "meta": [],
        }
    return found
