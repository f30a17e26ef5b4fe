"""What finished runs have in W&B: their figures and curves by name, and the W&B runs in their folders.

Figures come from what is on disk, through the functions that logged them. Knows no panel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probes.mirror import headline_summary
from probes.predictions import PREDICTIONS_FILE
from probes.tables import report_of_probes
from thinkgap.errors import ConfigError
from thinkgap.frames.folders import check_run
from thinkgap.nothinking.run_sheets import nothinking_sheets
from thinkgap.nothinking.store import RESPONSES_FILE
from thinkgap.readouts.report import report_of_run
from thinkgap.tracking.figures import Curve, curves_of, native_figures, response_figures


@dataclass(frozen=True)
class Logged:
    """One finished run."""

    folder: Path
    project: str
    entity: str | None
    figures: tuple[str, ...]
    """Names of its summary figures."""
    curves: tuple[Curve, ...]
    offline: tuple[Path, ...]
    """W&B runs in its folder that were kept offline."""
    has_wandb: bool
    """Whether W&B followed it at all."""


@dataclass(frozen=True)
class Names:
    """What the panels of several runs can show: every name that any of them has, in order of appearance."""

    figures: tuple[str, ...]
    curves: tuple[tuple[str, str, tuple[str, ...]], ...]
    """Per chart its title, the key of its axis, and the keys of its lines."""


def logged_run(folder: Path) -> Logged:
    """What the run in `folder` has in W&B.

    Raises:
        ThinkgapError: no finished run, or a damaged one.
    """
    manifest = check_run(folder)
    curves: Sequence[Curve] = ()
    if (folder / RESPONSES_FILE).exists():
        figures: dict[str, Any] = dict(response_figures(nothinking_sheets(folder)))
    elif (folder / PREDICTIONS_FILE).exists():
        report = report_of_probes(folder)
        figures = {
            name: one for name, one in headline_summary(report.sheets[0]).items() if isinstance(one, int | float)
        }
        curves = curves_of(report.charts)
    else:
        native = report_of_run(folder)
        figures, curves = dict(native_figures(native)), curves_of(native.charts)
    settings = (manifest.get("config") or {}).get("logger") or {}
    kept = sorted((folder / "wandb").glob("*run-*"))
    return Logged(
        folder,
        str(settings.get("project") or "thinkgap"),
        settings.get("entity"),
        tuple(figures),
        tuple(curves),
        tuple(one for one in kept if one.name.startswith("offline-")),
        bool(kept),
    )


def names_of(runs: Iterable[Logged]) -> Names:
    """The names of all runs together."""
    figures: dict[str, None] = {}
    curves: dict[str, tuple[str, dict[str, None]]] = {}
    for run in runs:
        figures |= dict.fromkeys(run.figures)
        for curve in run.curves:
            keys = curves.setdefault(curve.name, (curve.axis, {}))[1]
            keys |= dict.fromkeys(map(curve.key, curve.series))
    return Names(tuple(figures), tuple((name, axis, tuple(keys)) for name, (axis, keys) in curves.items()))


def project_of(runs: Sequence[Logged], asked: str) -> tuple[str, str]:
    """Entity and project that the panels are for.

    Args:
        runs: finished runs.
        asked: `entity/project`, `project`, or empty for that of the runs.

    Raises:
        ConfigError: runs of several projects, or no entity is known.
    """
    entity, _, project = asked.rpartition("/")
    projects = sorted({run.project for run in runs})
    if not project and len(projects) > 1:
        raise ConfigError(f"the runs are of several W&B projects ({', '.join(projects)}): give project=ENTITY/NAME")
    entities = sorted({run.entity for run in runs if run.entity})
    if not entity and len(entities) == 1:
        entity = entities[0]
    return entity, project or projects[0]
