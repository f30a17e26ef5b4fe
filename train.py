"""Train heads on hidden states at the read position, under Direct and under triggers: `python train.py --help`."""

from __future__ import annotations

import logging
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import CompactHydraException
from hydra.types import RunMode
from omegaconf import DictConfig

from thinkgap import cli, schema
from thinkgap.errors import ThinkgapError


@hydra.main(version_base="1.3", config_path="conf", config_name="train")
def main(cfg: DictConfig) -> None:
    """Compose, convert to typed dataclasses, and call the library."""
    from probes import train
    from thinkgap.tracking.console import setup_logging

    setup_logging()
    job = HydraConfig.get()
    sweep = Path(job.sweep.dir).name if job.mode is RunMode.MULTIRUN else None
    try:
        config = cli.typed(cfg, schema.TrainConfig)
        train(config, Path(job.runtime.output_dir), sweep)
    except ThinkgapError as error:
        logging.getLogger("train").error("%s", error)  # into the job's own log as well
        if sweep is None:
            raise SystemExit(1) from None
        # Hydra lets the other jobs of a sweep run, and then repeats this message alone.
        raise CompactHydraException(str(error)) from None


if __name__ == "__main__":
    schema.register()
    cli.rewrite_argv(schema.TrainConfig)
    main()
