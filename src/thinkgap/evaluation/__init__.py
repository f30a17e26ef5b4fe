"""The jobs of `evaluate.py`, each a plain function of a typed config."""

from __future__ import annotations

from pathlib import Path

from thinkgap.errors import ConfigError
from thinkgap.parallel import ALONE, World
from thinkgap.schema import BackendKind, EvaluateConfig, EvaluationKind


def evaluate(cfg: EvaluateConfig, folder: Path, group: str | None = None, world: World = ALONE) -> None:
    """Run the evaluation that `cfg.evaluation.kind` names.

    Args:
        cfg: the composed config.
        folder: the run's folder; a folder that holds an unfinished run of the same settings is resumed.
        group: W&B group shared by the jobs of a sweep.
        world: the processes that work on it.

    Raises:
        ThinkgapError: anything the user can act on.
    """
    if cfg.evaluation.kind is EvaluationKind.prompts:
        from thinkgap.evaluation.show import show_prompts

        if world.is_first:
            show_prompts(cfg)
        return
    local = cfg.responses is None and cfg.model.backend is not BackendKind.api
    if cfg.evaluation.kind is EvaluationKind.no_thinking and not (cfg.evaluation.estimate and local):
        from thinkgap.evaluation.no_thinking import run_no_thinking

        if world.size > 1:
            raise ConfigError("evaluation=no_thinking runs in one process: set trainer.devices=1, without torchrun")
        run_no_thinking(cfg, folder, group)
        return
    if cfg.evaluation.kind is not EvaluationKind.no_thinking and (cfg.datasets or cfg.responses is not None):
        raise ConfigError(
            "several data sets in one run, and responses=FILE, are for evaluation=no_thinking; for others "
            "sweep with -m dataset=a,b"
        )
    if cfg.evaluation.estimate:
        from thinkgap.evaluation.estimate import print_estimate

        if world.is_first:
            print_estimate(cfg)
        return
    from thinkgap.evaluation.native import run_native

    run_native(cfg, folder, group, world=world)
