"""Heads on the hidden states at the read position: fits, controls and transfer.

They are trained on states that a scoring pass wrote; no forward pass through the model's layers happens while one is
trained.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from thinkgap.errors import ConfigError
from thinkgap.parallel import ALONE, World
from thinkgap.schema import ProbeKind, TrainConfig

if TYPE_CHECKING:
    from probes.artefacts import SavedProbe


def train(cfg: TrainConfig, folder: Path, group: str | None = None, world: World = ALONE) -> None:
    """Train what `cfg.probe.kind` names.

    Args:
        cfg: the composed config.
        folder: the run's folder; a folder that holds an unfinished run of the same settings is resumed.
        group: W&B group shared by the jobs of a sweep.
        world: the processes that work on it.

    Raises:
        ThinkgapError: anything the user can act on.
    """
    match cfg.probe.kind:
        case ProbeKind.linear:
            from probes.linear import run_linear

            run_linear(cfg, folder, group, world)
        case ProbeKind.lm_head_lora:
            from probes.lm_head_lora import run_lm_head_lora

            if world.size > 1 and cfg.trainer.devices == cfg.trainer.num_nodes == 1:
                raise ConfigError("probe=lm_head_lora trains heads in one process: start it without torchrun")
            run_lm_head_lora(cfg, folder, group)


def load(path: Path | str) -> SavedProbe:
    """A linear probe that a training saved, ready for use on states; see docs/probe_artefacts.md.

    Args:
        path: its folder, `RUN/probes/CONDITION/study` or `.../best`.

    Raises:
        ThinkgapError: no probe's folder, one that another version wrote, or a damaged one.
    """
    # Torch and pandas take seconds to import.
    from probes.artefacts import load_probe

    return load_probe(path)
