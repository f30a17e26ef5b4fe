"""The rows of a training as the same model with random weights reads them.

What a probe finds there is what the architecture and the tokens alone give away. Knows no probe.
"""

from __future__ import annotations

from dataclasses import replace

from omegaconf import OmegaConf

from probes.capture_run import wanted_states
from probes.captured import Captured
from probes.captures import Captures
from probes.part import Part
from probes.reader import read_from, reader_of
from probes.runs import Run
from thinkgap.data import load_dataset_items
from thinkgap.errors import ConfigError
from thinkgap.parallel import ALONE, World
from thinkgap.schema import EvaluateConfig, EvaluationConfig, LoggerConfig, ModelConfig, TrainConfig


def with_random_weights(
    cfg: TrainConfig, captured: Captured, seed: int, world: World = ALONE
) -> tuple[Part, Part, Part]:
    """The same rows with the state `probe.state` of `model.random_weights=seed`; found again as any capture is.

    Args:
        cfg: the training; its model gives the architecture.
        captured: of the trained weights.
        seed: of the random ones.
        world: the processes of this training.

    Returns:
        Fit, select and test, with this one state.

    Raises:
        ThinkgapError: a model that cannot be loaded so, or is another one than that of a given run, or a data set of a
            given run that is not at hand.
    """
    model = replace(cfg.model, random_weights=seed)
    captures = Captures(world=world)
    again: dict[str, Run] = {}
    for run in {str(run.folder): run for part in captured.parts for run in reader_of(part).runs}.values():
        asked = _asked(cfg, run, model)
        items = load_dataset_items(asked.dataset).items
        again[str(run.folder)] = captures.get(asked, items)
        _require_architecture(cfg, run, again[str(run.folder)])

    def read(part: Part) -> Part:
        found = read_from(part, [again[str(run.folder)] for run in reader_of(part).runs])
        return replace(found, names=(cfg.probe.state,))

    return read(captured.fit), read(captured.select), read(captured.test)


def _require_architecture(cfg: TrainConfig, run: Run, random: Run) -> None:
    """Refuse random weights of another model than the one that a given run is of."""
    for key in ("class", "vocab_size"):
        own, other = run.manifest["model"].get(key), random.manifest["model"].get(key)
        if own != other:
            raise ConfigError(
                f"probe.controls.random_weights: {run.folder} is of another model than model={cfg.model.name} ({key}: "
                f"{own} there, {other} here): give that run's model, or set probe.controls.random_weights=false"
            )


def _asked(cfg: TrainConfig, run: Run, model: ModelConfig) -> EvaluateConfig:
    """The evaluation that `run` was, so far as it made rows and the state that is read, with another model."""
    stored = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(EvaluateConfig), run.manifest["config"]))
    assert isinstance(stored, EvaluateConfig)
    orders = replace(stored.evaluation.permutation, label_sets=[], factorial=0)
    evaluation = EvaluationConfig(
        permutations=stored.evaluation.permutations,
        permutation=orders,
        capture=wanted_states([cfg.probe.state], cfg.probe.state),
    )
    return replace(
        stored,
        model=model,
        evaluation=evaluation,
        trainer=cfg.trainer,
        logger=LoggerConfig(enabled=False),
        paths=cfg.paths,
        scoring=cfg.scoring,
    )
