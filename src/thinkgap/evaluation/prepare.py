"""Everything before the first forward pass: settings checked, items read, model loaded, prompts tried.

What cannot be honoured is refused here, before anything is computed.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any

from thinkgap.backends.format import TextFormat
from thinkgap.backends.hf import HFBackend
from thinkgap.backends.load import load_backend
from thinkgap.backends.locate import find_checkpoint
from thinkgap.backends.next_token import NextTokenModel
from thinkgap.backends.vllm import load_vllm
from thinkgap.data import LoadedDataset
from thinkgap.errors import ConfigError
from thinkgap.evaluation.asking import tell_rows
from thinkgap.evaluation.describe import describe_conditions, label_warnings
from thinkgap.evaluation.predict import device_of, quiet_libraries
from thinkgap.evaluation.presentations import presentations_of, without_unread
from thinkgap.evaluation.settings import check_settings, check_texts
from thinkgap.evaluation.variants import load_items
from thinkgap.parallel import ALONE, World
from thinkgap.presentation_names import IDENTITY
from thinkgap.prompts.build import PromptBuilder
from thinkgap.prompts.conditions import all_conditions
from thinkgap.schema import BackendKind, CaptureConfig, EvaluateConfig
from thinkgap.scoring.capture import Wanted
from thinkgap.scoring.engine import Engine, tokens_per_pass
from thinkgap.scoring.label_engine import LabelEngine
from thinkgap.scoring.readings import ReadOptions
from thinkgap.scoring.scorer import Model, Scorer
from thinkgap.scoring.vocabulary import ReasoningTokens, reasoning_tokens
from thinkgap.types import Presentation

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Prepared:
    """All that is known before the first forward pass of the run."""

    loaded: LoadedDataset
    items: list[list[Presentation]]
    """Per item, the presentations in which it is shown."""
    engine: Scorer
    builder: PromptBuilder
    described: list[dict[str, Any]]
    referring: tuple[str, ...] = ()
    """Ids of the items in which an option refers to others; left out unless `keep_referring`."""
    unread: dict[str, str] = field(default_factory=dict)
    """Label sets that this tokenizer cannot read one token to a label -> reason."""

    @property
    def backend(self) -> Model:
        """The model."""
        return self.engine.backend

    @property
    def local(self) -> Engine:
        """The engine, for readouts that need the model itself; settings refuse them where another program runs it."""
        assert isinstance(self.engine, Engine)
        return self.engine

    @property
    def presentations(self) -> list[Presentation]:
        """Those of all items."""
        return [presentation for item in self.items for presentation in item]

    @property
    def names(self) -> list[str]:
        """Conditions in order, Direct first."""
        return [condition.name for condition in self.builder.conditions]


def prepare(cfg: EvaluateConfig, backend: HFBackend | None = None, world: World = ALONE) -> Prepared:
    """Check settings, read items, load the model, and try one prompt of each kind.

    Args:
        cfg: the settings.
        backend: the model of `cfg`, for a caller that has loaded it (`load_model`).
        world: the processes of the run.

    Raises:
        ThinkgapError: bad settings, data, model or labels.
    """
    quiet_libraries()
    check_settings(cfg, world)
    device = device_of(cfg.trainer, world)
    find_checkpoint(cfg.model.path, cfg.paths.cache_dir)  # a wrong path is told before a data set is fetched
    conditions = all_conditions(cfg.trigger, cfg.mode, cfg.prompt)
    loaded = load_items(cfg, cfg.dataset)
    tell_rows(loaded)
    shown = presentations_of(cfg, loaded.items)
    asked = None if cfg.model.backend is BackendKind.hf else _asked(cfg)
    model = asked if asked is not None else backend or load_model(cfg)
    _refuse_images(cfg, loaded, model.fmt)
    # Another program writes one token after each prompt, for which there has to be room.
    builder = PromptBuilder(
        model.fmt,
        conditions,
        cfg.labels,
        cfg.label_ids,
        cfg.prompt.instruction,
        cfg.prompt.system,
        room=0 if asked is None else 1,
    )
    check_texts(cfg.evaluation, builder)
    items, unread = without_unread(builder, shown)
    described = describe_conditions(builder, [presentation for item in items for presentation in item])
    for warning in label_warnings(described):
        log.warning(warning)
    if asked is not None:
        options = ReadOptions(_reasoning(cfg, asked.fmt), cfg.evaluation.top_k)
        return Prepared(loaded, items, LabelEngine.of(asked, options), builder, described, shown.referring, unread)
    assert isinstance(model, HFBackend)
    # Where the prompts will run: what is checked and described from here on must be that.
    model.to(device)
    return Prepared(loaded, items, _engine(cfg, model), builder, described, shown.referring, unread)


def _asked(cfg: EvaluateConfig) -> NextTokenModel:
    """The model of `cfg` in vLLM, in this process or behind its server.

    Raises:
        ThinkgapError: what loading or reaching it raises.
    """
    quiet_libraries()
    if cfg.model.served.base_url:
        from thinkgap.backends.vllm_server import reach_vllm

        return reach_vllm(cfg.model, cfg.prompt, cfg.paths.cache_dir)
    model = load_vllm(cfg.model, cfg.prompt, cfg.paths.cache_dir)
    if not model.can_read:
        raise ConfigError(
            f"vLLM {model.version} does not give log-probabilities of chosen ids (SamplingParams.logprob_token_ids): "
            "install a newer one, or set model.backend=hf"
        )
    return model


def _engine(cfg: EvaluateConfig, backend: HFBackend) -> Engine:
    return Engine.of(
        backend,
        cfg.scoring,
        batch_tokens=cfg.evaluation.batch_tokens or tokens_per_pass(_on_accelerator(cfg)),
        batch_size=cfg.evaluation.batch_size,
        options=ReadOptions(_reasoning(cfg, backend.fmt), cfg.evaluation.top_k),
        wanted=_wanted(cfg.evaluation.capture, len(backend.structure.layers)),
        lens=cfg.evaluation.lens,
        lens_of=IDENTITY,
    )


def _reasoning(cfg: EvaluateConfig, fmt: TextFormat) -> ReasoningTokens | None:
    """None where no word is one token: there is no mass to read then, which is not a mass of 0."""
    words = cfg.evaluation.vocabulary
    found = reasoning_tokens(fmt.tokenize, words.reasoning, words.ambiguous)
    if found.all:
        return found
    log.warning("no reasoning mass is read: no word of evaluation.vocabulary.reasoning is one token of this model")
    return None


def _wanted(cfg: CaptureConfig, n_layers: int) -> Wanted | None:
    """Which states to keep.

    Raises:
        ConfigError: a layer that the model does not have.
    """
    if not cfg.enabled:
        if cfg.layers is not None or cfg.embeddings or cfg.final_norm:
            raise ConfigError("evaluation.capture says which states to keep: set evaluation.capture.enabled=true too")
        return None
    if cfg.layers is not None and not cfg.layers and not cfg.embeddings and not cfg.final_norm:
        raise ConfigError(
            "evaluation.capture.layers=[] keeps nothing: name layers, or set evaluation.capture.enabled=false"
        )
    layers = None
    if cfg.layers is not None:
        outside = [layer for layer in cfg.layers if not -n_layers <= layer < n_layers]
        if outside:
            raise ConfigError(
                f"evaluation.capture.layers: the model has layers 0 to {n_layers - 1} (or -1 to -{n_layers}), "
                f"not {outside[0]}"
            )
        layers = tuple(sorted({layer % n_layers for layer in cfg.layers}))
    return Wanted(layers, cfg.embeddings, cfg.final_norm)


def _on_accelerator(cfg: EvaluateConfig) -> bool:
    import torch

    return cfg.trainer.accelerator != "cpu" and torch.accelerator.is_available()


def load_model(cfg: EvaluateConfig) -> HFBackend:
    """The model of `cfg`, checked.

    Raises:
        ThinkgapError: what `load_backend` raises.
    """
    import torch

    quiet_libraries()
    torch.manual_seed(cfg.seed)
    return load_backend(
        cfg.model,
        cfg.prompt,
        on_accelerator=_on_accelerator(cfg),
        cache_dir=cfg.paths.cache_dir,
    )


def _refuse_images(cfg: EvaluateConfig, loaded: LoadedDataset, fmt: TextFormat) -> None:
    with_image = sum(bool(item.images) for item in loaded.items)
    if with_image and cfg.model.backend is not BackendKind.hf:
        raise ConfigError(
            f"{with_image} of {len(loaded.items)} items have images, and model.backend=vllm is given text only here: "
            "set dataset.images=none, or model.backend=hf"
        )
    if with_image and not fmt.is_vision:
        raise ConfigError(
            f"{with_image} of {len(loaded.items)} items have images and model={cfg.model.name} reads text only: "
            "set dataset.images=none, or choose an image-text model"
        )
