"""`ModelConfig` -> a loaded model, or only its tokenizer or processor; whatever goes wrong names the model.

Which classes load a checkpoint is asked of transformers' own mappings.
"""

from __future__ import annotations

import datetime
import os
from typing import Any

import torch

from thinkgap.backends.families import (
    Structure,
    find_structure,
    has_length_dependent_rope,
    set_pixel_bounds,
    thinking_switch,
    verify,
)
from thinkgap.backends.format import TextFormat
from thinkgap.backends.golden import check_at_load
from thinkgap.backends.hf import HFBackend
from thinkgap.backends.locate import Checkpoint, find_checkpoint, folder_digest
from thinkgap.backends.random_weights import random_model, random_revision
from thinkgap.backends.weights import check_weights_digest
from thinkgap.errors import ConfigError, ModelError
from thinkgap.hub import offline_if_unreachable
from thinkgap.schema import BackendKind, Dtype, Modality, ModelConfig, PromptConfig, ThinkingSwitch

_GROUPED = "TRANSFORMERS_SDPA_FORCE_GQA"
DEFAULT_CACHE = "~/.cache/thinkgap"


def load_backend(
    cfg: ModelConfig,
    prompt: PromptConfig | None = None,
    *,
    on_accelerator: bool,
    cache_dir: str = DEFAULT_CACHE,
    golden: bool = True,
) -> HFBackend:
    """Load model and tokenizer or processor, and verify the structure numerically.

    With `model.random_weights` nothing is asked of the checkpoint's weights: no digest, no golden readings.

    Args:
        cfg: the model.
        prompt: whether and how its chat template is used; None is the default.
        on_accelerator: whether `dtype=auto` is the checkpoint's own type (else float32).
        cache_dir: where a GGUF file is converted to.
        golden: whether golden readings in the checkpoint's folder are checked.

    Raises:
        ModelError: nothing loadable at `model.path`, weights missing or not of `model.sha256`, the check fails, or
            golden readings moved.
        ConfigError: the model is a served one or vLLM's, `prompt.date` is no date, or `model.sha256` or another setting
            does not apply.
    """
    import transformers

    if cfg.backend is BackendKind.vllm:
        raise ConfigError(f"model={cfg.name} is run by vLLM, which gives no hidden states: set model.backend=hf")
    if not hasattr(transformers.modeling_utils, "slice_logits_to_keep"):
        # vLLM's pins may hold an older one, with which only model.backend=vllm works.
        raise ModelError(
            f"transformers {transformers.__version__} cannot give logits at a position of each row's own: install 5.21 "
            "or newer, or set model.backend=vllm"
        )
    checkpoint = checkpoint_of(cfg, cache_dir)
    if cfg.random_weights is None:
        check_weights_digest(cfg, checkpoint)
    fmt = read_format(cfg, checkpoint, prompt or PromptConfig())
    auto = transformers.AutoModelForImageTextToText if fmt.is_vision else transformers.AutoModelForCausalLM
    dtype = cfg.dtype.name
    if cfg.dtype is Dtype.auto and not on_accelerator:
        dtype = "float32"
    arguments: dict[str, Any] = {"dtype": dtype if dtype == "auto" else getattr(torch, dtype)}
    for key in ("device_map", "attn_implementation"):
        if (value := getattr(cfg, key)) is not None:
            arguments[key] = value
    if cfg.quantization is not None:
        arguments["quantization_config"] = dict(cfg.quantization)
    if not on_accelerator:
        # On a CPU the masked attention kernel takes grouped heads as they are, and faster than copies of them; an
        # accelerator's would fall back to a slow one. transformers asks for them there only if told to.
        os.environ.setdefault(_GROUPED, "1")
    elif os.environ.get(_GROUPED) == "1":
        del os.environ[_GROUPED]  # of an earlier model of this process
    if cfg.random_weights is None:
        arguments["use_safetensors"] = True  # other weights are pickles, which can run any program
        model, report = loading(auto.from_pretrained, cfg, checkpoint, output_loading_info=True, **arguments)
        _check_weights(report, cfg)
        revision = getattr(model.config, "_commit_hash", None) or folder_digest(checkpoint)
    else:
        config = loading(transformers.AutoConfig.from_pretrained, cfg, checkpoint)
        revision = random_revision(cfg.random_weights, config)
        model = random_model(auto, cfg, checkpoint, config, arguments["dtype"])
    model.eval()
    structure = find_structure(model, cfg.name)
    placed = cfg.device_map is not None or cfg.quantization is not None
    if cfg.compile:
        error = _verify_compiled(model, structure, cfg.name)
    else:
        error = verify(model, structure, cfg.name)
    length_dependent = has_length_dependent_rope(model.config)
    backend = HFBackend(
        fmt, model, structure, checkpoint, revision, placed, error, length_dependent, cfg.compile, cfg.random_weights
    )
    if golden and cfg.random_weights is None:
        check_at_load(backend, cfg)
    return backend


