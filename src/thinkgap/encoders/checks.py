"""What a loaded SentenceTransformer must be like for the settings to hold; each failure names its setting.

Nothing is repaired: a checkpoint with other pooling or padding is another encoder than the one that was asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from thinkgap.encoders.forward import embed, unit
from thinkgap.encoders.tokens import Tokeniser
from thinkgap.errors import ConfigError, ModelError
from thinkgap.schema import EncoderConfig

_SAMPLE = ("Which of two numbers is larger?", "First, 7 is compared with 5, and then with the sum of both of them.")
_TOLERANCE = 1e-4
# In half precision sentence-transformers normalises with what rounding has left.
_HALF_TOLERANCE = 0.02


def check_settings(cfg: EncoderConfig) -> None:
    """Refuse what can hold for no checkpoint.

    Raises:
        ConfigError: a setting that is missing or out of range.
    """
    if not cfg.name or not cfg.path:
        raise ConfigError("encoder.name and encoder.path are needed: choose an encoder, such as encoder=minilm")
    if cfg.path.endswith(".gguf"):
        raise ConfigError(f"encoder.path={cfg.path}: a GGUF file does not have sentence-transformers' layout")
    if cfg.padding_side not in (None, "left", "right"):
        raise ConfigError(f"encoder.padding_side={cfg.padding_side}: left, right or null")
    for setting in ("batch_size", "max_length"):
        if (value := getattr(cfg, setting)) is not None and value < 1:
            raise ConfigError(f"encoder.{setting}={value}: at least 1 is needed")


def pooling_of(cfg: EncoderConfig, model: Any) -> str:
    """The checkpoint's pooling, which is `encoder.pooling` if that is set.

    Raises:
        ModelError: it has another one, or none.
    """
    found = [getattr(module, "pooling_mode", None) for module in model]
    modes = [mode if isinstance(mode, str) else "+".join(mode) for mode in found if mode is not None]
    if len(modes) != 1:
        raise ModelError(f"encoder {cfg.name}: {cfg.path} has {len(modes)} pooling modules; exactly one is supported")
    if cfg.pooling is not None and cfg.pooling.name != modes[0]:
        raise ModelError(
            f"encoder {cfg.name}: encoder.pooling={cfg.pooling.name}, but {cfg.path} pools by {modes[0]}; take the "
            f"checkpoint that was meant, or set encoder.pooling={modes[0]} (null takes what it has)"
        )
    return modes[0]


def check_padding(cfg: EncoderConfig, tokenizer: Any) -> None:
    """Require a token to pad with, on the side of `encoder.padding_side`.

    Raises:
        ModelError: there is none, or it pads on the other side.
    """
    if tokenizer.pad_token_id is None:
        raise ModelError(
            f"encoder {cfg.name}: the tokenizer in {cfg.path} has no padding token, so texts cannot be batched"
        )
    if cfg.padding_side not in (None, tokenizer.padding_side):
        raise ModelError(
            f"encoder {cfg.name}: encoder.padding_side={cfg.padding_side}, but the tokenizer in {cfg.path} pads on the "
            f"{tokenizer.padding_side}; take the tokenizer that comes with the checkpoint, or set encoder.padding_side="
            f"{tokenizer.padding_side}"
        )


def length_of(cfg: EncoderConfig, model: Any) -> int:
    """Tokens of a text that are read: `encoder.max_length`, or the checkpoint's own number.

    Raises:
        ConfigError: more than the model has positions for, or no number anywhere.
    """
    positions = getattr(model[0].config, "max_position_embeddings", None)
    length = cfg.max_length or model.max_seq_length
    if length is None or (positions is None and length > 1 << 30):
        raise ConfigError(f"encoder.max_length is needed: {cfg.path} does not say how many tokens it reads")
    if positions is not None and 0 < positions < length:
        raise ConfigError(f"encoder.max_length={length}: {cfg.path} has positions for {positions} tokens")
    return int(length)


def check_against_encode(cfg: EncoderConfig, model: Any, tokeniser: Tokeniser) -> None:
    """Compare vectors of token ids with those of `SentenceTransformer.encode`, on two texts of different length.

    Shows what goes into a model otherwise than as token ids behind a prompt: chat templates, prompts that pooling
    leaves out, type ids.

    Raises:
        ModelError: they differ, or cannot be computed.
    """
    tolerance = _TOLERANCE if str(model.dtype) == "torch.float32" else _HALF_TOLERANCE
    for setting in ("query_prompt", "trace_prompt"):
        prompt = getattr(cfg, setting)
        windows = [one.windows[0] for one in tokeniser.read(_SAMPLE, prompt, chunks=False)]
        try:
            ours = unit(embed(model, windows, len(windows)))
            encoded = model.encode(list(_SAMPLE), prompt=prompt, convert_to_tensor=True, show_progress_bar=False)
            theirs = unit(encoded.float().cpu().numpy())
            difference = float(np.abs(ours - theirs).max())
        except Exception as error:
            raise ModelError(f"encoder {cfg.name}: {cfg.path} cannot encode a text: {error}") from error
        if not difference <= tolerance:
            raise ModelError(
                f"encoder {cfg.name}: with encoder.{setting}, vectors of token ids differ from those of "
                f"SentenceTransformer.encode by {difference:.2g}; {cfg.path} reads more than prompt and text (a chat "
                "template, or a prompt that its pooling leaves out), or its weights are not finite"
            )
