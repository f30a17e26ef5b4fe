"""How the layers of a model family attend, as far as sharing a prefix has to know it.

Read from the config, and believed only after a numerical check (`scoring.check`). Knows no mask layout.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

_KNOWN = ("full_attention", "sliding_attention")


@dataclass(frozen=True)
class Attention:
    """How the layers of a model attend, as far as a mask of our own has to know it."""

    kinds: tuple[str, ...] = ()
    """Distinct kinds of layers: `full_attention`, `sliding_attention`."""
    window: int | None = None
    """Tokens that a sliding layer sees, the token itself included."""
    image_blocks: bool = False
    """Whether the tokens of one image see each other in both directions."""
    implementation: str = "sdpa"
    """The model's attention implementation."""
    refusal: str = ""
    """Why a mask of our own cannot be exact; empty if it can."""


def attention_of(model: Any) -> Attention:
    """What the config says of attention; `scoring.check` believes it only after a numerical check."""
    config = model.config.get_text_config()
    window = getattr(config, "sliding_window", None)
    kinds = _kinds(config)
    image_blocks = False
    refusal = ""
    unknown = [kind for kind in kinds if kind not in _KNOWN]
    implementation = getattr(config, "_attn_implementation", None)
    if unknown:
        refusal = f"it has {', '.join(unknown)} layers, whose state cannot branch inside a sequence"
    elif implementation not in ("sdpa", "eager"):
        refusal = f"attn_implementation={implementation} takes no 4-D mask"
    elif "token_type_ids" in inspect.signature(type(model).forward).parameters:
        # Gemma 3 lets an image's tokens see each other; PaliGemma, say, lets a whole prefix do so.
        image_blocks = model.config.model_type == "gemma3"
        if not image_blocks:
            refusal = f"{type(model).__name__} attends in both directions in a way that is not known here"
    return Attention(kinds, window, image_blocks, str(implementation), refusal)


def cache_refusal(model: Any) -> str:
    """Why several prompts cannot continue from the cache of one prefix; empty if they may."""
    from transformers import DynamicCache

    unknown = [kind for kind in _kinds(model.config.get_text_config()) if kind not in _KNOWN]
    if unknown:
        return f"it has {', '.join(unknown)} layers, whose state is not known to be exact when it is continued"
    if getattr(model, "_is_stateful", False):
        return f"{type(model).__name__} keeps a recurrent state"
    # A layer that adds to the keys and values of these may hold more that has to be expanded.
    layers = dict.fromkeys(type(layer).__name__ for layer in DynamicCache(config=model.config).layers)
    other = [name for name in layers if name not in ("DynamicLayer", "DynamicSlidingWindowLayer")]
    return f"its cache has layers of class {', '.join(other)}, which are not known here" if other else ""


def _kinds(config: Any) -> tuple[str, ...]:
    """Distinct kinds of layers that a text config names or implies."""
    window = getattr(config, "sliding_window", None)
    implied = ("full_attention",) if window is None else ("sliding_attention",)
    return tuple(dict.fromkeys(getattr(config, "layer_types", None) or implied))
