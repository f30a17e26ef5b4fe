"""Where linear probes get their rows and states from: the parts fit, select and test of a training.

Puts together what pools, runs and leakage say, and refuses what does not belong together. Knows no probe and no figure.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from probes.capture_run import TEXT_ONLY
from probes.head_rows import HeadRows, read_head_rows
from probes.leakage import without_shared
from probes.part import Part
from probes.pools import FilledPool, RoleItems, deal, fill_pools, open_pools
from probes.prompt_hash import facts_hash, prompt_facts
from probes.reader import take_part
from probes.roles import find_pools
from probes.runs import Run
from probes.splits import ROLES
from probes.together import (
    assert_apart,
    check_probe,
    common_conditions,
    require_alike,
    require_conditions,
    require_enough,
    state_names,
)
from thinkgap.parallel import ALONE, World
from thinkgap.presentation_names import CONTROL, is_order
from thinkgap.prompts.conditions import all_conditions
from thinkgap.schema import ModeConfig, SharedItems, TrainConfig
from thinkgap.store.atomic import write_text

log = logging.getLogger(__name__)


class _Asked(NamedTuple):
    item_id: str
    group_id: str


@dataclass(frozen=True)
class SplitCounts:
    """What a role holds, for the manifest."""

    source: str
    """Splits, or the folder of a run."""
    items: int
    groups: int
    rows: int
    gold_slots: Mapping[int, int]
    """Slot -> rows whose right content stands there."""


@dataclass(frozen=True)
class Captured:
    """All that probes are fitted, chosen and tested on."""

    fit: Part
    select: Part
    test: Part
    text_only: tuple[Part, Part, Part] | None
    """Fit, select and test items that have images, shown without them; None if not asked for or not to be had."""
    head_rows: HeadRows | None
    """The model's own rows for labels; None if they were not kept."""
    conditions: tuple[Mapping[str, Any], ...]
    """As a manifest describes them, Direct first."""
    model: Mapping[str, Any]
    """As a manifest describes it."""
    prompt_hash: Mapping[str, str]
    """Condition -> SHA-256 of its text and place, the prompt settings and the label tokens; of no item."""
    manifests: Mapping[str, Mapping[str, Any]]
    """Folder of a run -> its manifest."""
    notes: tuple[str, ...]
    dropped: Mapping[str, Mapping[str, str]]
    """Role -> item that was left out -> what it shares with whom."""
    splits: Mapping[str, SplitCounts]
    """By role."""

    @property
    def parts(self) -> tuple[Part, Part, Part]:
        """Fit, select, test."""
        return self.fit, self.select, self.test


def parts(cfg: TrainConfig, world: World = ALONE) -> Captured:
    """Find or compute what a training of linear probes reads, share it out, and check that it belongs together.

    Args:
        cfg: the training.
        world: the processes of this training.

    Raises:
        ThinkgapError: settings, data, runs or a model that cannot be used, items that two roles share, or too few.
    """
    check_probe(cfg.probe)
    pools = find_pools(cfg)
    if any(pool.source.folder is None for pool in pools):
        # Known before the model reads anything.
        require_conditions(cfg.probe, [one.name for one in all_conditions(cfg.trigger, ModeConfig(), cfg.prompt)])
    opened = open_pools(cfg, pools)
    _refuse_shared(cfg, opened)
    filled = fill_pools(cfg, opened, world)
    dealt = deal(cfg, filled)
    runs = list({run.folder: run for role in ROLES for run in dealt[role].runs}.values())
    require_alike(runs)
    # Where the model reads, its conditions and states are those of the settings.
    lead = next((one.runs[0] for one in filled if one.pool.source.folder is None), runs[0])
    conditions, notes = common_conditions(cfg.probe, lead, runs)
    notes += unread_notes(filled)
    names = state_names(cfg.probe, lead, runs)
    dealt, dropped = _without_shared(cfg, dealt, notes)
    if any(items is None for one in filled for items in one.items):
        notes.append("Images and wording of some items were not compared between roles: a data set is not here.")
    made = _take(dealt, is_order, conditions, names)
    require_enough(made)
    assert_apart(made, conditions)
    head_rows = [one for run in runs if (one := read_head_rows(run.folder)) is not None]
    if not head_rows:
        notes.append("The model's own rows for labels were not kept beside these runs.")
    text_only = _text_only(dealt, conditions, names, notes) if cfg.probe.controls.text_only else None
    tested = dealt["test"].runs[0].manifest
    return Captured(
        fit=made["fit"],
        select=made["select"],
        test=made["test"],
        text_only=text_only,
        # Of several, the one of the most options.
        head_rows=max(head_rows, key=lambda one: len(one.token_ids), default=None),
        conditions=tuple(one for name in conditions for one in tested["conditions"] if one["name"] == name),
        model=tested["model"],
        prompt_hash={name: _prompt_hash(name, runs) for name in conditions},
        manifests={str(run.folder): run.manifest for run in runs},
        notes=tuple(notes),
        dropped=dropped,
        splits={role: _counts(str(pool.source), made[role]) for pool in pools for role in pool.roles},
    )


