"""What a finished run of linear probes leaves behind: predictions, fits, probes with cards, tables, manifest, W&B.

Everything printed is made again from what is on disk. Knows no solver.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from torch import Tensor

from probes.artefacts import probe_folder, save_probe
from probes.captured import Captured
from probes.card import Figure, Split, make_card
from probes.directions import direction_cosines
from probes.figures import accuracy
from probes.fits_file import Fits, place_fits, write_fits
from probes.heads import Fitted, Place
from probes.mirror import mirror
from probes.part import Part
from probes.predict import fixed_probe, predict
from probes.predictions import BEST, STUDY, Predictions, Probed, read_predictions, write_predictions
from probes.reader import reader_of
from probes.tables import PRINTED, REPORT_FILE, ProbeReport, report_markdown, report_of_probes, write_report
from thinkgap.presentation_names import IDENTITY
from thinkgap.schema import TrainConfig
from thinkgap.store.manifest import MANIFEST_FILE, collect_manifest, read_manifest, write_manifest
from thinkgap.tracking.wandb_run import WandbTracker
from thinkgap.types import LETTERS

_FINAL = "final_norm"
"""The state that the model's own head reads."""


@dataclass(frozen=True)
class Finished:
    """All that was fitted."""

    captured: Captured
    fitted: Mapping[Place, Fitted]
    best: Mapping[str, Place]
    """Condition -> place that was chosen on the selection split."""


def report_linear(
    cfg: TrainConfig, finished: Finished, folder: Path, tracker: WandbTracker, started: datetime
) -> ProbeReport:
    """Test, write and print; returns what was printed.

    Args:
        cfg: the settings.
        finished: what was fitted.
        folder: of the run.
        tracker: W&B.
        started: when the run was.
    """
    captured = finished.captured
    tables = [predict(captured.test, finished.fitted, cfg.probe.state, finished.best), *_fixed(cfg, captured)]
    write_predictions(folder, tables)
    write_fits(folder, _fits(cfg, finished))
    found = read_predictions(folder)
    for condition, place in finished.best.items():
        for role, where in ((STUDY, Place(condition, cfg.probe.state)), (BEST, place)):
            if where in finished.fitted:
                _save(cfg, finished, found, where, role, folder)
    stored = read_manifest(folder) if (folder / MANIFEST_FILE).exists() else {}
    if not stored.get("finished"):
        write_manifest(folder, collect_manifest(_facts(cfg, finished), started=started, finished=datetime.now(UTC)))
    report = report_of_probes(folder)
    picture = write_report(folder, report)
    print(report_markdown(report, PRINTED))
    print(f"all {len(report.sheets)} tables: {folder / REPORT_FILE}; predictions, probes and manifest: {folder}")
    mirror(tracker, report, picture)
    return report


def _fixed(cfg: TrainConfig, captured: Captured) -> list[pa.Table]:
    """The model's own label rows under the first condition as a probe that nobody fitted."""
    rows, source = captured.head_rows, captured.fit.conditions[0]
    if cfg.probe.state != _FINAL or rows is None:
        return []
    matrix = rows.matrix(source)
    if matrix is None:
        return []
    return [fixed_probe(captured.test, _FINAL, matrix, rows.bias_of(source), source)]


def _fits(cfg: TrainConfig, finished: Finished) -> Fits:
    captured, state = finished.captured, cfg.probe.state
    own = {place.condition: one.probe for place, one in finished.fitted.items() if place.state == state}
    rows: dict[str, Tensor] = {}
    if state == _FINAL and captured.head_rows is not None:
        matrices = {name: captured.head_rows.matrix(name) for name in own}
        rows = {name: matrix for name, matrix in matrices.items() if matrix is not None}
    test = captured.splits["test"]
    solver = cfg.probe.solver.name
    read = _config_of(captured.test)
    title = (
        f"{read['model']['name']} on {read['dataset']['name']} ({test.source}), {test.items:,} items, "
        f"placement={read['trigger']['placement']}, linear probes by {solver}"
    )
    return Fits(
        place_fits(finished.fitted),
        captured.fit.conditions,
        captured.fit.names,
        state,
        finished.best,
        title,
        captured.fit.conditions[0],
        cfg.probe.draws,
        cfg.seed,
        direction_cosines(own, rows or None),
        (_trained_on(captured), *captured.notes, *_no_label_rows(captured)),
    )