def _verify_compiled(model: Any, structure: Structure, name: str) -> float:
    """Compile the decoder's layers, then check as always.

    Raises:
        ModelError: they cannot be compiled, or the check fails.
    """
    for layer in structure.layers:
        # The forward alone: hooks that keep states are called outside, and never make it compile again.
        layer.forward = torch.compile(layer.forward, dynamic=True)
    try:
        return verify(model, structure, name)
    except ModelError:
        raise
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(f"model {name} cannot be compiled: {reason}; set model.compile=false") from error


def _check_weights(report: Any, cfg: ModelConfig) -> None:
    """Transformers fills weights that a checkpoint lacks with random ones and goes on; a measurement must not."""
    for kind in ("missing_keys", "mismatched_keys"):
        keys = sorted(map(str, report.get(kind) or ()))
        if keys:
            more = f" and {len(keys) - 3} more" if len(keys) > 3 else ""
            raise ModelError(
                f"model {cfg.name}: {kind.replace('_', ' ')} in {cfg.path}: {', '.join(keys[:3])}{more}; "
                "they would be random, so the checkpoint does not fit this class (merge adapters, or check the files)"
            )


def load_format(cfg: ModelConfig, prompt: PromptConfig | None = None, cache_dir: str = DEFAULT_CACHE) -> TextFormat:
    """Tokenizer or processor of `cfg`, without weights.

    Raises:
        ModelError: it cannot be found or read.
        ConfigError: the model is a served one, or `prompt.date` is no date.
    """
    return read_format(cfg, checkpoint_of(cfg, cache_dir), prompt or PromptConfig())


def checkpoint_of(cfg: ModelConfig, cache_dir: str) -> Checkpoint:
    """Where the weights of a local model are.

    Raises:
        ModelError: nothing at `model.path`.
        ConfigError: the model is a served one.
    """
    if cfg.backend is BackendKind.api:
        raise ConfigError(
            f"model={cfg.name} is served: its label log-probabilities and token ids are not available; "
            "choose a local model, or evaluation=prompts to see what would be sent"
        )
    return find_checkpoint(cfg.path, cache_dir)


def read_format(cfg: ModelConfig, checkpoint: Checkpoint, prompt: PromptConfig) -> TextFormat:
    """Tokenizer or processor in `checkpoint`; image-text if the checkpoint's config is of such a class."""
    import transformers

    config = loading(transformers.AutoConfig.from_pretrained, cfg, checkpoint)
    is_vision = cfg.modality is Modality.vision
    if cfg.modality is Modality.auto:
        is_vision = type(config) in transformers.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
    if is_vision:
        processor = loading(transformers.AutoProcessor.from_pretrained, cfg, checkpoint)
        tokenizer = processor.tokenizer
        set_pixel_bounds(processor, cfg.min_pixels, cfg.max_pixels, cfg.name)
        image_token_id = getattr(config, "image_token_id", None)
    else:
        processor = tokenizer = loading(transformers.AutoTokenizer.from_pretrained, cfg, checkpoint)
        image_token_id = None
    context = getattr(config.get_text_config(), "max_position_embeddings", None)
    max_length = min(bound for bound in (cfg.max_length, context, 10**9) if bound is not None)
    switch = cfg.thinking
    if not switch.enabled and not switch.disabled and prompt.chat_template:
        template = getattr(processor, "chat_template", None) or getattr(tokenizer, "chat_template", None)
        switch = thinking_switch(template) if isinstance(template, str) else ThinkingSwitch()
    try:
        date = datetime.date.fromisoformat(prompt.date) if prompt.date else datetime.date.today()
    except ValueError:
        raise ConfigError(f"prompt.date={prompt.date}: not a date of the form YYYY-MM-DD") from None
    return TextFormat(
        cfg.name,
        processor,
        tokenizer,
        is_vision,
        max_length,
        switch,
        prompt.chat_template,
        image_token_id=image_token_id,
        date=date,
    )


PICKLED = "pickled weights (.bin, .pt, .ckpt) are not read: give a checkpoint with .safetensors, or convert it"


def loading(load: Any, cfg: ModelConfig, checkpoint: Checkpoint, **arguments: Any) -> Any:
    """Call a `from_pretrained`, turning its many ways to fail into one error that names the model."""
    if cfg.revision is not None and not checkpoint.local:
        arguments["revision"] = cfg.revision
    if not checkpoint.local:
        offline_if_unreachable()
    try:
        return load(checkpoint.source, trust_remote_code=cfg.trust_remote_code, **arguments)
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        way_out = (
            "check the folder"
            if checkpoint.local
            else "check the id and the connection, or set model.path to a downloaded folder"
        )
        if "safetensors" in reason:
            way_out = PICKLED
        raise ModelError(f"cannot load model {cfg.name} from {cfg.path}: {reason} ({way_out})") from error
