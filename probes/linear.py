"""`probe=linear`: linear probes on stored states, one for each condition and layer, and what controls them.

Orchestration: rows and states are `captured`'s matter, fits `heads`', figures the sheets'.
"""

from __future__ import annotations

from pathlib import Path

from thinkgap.errors import ConfigError
from thinkgap.parallel import ALONE, World
from thinkgap.schema import TrainConfig


def run_linear(cfg: TrainConfig, folder: Path, group: str | None = None, world: World = ALONE) -> None:
    """Fit, select, test and report."""
    raise ConfigError(f"probe.kind={cfg.probe.kind.name}: not there yet ({folder}, {group}, {world.size})")
