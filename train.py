"""Train heads on hidden states at the read position, under Direct and under triggers: `python train.py --help`."""

from __future__ import annotations

import hydra
from omegaconf import DictConfig

from thinkgap import cli, schema


@hydra.main(version_base="1.3", config_path="conf", config_name="train")
def main(cfg: DictConfig) -> None:
    """Compose, convert to typed dataclasses, and call the library."""
    from probes import train
    from thinkgap.parallel import in_world
    from thinkgap.tracking.console import setup_logging

    setup_logging()
    cli.run_job(cfg, schema.TrainConfig, "train", in_world(train))


if __name__ == "__main__":
    schema.register()
    cli.rewrite_argv(schema.TrainConfig)
    main()
