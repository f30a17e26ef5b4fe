"""The W&B run of a training. Knows nothing of what is trained."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path

from thinkgap.parallel import ALONE, World
from thinkgap.schema import TrainConfig
from thinkgap.store.redact import plain
from thinkgap.tracking.wandb_run import WandbTracker, wandb_run


@contextlib.contextmanager
def tracked(
    cfg: TrainConfig, folder: Path, group: str | None, tag: str, world: World = ALONE
) -> Iterator[WandbTracker]:
    """A W&B run in the first process, nothing in the others.

    Args:
        cfg: the training.
        folder: of the run.
        group: W&B group.
        tag: beside those of model, data set, kind and conditions.
        world: the processes of the training.
    """
    if not world.is_first:
        yield WandbTracker()
        return
    kind = cfg.probe.kind.name
    with wandb_run(
        cfg.logger,
        config=plain(dataclasses.asdict(cfg)),
        name=f"{kind}-{cfg.model.name}-{folder.name}",
        group=group,
        job_type="probe",
        tags=[cfg.model.name, cfg.dataset.name, kind, tag, *cfg.trigger.conditions],
        folder=folder,
    ) as tracker:
        yield tracker
