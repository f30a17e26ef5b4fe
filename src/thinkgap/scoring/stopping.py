"""Where a reply ends, and what a checkpoint would do to greedy generation that is not done here. Knows no prompt."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from thinkgap.backends.format import TextFormat
from thinkgap.backends.hf import HFBackend
from thinkgap.types import Thinking

_REPLY = "qzxreplyqzx"
# Settings that change which token is the most probable, with the values that change nothing.
_CHANGES: dict[str, tuple[Any, ...]] = {
    "repetition_penalty": (1.0,),
    "encoder_repetition_penalty": (1.0,),
    "no_repeat_ngram_size": (0,),
    "encoder_no_repeat_ngram_size": (0,),
    "min_length": (0,),
    "min_new_tokens": (0,),
    "bad_words_ids": (),
    "sequence_bias": (),
    "suppress_tokens": (),
    "begin_suppress_tokens": (),
    "forced_bos_token_id": (),
    "forced_eos_token_id": (),
    "exponential_decay_length_penalty": (),
    "guidance_scale": (1.0,),
    "num_beams": (1,),
    "penalty_alpha": (0.0,),
}


def stop_ids(backend: HFBackend) -> tuple[int, ...]:
    """Tokens that end a reply, ascending.

    See `end_ids`.
    """
    return end_ids(backend.fmt, backend.model.config, getattr(backend.model, "generation_config", None))


def end_ids(fmt: TextFormat, config: Any, generation_config: Any) -> tuple[int, ...]:
    """Tokens that end a reply, ascending.

    They are the end tokens that generation config, config and tokenizer name, and the control token with which the
    chat template closes an assistant's turn. A model may have none; then every reply runs to the length cap.

    Args:
        fmt: the model's tokenizer and template.
        config: its config.
        generation_config: its generation config, or None.
    """
    named: list[Any] = [
        getattr(generation_config, "eos_token_id", None),
        getattr(config, "eos_token_id", None),
        getattr(config.get_text_config(), "eos_token_id", None),
        fmt.tokenizer.eos_token_id,
        turn_end(fmt),
    ]
    found = [token for one in named for token in (one if isinstance(one, Iterable) else [one])]
    return tuple(sorted({int(token) for token in found if token is not None}))


def turn_end(fmt: TextFormat) -> int | None:
    """The control token right after an assistant's text, white space aside; None if the template writes none there."""
    if not fmt.chat_template:
        return None
    parts: Any = [{"type": "text", "text": _REPLY}] if fmt.is_vision else _REPLY
    asked: Any = [{"type": "text", "text": "q"}] if fmt.is_vision else "q"
    text = fmt.apply_template(
        [{"role": "user", "content": asked}, {"role": "assistant", "content": parts}],
        generation_prompt=False,
        thinking=Thinking.default,
    )
    after = text.rpartition(_REPLY)[2].lstrip()
    token = fmt.control_token_in(after)
    if token is None or not after.startswith(token):
        return None
    return int(fmt.tokenizer.convert_tokens_to_ids(token))


def ignored_settings(model: Any) -> dict[str, Any]:
    """What of the checkpoint's own generation config would have changed a greedy reply, with its value."""
    config = getattr(model, "generation_config", None)
    found = {name: getattr(config, name, None) for name in _CHANGES}
    return {
        name: value
        for name, value in found.items()
        if value is not None and value not in _CHANGES[name] and value not in ([], {})
    }
