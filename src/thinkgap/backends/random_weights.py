"""The model of a checkpoint with random weights in place of its own: a control for what probes find by themselves.

Reads the checkpoint's configuration and nothing of its weights. Knows no model family.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
from collections.abc import Mapping
from typing import Any

import torch

from thinkgap.backends.locate import Checkpoint
from thinkgap.errors import ConfigError, ModelError
from thinkgap.schema import ModelConfig

log = logging.getLogger(__name__)

_NOT_SHAPE = {"_name_or_path", "transformers_version", "dtype", "quantization_config"}
"""Fields of a configuration, at any depth, that say nothing of the weights that are drawn, or are told elsewhere."""


def random_model(auto: Any, cfg: ModelConfig, checkpoint: Checkpoint, config: Any, dtype: torch.dtype | str) -> Any:
    """A model of the class that the checkpoint would load as, its weights as the class itself initialises them.

    Args:
        auto: transformers' auto class of it.
        cfg: the model; `cfg.random_weights` is the seed.
        checkpoint: where its generation settings are, if it has any.
        config: the checkpoint's configuration, which is changed.
        dtype: of the weights; `auto` is what the configuration names, else float32.

    Returns:
        The model on the CPU. It is the same for the same seed, configuration, dtype and releases of torch and
        transformers, in every process; torch's global random state is left as it was found.

    Raises:
        ConfigError: `model.device_map` or `model.quantization` is set.
        ModelError: the class cannot be built from the configuration.
    """
    from transformers import GenerationConfig

    assert cfg.random_weights is not None
    for name in ("device_map", "quantization"):
        if getattr(cfg, name) is not None:
            raise ConfigError(f"model.random_weights draws plain weights on the CPU: set model.{name}=null")
    if isinstance(dtype, str):
        dtype = config.dtype or config.get_text_config().dtype or torch.float32
    arguments: dict[str, Any] = {"dtype": dtype, "trust_remote_code": cfg.trust_remote_code}
    if cfg.attn_implementation is not None:
        arguments["attn_implementation"] = cfg.attn_implementation
    if getattr(config, "quantization_config", None) is not None:
        del config.quantization_config  # of the checkpoint's weights, which are not read
    # torch.manual_seed would seed accelerators as well, whose state is not kept.
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(cfg.random_weights)
        try:
            model = auto.from_config(config, **arguments)
        except Exception as error:
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise ModelError(
                f"model {cfg.name} cannot be built from the configuration of {cfg.path}: {reason}"
            ) from error
    revision: dict[str, Any] = {} if checkpoint.local or cfg.revision is None else {"revision": cfg.revision}
    with contextlib.suppress(OSError):
        model.generation_config = GenerationConfig.from_pretrained(checkpoint.source, **revision)
    log.info(
        "model %s has random weights (seed %d); of %s only configuration and tokenizer are used",
        cfg.name,
        cfg.random_weights,
        cfg.path,
    )
    return model


def random_revision(seed: int, config: Any) -> str:
    """What tells random weights from a checkpoint's, and from those of another seed or configuration.

    Args:
        seed: of the weights.
        config: the checkpoint's configuration.
    """
    text = json.dumps(_shape(config.to_dict()), sort_keys=True, default=str)
    return f"random-weights:{seed}:{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _shape(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _shape(inner) for key, inner in value.items() if key not in _NOT_SHAPE}
    return [_shape(one) for one in value] if isinstance(value, list | tuple) else value
