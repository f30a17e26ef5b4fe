"""What is refused of the settings of a run before anything is computed. Knows no data set and no prompt of an item."""

from __future__ import annotations

from dataclasses import asdict
from operator import attrgetter

from thinkgap.errors import ConfigError
from thinkgap.evaluation.describe import refuse_control
from thinkgap.parallel import ALONE, World
from thinkgap.prompts.build import PromptBuilder
from thinkgap.schema import BackendKind, EvaluateConfig, EvaluationConfig, Scoring, VocabularyConfig


def check_settings(cfg: EvaluateConfig, world: World = ALONE) -> None:
    """Refuse settings that make no sense on their own, or not in several processes.

    Args:
        cfg: the settings.
        world: the processes of the run.

    Raises:
        ConfigError: the first of them, by name.
    """
    if cfg.model.backend is BackendKind.vllm:
        _check_vllm(cfg, world)
    elif cfg.model.backend is not BackendKind.hf:
        raise ConfigError(
            f"model={cfg.model.name} is served: label log-probabilities at a read position are not available from it. "
            "Choose a local model, or evaluation=prompts to see what would be sent"
        )
    _check_processes(cfg, world)
    for name, least in (
        ("batch_size", 1),
        ("batch_tokens", 1),
        ("permutations", 1),
        ("verify", 0),
        ("top_k", 0),
        ("draws", 100),
        ("generation.max_new_tokens", 1),
        ("generation.batch_size", 1),
    ):
        if (value := attrgetter(name)(cfg.evaluation)) is not None and value < least:
            raise ConfigError(f"evaluation.{name}={value}: must be at least {least}")
    for name, value in asdict(cfg.evaluation.verdict).items():
        if not 0 <= value <= 1:
            raise ConfigError(f"evaluation.verdict.{name}={value}: must lie between 0 and 1")
    share = cfg.evaluation.permutation.prior_share
    if not 0 < share < 1:
        raise ConfigError(f"evaluation.permutation.prior_share={share}: must lie between 0 and 1")
    if cfg.evaluation.capture.enabled and not cfg.evaluation.reuse:
        raise ConfigError("evaluation.capture.enabled=true keeps states with the cells: set evaluation.reuse=true")
    if cfg.model.max_length is not None and cfg.model.max_length < 1:
        raise ConfigError(f"model.max_length={cfg.model.max_length}: must be at least 1")
    _check_words(cfg.evaluation.vocabulary)
    if cfg.evaluation.generation.aligned and not cfg.evaluation.generation.cue.strip():
        raise ConfigError("evaluation.generation.cue is empty: give one, or set evaluation.generation.aligned=false")


def _check_vllm(cfg: EvaluateConfig, world: World) -> None:
    """Refuse what cannot be read where another program tells log-probabilities of chosen ids and no more."""
    asked = cfg.evaluation
    for name, given in (
        ("evaluation.capture.enabled", asked.capture.enabled),
        ("evaluation.lens", asked.lens),
        ("evaluation.likelihood.enabled", asked.likelihood.enabled),
        ("evaluation.generation.enabled", asked.generation.enabled),
    ):
        if given:
            raise ConfigError(
                f"model.backend=vllm reads labels at one position (and replies, with evaluation=no_thinking), so "
                f"{name}=true is not available: set it to false, or model.backend=hf"
            )
    if cfg.scoring not in (Scoring.auto, Scoring.plain):
        raise ConfigError(f"scoring={cfg.scoring.name}: vLLM shares prefixes by itself; leave scoring=auto")
    if world.size > 1:
        raise ConfigError(
            "model.backend=vllm spreads a model over devices by itself (model.vllm.tensor_parallel_size): set "
            "trainer.devices=1, without torchrun"
        )


def _check_processes(cfg: EvaluateConfig, world: World) -> None:
    asked = cfg.trainer.devices * cfg.trainer.num_nodes
    if asked not in (1, world.size):
        raise ConfigError(
            f"trainer.devices={cfg.trainer.devices}, trainer.num_nodes={cfg.trainer.num_nodes}: this run has "
            f"{world.size} processes, not {asked}; evaluate.py starts them, other callers with thinkgap.parallel"
        )
    if world.size == 1:
        return
    for name in ("likelihood", "generation"):
        if getattr(cfg.evaluation, name).enabled:
            raise ConfigError(
                f"evaluation.{name}.enabled=true is read in one process, not in {world.size}: run first with "
                f"evaluation.{name}.enabled=false, then in another folder and one process (trainer.devices=1, no "
                "torchrun) with it; cells that are finished are not computed again"
            )
    if cfg.model.device_map not in (None, "cpu"):
        raise ConfigError(
            "model.device_map spreads one model over devices, and each of several processes has a device of its own: "
            "set model.device_map=null, or trainer.devices=1 without torchrun"
        )


def _check_words(words: VocabularyConfig) -> None:
    if not words.reasoning:
        raise ConfigError("evaluation.vocabulary.reasoning is empty, so there is no reasoning mass: give some words")
    if not all(word.strip() for word in words.reasoning):
        raise ConfigError("evaluation.vocabulary.reasoning holds an empty word: take it out")
    unknown = [word for word in words.ambiguous if word not in words.reasoning]
    if unknown:
        raise ConfigError(
            f"evaluation.vocabulary.ambiguous names {unknown[0]!r}, which is not in evaluation.vocabulary.reasoning: "
            "it says which of those words open an answer as well"
        )


def check_texts(cfg: EvaluationConfig, builder: PromptBuilder) -> None:
    """Refuse texts that are put into prompts and spell out a control token of the model.

    Args:
        cfg: the settings.
        builder: for the model's tokens.

    Raises:
        ConfigError: one does.
    """
    if cfg.likelihood.enabled:
        refuse_control(builder, cfg.likelihood.premise, "evaluation.likelihood.premise")
    if cfg.generation.enabled and cfg.generation.aligned:
        refuse_control(builder, cfg.generation.joiner + cfg.generation.cue, "evaluation.generation.cue or .joiner")
