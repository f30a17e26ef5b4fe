"""Read benchmark items under Direct and under triggers: `python evaluate.py --help`."""

from __future__ import annotations

import hydra
from omegaconf import DictConfig

from thinkgap import cli, schema


@hydra.main(version_base="1.3", config_path="conf", config_name="evaluate")
def main(cfg: DictConfig) -> None:
    """Compose, convert to typed dataclasses, and call the library."""
    from thinkgap.evaluation import evaluate
    from thinkgap.parallel import in_world
    from thinkgap.tracking.console import setup_logging

    setup_logging()
    cli.run_job(cfg, schema.EvaluateConfig, "evaluate", in_world(evaluate))


if __name__ == "__main__":
    schema.register()
    cli.rewrite_argv(schema.EvaluateConfig)
    main()
