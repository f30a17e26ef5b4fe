"""Train a demo model from scratch: `python -m thinkgap.demo.train` (`--help` says more).

Entry point: composes the configuration and calls `thinkgap.demo.session`. Nothing heavy is imported before that, so
that `--help` and a refused setting stay quick.
"""

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
from thinkgap.schema import DemoTrainConfig

log = logging.getLogger("thinkgap.demo.train")  # its own name is __main__


@hydra.main(version_base="1.3", config_path=str(cli.CONF), config_name="demo_train")
def main(cfg: DictConfig) -> None:
    """Compose, convert to typed dataclasses, and train."""
    from thinkgap.demo.session import train
    from thinkgap.tracking.console import setup_logging

    setup_logging()
    try:
        train(cli.typed(cfg, DemoTrainConfig), Path(HydraConfig.get().runtime.output_dir))
    except ThinkgapError as error:
        log.error("%s", error)
        if HydraConfig.get().mode is not RunMode.MULTIRUN:
            raise SystemExit(1) from None
        # Hydra lets the other jobs of a sweep run, and then repeats this message alone.
        raise CompactHydraException(str(error)) from None


if __name__ == "__main__":
    schema.register()
    cli.rewrite_argv(DemoTrainConfig)
    main()