def _take(
    dealt: Mapping[str, RoleItems], shown: Callable[[str], bool], conditions: Sequence[str], names: Sequence[str]
) -> dict[str, Part]:
    return {role: take_part(role, dealt[role].runs, dealt[role].groups, shown, conditions, names) for role in ROLES}


def _without_shared(
    cfg: TrainConfig, dealt: Mapping[str, RoleItems], notes: list[str]
) -> tuple[dict[str, RoleItems], dict[str, dict[str, str]]]:
    """The roles' items without those that may not be used, which ones these are, and a note for each role."""
    asked = _asked(dealt)
    dropped = without_shared(asked, {role: dealt[role].items for role in ROLES}, cfg.probe.shared)
    left: dict[str, RoleItems] = {}
    for role in ROLES:
        gone = dropped.get(role, {})
        groups = tuple({item: of[item] for item in of if item not in gone} for of in dealt[role].groups)
        left[role] = replace(dealt[role], groups=groups)
        if gone:
            reasons = ", ".join(f"{count} by {reason}" for reason, count in Counter(gone.values()).items())
            notes.append(f"{len(gone)} of {len(asked[role])} {role} items were left out: {reasons}.")
            log.warning("%s All are in the manifest", notes[-1])
    return left, dropped


def _refuse_shared(cfg: TrainConfig, opened: list[FilledPool]) -> None:
    """Refuse what roles share before the model reads anything, if it is to be refused."""
    if cfg.probe.shared is SharedItems.refuse:
        dealt = deal(cfg, opened)
        without_shared(_asked(dealt), {role: dealt[role].items for role in ROLES}, cfg.probe.shared)


def _asked(dealt: Mapping[str, RoleItems]) -> dict[str, list[_Asked]]:
    return {
        role: [_Asked(item, group) for groups in dealt[role].groups for item, group in groups.items()] for role in ROLES
    }


def _text_only(
    dealt: Mapping[str, RoleItems], conditions: Sequence[str], names: Sequence[str], notes: list[str]
) -> tuple[Part, Part, Part] | None:
    """The items that have images, without them; None, and a note, if a role has none or too few of them."""
    made = _take(dealt, lambda presentation: presentation == f"{CONTROL}{TEXT_ONLY}", conditions, names)
    few = [role for role, part in made.items() if not len(part)]
    if not few and made["fit"].n_questions < int(made["fit"].k.max()):
        few = ["fit"]
    if few:
        notes.append(f"No probe reads prompts without their images: too few {few[0]} items are shown so.")
        return None
    return made["fit"], made["select"], made["test"]


def _prompt_hash(condition: str, runs: Sequence[Run]) -> str:
    """Digest of all that a condition's prompts have in common; label tokens are those of all runs, by label."""
    told = [prompt_facts(run.manifest, condition) for run in runs]
    label_ids = {label: ids for one in told for label, ids in one["label_ids"].items()}
    return facts_hash({**told[0], "label_ids": label_ids})


def unread_notes(filled: Sequence[FilledPool]) -> list[str]:
    """How many items of each pool the model could not read, the first of them, and why: no role has them."""
    notes = []
    for one in filled:
        gone = [item for run in one.runs for item in run.manifest.get("excluded") or ()]
        if gone:
            notes.append(
                f"{len(gone)} items of {one.pool.source} could not be read and are in no role (the first is "
                f"{gone[0]['item']}: {gone[0]['reason']})."
            )
    return notes


def _counts(source: str, part: Part) -> SplitCounts:
    slots = dict(sorted(Counter(part.gold.tolist()).items()))
    return SplitCounts(source, part.n_questions, len(set(part.group_id.tolist())), len(part), slots)


def write_roles(folder: Path, made: Sequence[Part]) -> None:
    """`roles.csv`: which item had which role, so that splits that were shared out can be had again elsewhere.

    Args:
        folder: of the training, which must be known to be this one's: what is there is replaced.
        made: its parts.

    Raises:
        StoreError: the folder cannot be written.
    """
    frames = [
        pd.DataFrame({"role": part.role, "item_id": part.item_id, "group_id": part.group_id}).drop_duplicates()
        for part in made
    ]
    write_text(folder / "roles.csv", pd.concat(frames).to_csv(index=False))