def _no_label_rows(captured: Captured) -> list[str]:
    """Why the tables of fixed rows and of cosines have none of a condition's label rows, one note to a reason."""
    rows = captured.head_rows
    reasons = {} if rows is None else {name: rows.reason(name) for name in captured.fit.conditions}
    told = dict.fromkeys(reason for reason in reasons.values() if reason is not None)
    return [f"No label rows of {', '.join(name for name in reasons if reasons[name] == why)}: {why}." for why in told]


def _trained_on(captured: Captured) -> str:
    fit, select = captured.splits["fit"], captured.splits["select"]
    return (
        f"Fitted on {fit.items:,} items of {fit.source} ({len(captured.fit):,} rows), chosen on {select.items:,} of "
        f"{select.source}."
    )


def _config_of(part: Part) -> Mapping[str, Any]:
    """Settings of the run that a part is of, which those of the training need not be where the run was given."""
    return reader_of(part).runs[0].manifest["config"]


def _save(cfg: TrainConfig, finished: Finished, found: Predictions, place: Place, role: str, folder: Path) -> None:
    captured, one = finished.captured, finished.fitted[place]
    shown = found.shown(IDENTITY)
    slots = shown.probes[Probed(place.condition, place.condition, role, place.state)]
    right = {"probe accuracy": slots, "native accuracy": shown.native[place.condition]}
    d, k = one.probe.weight.shape
    card = make_card(
        _manifest_of(captured),
        place,
        role=role,
        labels=_labels(captured, place.condition, k),
        d=d,
        bias=cfg.probe.bias,
        dataset=", ".join(dict.fromkeys(_config_of(part)["dataset"]["name"] for part in captured.parts)),
        splits=[
            Split(part.role, captured.splits[part.role].source, part.n_questions, len(part)) for part in captured.parts
        ],
        solver=cfg.probe.solver.name,
        setting=one.setting.name,
        seed=cfg.seed,
        figures=[Figure.of(name, accuracy(shown, values)) for name, values in right.items()],
    )
    save_probe(probe_folder(folder, place.condition, role), one.probe, card)


def _manifest_of(captured: Captured) -> Mapping[str, Any]:
    """The manifest of the run whose items have most options, so that its labels are those of every slot."""
    manifests = list(captured.manifests.values())
    # Letters first: a run with rewrites reads further labels.
    labels = [one["conditions"][0]["label_ids"] for one in manifests]
    counts = [(sum(label in LETTERS for label in own), len(own)) for own in labels]
    return manifests[counts.index(max(counts))]


def _labels(captured: Captured, condition: str, k: int) -> list[str]:
    """Labels of the first `k` slots: letters, or the words of yes/no questions as the run gives them."""
    told = {one["name"]: one["label_ids"] for one in _manifest_of(captured)["conditions"]}[condition]
    letters = list(LETTERS[:k])
    return letters if set(letters) <= set(told) else list(told)[:k]


def _facts(cfg: TrainConfig, finished: Finished) -> dict[str, Any]:
    captured = finished.captured
    return {
        "config": dataclasses.asdict(cfg),
        "model": dict(captured.model),
        "conditions": list(captured.conditions),
        "prompt_hash": dict(captured.prompt_hash),
        "features": list(captured.manifests),
        "splits": {role: dataclasses.asdict(counts) for role, counts in captured.splits.items()},
        "dropped": {role: dict(items) for role, items in captured.dropped.items()},
        "notes": list(captured.notes),
    }
