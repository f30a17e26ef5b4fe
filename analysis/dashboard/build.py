"""A workspace and a report of W&B from sections of panels, and their text as it would be sent. Sends nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import wandb_workspaces.reports.v2.interface as wr
import wandb_workspaces.workspaces.interface as ws
from wandb_workspaces.expr import And, Metric

from analysis.dashboard.panels import Part

_COLUMNS = ("config:model.name", "config:dataset.name", "config:evaluation.kind")
"""Columns of the table of runs that stay in sight."""


def workspace(entity: str, project: str, name: str, group: str, parts: Sequence[Part]) -> ws.Workspace:
    """A saved view of the project with these sections, the first two open.

    Args:
        entity: W&B user or team; may be empty as long as nothing is sent.
        project: W&B project.
        name: of the view.
        group: W&B group, such as a sweep's; empty for all runs of the project.
        parts: the sections.
    """
    sections = [
        ws.Section(name=part.name, panels=[*part.panels], is_open=place < 2) for place, part in enumerate(parts)
    ]
    filters: Any = And(Metric("Group") == group) if group else ""
    return ws.Workspace(
        entity=entity,
        project=project,
        name=name,
        sections=sections,
        settings=ws.WorkspaceSettings(smoothing_weight=0),
        runset_settings=ws.RunsetSettings(filters=filters, pinned_columns=[*_COLUMNS]),
    )


def report(entity: str, project: str, name: str, group: str, parts: Sequence[Part]) -> wr.Report:
    """The same panels under headings, with a sentence each; see `workspace`."""
    filters = f"Group = {group!r}" if group else ""
    blocks: list[Any] = [wr.TableOfContents()]
    for part in parts:
        # Without a project of its own it is the report's; naming one would look it up, which takes a connection.
        runs = wr.Runset(name=group or "all runs", filters=filters)
        blocks += [wr.H2(part.name), wr.P(part.about), wr.PanelGrid(runsets=[runs], panels=[*part.panels])]
    return wr.Report(entity=entity, project=project, title=name, blocks=blocks, width="fluid")


def as_sent(view: ws.Workspace, page: wr.Report) -> str:
    """Both as JSON text, the specs as W&B would get them."""
    views = {"workspace": view._to_model(), "report": page._to_model()}
    specs = {
        name: json.loads(one.spec.model_dump_json(by_alias=True, exclude_none=True)) for name, one in views.items()
    }
    told = {"entity": view.entity, "project": view.project, "name": view.name}
    return json.dumps(told | specs, indent=1, ensure_ascii=False) + "\n"
