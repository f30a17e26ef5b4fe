"""What is refused before a probe is fitted: settings that make no sense, runs that differ, roles with too few items.

Looks at manifests and rows. Knows no state and no probe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from probes.capture_run import wanted_states
from probes.compare import require_model, require_same_prompts
from probes.part import Part
from probes.runs import Run, require_states
from probes.splits import check_shares
from thinkgap.errors import ConfigError, DataError, StoreError, nearest
from thinkgap.presentation_names import IDENTITY
from thinkgap.schema import ProbeConfig


def check_probe(probe: ProbeConfig) -> None:
    """Refuse settings of what is read that make no sense on their own.

    Raises:
        ConfigError: the first of them, by name.
    """
    for name in ("permutations", "examples", "select_examples"):
        if (value := getattr(probe, name)) is not None and value < 1:
            raise ConfigError(f"probe.{name}={value}: must be at least 1")
    if probe.conditions is not None and not probe.conditions:
        raise ConfigError("probe.conditions is empty: name conditions, or null for all")
    check_shares(probe.shares, ())  # as they are written; who shares is not known yet
    wanted_states(probe.states, probe.state)


def require_alike(runs: Sequence[Run]) -> None:
    """Require that runs are of one model, and of one prompt under one condition's name.

    Raises:
        StoreError: the first field that differs.
    """
    for place, run in enumerate(runs):
        for other in runs[:place]:
            name = run.manifest["config"]["model"]["name"]
            require_model(name, run.manifest["model"], other.folder, other.manifest["model"])
            require_same_prompts(other.folder, other.manifest, run.folder, run.manifest)


def common_conditions(probe: ProbeConfig, lead: Run, runs: Sequence[Run]) -> tuple[list[str], list[str]]:
    """Conditions of a training: those of one of its runs, which all others must have.

    Args:
        probe: which of them get a probe.
        lead: the run.
        runs: all of them.

    Returns:
        Conditions in order, and notes on those of other runs that are left out.

    Raises:
        StoreError: a run lacks one.
        ConfigError: `probe.conditions` names one that is not there.
    """
    conditions = [one["name"] for one in lead.manifest["conditions"]]
    notes = []
    for run in runs:
        own = [one["name"] for one in run.manifest["conditions"]]
        if missing := [name for name in conditions if name not in own]:
            raise StoreError(
                f"{run.folder} has no condition {missing[0]} (it has {', '.join(own)}), and {lead.folder} has: give "
                "runs of the same conditions, or choose them with trigger=..."
            )
        if others := [name for name in own if name not in conditions]:
            notes.append(
                f"Conditions {', '.join(others)} of {run.folder} are not used: {lead.folder} has none of them."
            )
    require_conditions(probe, conditions)
    return conditions, notes


def require_conditions(probe: ProbeConfig, conditions: Sequence[str]) -> None:
    """Require that conditions that get a probe are among `conditions`.

    Raises:
        ConfigError: the first that is not.
    """
    for name in probe.conditions or ():
        if name not in conditions:
            raise ConfigError(f"probe.conditions: '{name}' is no condition of this training{nearest(name, conditions)}")


def state_names(probe: ProbeConfig, lead: Run, runs: Sequence[Run]) -> list[str]:
    """States that a training reads, from the first layer to the last: those named, or all of one of its runs.

    Raises:
        StoreError: a run lacks one, or has states of another width.
    """
    asked = lead.states if probe.states is None else tuple(dict.fromkeys(probe.states))
    wanted = dict.fromkeys((*asked, probe.state))
    require_states([lead, *runs], list(wanted))
    return [name for name in lead.states if name in wanted]


def require_enough(parts: Mapping[str, Part]) -> None:
    """Require that every role has rows in the source's order, and the first more questions than there are classes.

    Raises:
        DataError: which role has how many.
    """
    for role, part in parts.items():
        if IDENTITY not in part.presentation:
            raise DataError(
                f"no {role} item is left in the source's own order of options: name other splits with "
                f"probe.{role}=..., raise probe.shares or the limits (dataset.limit, probe.examples, "
                "probe.select_examples), or give other features"
            )
    fit = parts["fit"]
    n_classes = int(fit.k.max())
    if fit.n_questions < n_classes:
        raise DataError(
            f"{fit.n_questions} fit questions are fewer than the {n_classes} slots that a probe tells apart: read more "
            "with probe.examples=..., probe.fit=... or a larger share in probe.shares"
        )


def assert_apart(parts: Mapping[str, Part], conditions: Sequence[str]) -> None:
    """What holds by construction: a question is in one role, with its group, presentations and conditions."""
    for place, part in enumerate(parts.values()):
        assert list(part.native) == list(conditions)
        assert len(set(zip(part.item_id, part.presentation, strict=True))) == len(part), "a row stands twice"
        for other in list(parts.values())[:place]:
            assert not np.isin(part.item_id, other.item_id).any(), f"{part.role} and {other.role} share an item"
            assert not np.isin(part.group_id, other.group_id).any(), f"{part.role} and {other.role} share a group"
