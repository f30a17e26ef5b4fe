"""A run of linear probes as the page's data: predictions of the probes at the study's state.

Figures are those of `probes.tables`, which the run printed.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from analysis.report.charts import probe_charts
from analysis.report.manifest import facts_of_manifest
from analysis.report.native import items_of
from analysis.report.shapes import Level, Plain, RunData, Verdict, cell, named, sheet
from probes.predictions import PREDICTIONS_FILE, STUDY, read_predictions
from probes.tables import report_of_probes
from thinkgap.metrics import Estimate
from thinkgap.readouts.sheet import Cell


def probe_run(folder: Path, manifest: Plain) -> RunData:
    """The run in `folder`.

    Raises:
        StoreError: an unfinished run, a damaged file, or one of another version.
    """
    read_predictions(folder)
    report = report_of_probes(folder)
    model, dataset, facts = facts_of_manifest(manifest)
    frame = pd.read_parquet(folder / PREDICTIONS_FILE)
    headline = named(report.sheets, "linear_probes")
    rows = _rows(frame, dataset)
    return RunData(
        folder=str(folder),
        kind="probes",
        model=model,
        revision=str((manifest.get("model") or {}).get("revision") or ""),
        datasets=(dataset,),
        title=report.sheets[0].title,
        conditions=tuple(str(row["condition"]) for row in headline),
        n_items=len(set(frame["item_id"])),
        facts=facts,
        said=report.sentence,
        verdicts=tuple(map(_verdict, headline)),
        sheets=tuple(map(sheet, report.sheets)),
        charts=tuple(probe_charts(report.sheets)),
        rows=rows,
        items=items_of(folder, dataset),
        notes=tuple(str(note) for note in manifest.get("notes") or ()),
        n_rows=len(rows),
    )


def _verdict(row: dict[str, Cell]) -> Verdict:
    gap, gamma = row["gap"], row["gamma"]
    level: Level = "info"
    word, text = "No clear difference", "A linear probe reads the answer about as often as the model says it."
    if isinstance(gap, Estimate) and gap.low > 0:
        word, text = "A probe reads more", "A linear probe reads the answer from the state more often than is read out."
        if isinstance(gamma, Estimate) and gamma.low > 0:
            level, word = "bad", "The state holds more than is read"
            text += " The gap is clearly larger than under the reference."
    elif isinstance(gap, Estimate) and gap.high < 0:
        word, text = "A probe reads less", "A linear probe is right less often, so it says little of the state."
    names = (("native", "native"), ("probe", "probe"), ("gap", "gap"), ("gamma", "gap beyond the reference"))
    shown = tuple((told, cell(row[name])) for name, told in names if isinstance(row[name], Estimate))
    return Verdict(str(row["condition"]), level, word, text, shown)


def _rows(frame: pd.DataFrame, dataset: str) -> pd.DataFrame:
    own = frame.loc[(frame["role"] == STUDY).to_numpy()]
    rows = own[["presentation", "condition", "k", "gold_slot", "pred_slot", "correct", "gold_logprob", "native_slot"]]
    readout = "probe trained on " + own["trained_on"].astype(str)
    return rows.assign(dataset=dataset, item=own["item_id"], readout=readout)
