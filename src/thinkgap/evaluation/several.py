"""What the processes of one run do together: agree on the run, join what each did, and require that nothing is missing.

With one process each of these is what that process does alone.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from thinkgap.errors import ConfigError, PromptError, StoreError
from thinkgap.evaluation.predict import Predicted
from thinkgap.evaluation.prepare import Prepared
from thinkgap.parallel import World
from thinkgap.readouts.frames import NATIVE
from thinkgap.schema import EvaluateConfig
from thinkgap.scoring.scorer import Scorer
from thinkgap.scoring.verify import Sample, Verified, joined, verify
from thinkgap.store.run_folder import RunFolder


def silent(cfg: EvaluateConfig) -> EvaluateConfig:
    """The settings of a process that leaves bars and W&B to the first; the bars of libraries are switched off."""
    import datasets
    import transformers

    transformers.utils.logging.disable_progress_bar()
    datasets.disable_progress_bars()
    return replace(cfg, trainer=replace(cfg.trainer, progress=False), logger=replace(cfg.logger, enabled=False))


def check_same(first: Mapping[str, Any], own: Mapping[str, Any], world: World) -> None:
    """Require that this process would give the records that the first one would.

    Args:
        first: fingerprint of the run in the first process.
        own: fingerprint of the run in this one.
        world: the processes.

    Raises:
        ConfigError: they differ in more than the number of the device.
    """
    one, other = (json.loads(json.dumps(fingerprint)) for fingerprint in (first, own))
    for fingerprint in (one, other):
        fingerprint["model"]["device"] = fingerprint["model"]["device"].partition(":")[0]
    different = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
    if different:
        raise ConfigError(
            f"process {world.rank} would score otherwise than the first ({', '.join(different)} differ): all need the "
            "same code, libraries, data, model and kind of device"
        )


def together(world: World, predicted: Predicted) -> Predicted:
    """What all processes did; in each of them, once all have written their shards.

    Raises:
        ProcessError: another process has ended.
    """
    reasons = [(item, str(reason), reason.kind) for item, reason in predicted.excluded.items()]
    parts = world.gathered([reasons, predicted.n_prompts, predicted.n_reused, predicted.seconds])
    excluded = {item: PromptError(reason, kind) for part in parts for item, reason, kind in part[0]}
    _, n_prompts, n_reused, seconds = zip(*parts, strict=True)
    return Predicted(excluded, sum(n_prompts), sum(n_reused), max(seconds))


def require_all(run: RunFolder, prepared: Prepared, excluded: Collection[str], world: World) -> None:
    """Require that the rows of all processes are seen in the folder before they are merged.

    Raises:
        StoreError: some are not.
    """
    if world.size == 1:
        return
    wanted = {(one.item.id, one.name) for one in prepared.presentations if one.item.id not in excluded}
    lost = sorted(wanted - run.finished_items(prepared.names, NATIVE))
    if lost:
        raise StoreError(
            f"{len(lost)} of {len(wanted)} presentations were scored and are not in {run.path}, the first: "
            f"{lost[0][0]} ({lost[0][1]}). All machines must see one folder, and no other run may write there; the "
            "same command scores them again"
        )


def verify_together(engine: Scorer, sample: Sample, world: World) -> Verified | None:
    """Each process checks its part of the sample; the same result in all.

    Raises:
        ProcessError: another process has ended.
    """
    own = verify(engine, sample)
    parts = world.gathered(None if own is None else own.as_dict())
    return joined([None if part is None else Verified.of(part) for part in parts])
