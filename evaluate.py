"""Read benchmark items under Direct and under triggers: `python evaluate.py --help`."""

from __future__ import annotations

from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import CompactHydraException
from hydra.types import RunMode
from omegaconf import DictConfig

from thinkgap import cli, schema
from thinkgap.errors import ThinkgapError


@hydra.main(version_base="1.3", config_path="conf", config_name="evaluate")
def main(cfg: DictConfig) -> None:
    """Compose, convert to typed dataclasses, and call the library."""
    from thinkgap.evaluation import evaluate

    job = HydraConfig.get()
    sweep = Path(job.sweep.dir).name if job.mode is RunMode.MULTIRUN else None
    try:
        config = cli.typed(cfg, schema.EvaluateConfig)
        evaluate(config, Path(job.runtime.output_dir), sweep)
    except ThinkgapError as error:
        # Hydra prints this kind as its message alone, and lets the other jobs of a sweep run.
        raise CompactHydraException(str(error)) from None


if __name__ == "__main__":
    schema.register()
    cli.rewrite_argv(schema.EvaluateConfig)
    main()
