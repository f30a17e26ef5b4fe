"""Tiny random-weight models of the true classes, written as folders of the layout that the hub has.

Text: Llama, Qwen3, Gemma 3 (sliding window shorter than the prompts). Image-text: Qwen2.5-VL, Qwen3-VL, LLaVA,
Gemma 3. All use the first quarter of SmolLM2's tokenizer (reading all of it takes most of the time of loading a tiny
model) with the family's control tokens added, and the family's own processor class.
Qwen3-Next stands for linear attention, and in no list of families.
"""

from __future__ import annotations

import functools
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

VISION = ("qwen25vl", "qwen3vl", "llava", "gemma3_vision")
TEXT = ("llama", "qwen3", "gemma3")
FAMILIES = TEXT + VISION

VOCABULARY = 12_288
"""Tokens of the tiny models, special ones included: those that SmolLM2's tokenizer merged first, with its ids."""

_TURNS = """{% for message in messages %}<|im_start|>{{ message['role'] }}
{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for part in message['content'] %}{% if part['type'] == 'image' %}IMAGE{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""  # noqa: E501
_QWEN3_THINK = """{% if add_generation_prompt and enable_thinking is defined and not enable_thinking %}<think>

</think>

{% endif %}"""
# The released LLaVA-1.5 template behaves like this: images first, then texts, and no line break before the reply.
_LLAVA = (
    "{% for message in messages %}{{ message['role'].upper() + ': ' }}"
    "{% for part in message['content'] %}{% if part['type'] == 'image' %}<image>\n{% endif %}{% endfor %}"
    "{% for part in message['content'] %}{% if part['type'] == 'text' %}{{ part['text'] + ' ' }}{% endif %}{% endfor %}"
    "{% endfor %}{% if add_generation_prompt %}ASSISTANT:{% endif %}"
)
_TEXT_SIZES: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 4096,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 2,
    # Large enough for next-token distributions to differ clearly between prompts.
    "initializer_range": 0.2,
}


def write_model(family: str, folder: Path, tokenizer_folder: Path, **changes: Any) -> Path:
    """Write a tiny model of `family` into `folder` and return it.

    Args:
        family: one of `FAMILIES`, or `qwen3_next`.
        folder: target, created.
        tokenizer_folder: a folder with SmolLM2's tokenizer.
        changes: overrides of the text config.
    """
    from transformers import AutoTokenizer

    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(small_tokenizer(tokenizer_folder).name)
    processor, model = _BUILDERS[family](tokenizer, _TEXT_SIZES | changes)
    with torch.no_grad():
        # Fresh norms are all ones; random ones make a norm applied twice, or not at all, visible.
        for name, parameter in model.named_parameters():
            if "norm" in name and parameter.ndim == 1:
                parameter.add_(0.2 * torch.randn_like(parameter))
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


@functools.cache
def small_tokenizer(folder: Path) -> tempfile.TemporaryDirectory[str]:
    """A copy of the tokenizer in `folder` that has the first `VOCABULARY` tokens alone."""
    copy: tempfile.TemporaryDirectory[str] = tempfile.TemporaryDirectory()
    for file in (*folder.glob("tokenizer_config.json"), *folder.glob("chat_template.jinja")):
        shutil.copy(file, copy.name)
    content = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    model = content["model"]
    vocabulary = {token: number for token, number in model["vocab"].items() if number < VOCABULARY}
    # Each merge makes the next token.
    merges = [pair for pair in model["merges"] if "".join(pair) in vocabulary]
    content["model"] = model | {"vocab": vocabulary, "merges": merges}
    (Path(copy.name) / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    return copy


def _llama(tokenizer: Any, sizes: dict[str, Any]) -> tuple[Any, Any]:
    from transformers import LlamaConfig, LlamaForCausalLM

    return tokenizer, LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), **sizes))


def _qwen3(tokenizer: Any, sizes: dict[str, Any]) -> tuple[Any, Any]:
    from transformers import Qwen3Config, Qwen3ForCausalLM

    tokenizer.add_tokens(["<think>", "</think>"])
    tokenizer.chat_template = _TURNS + _QWEN3_THINK
    return tokenizer, Qwen3ForCausalLM(Qwen3Config(vocab_size=len(tokenizer), **sizes))


def _gemma3(tokenizer: Any, sizes: dict[str, Any]) -> tuple[Any, Any]:
    from transformers import Gemma3ForCausalLM, Gemma3TextConfig

    return tokenizer, Gemma3ForCausalLM(Gemma3TextConfig(**_gemma3_sizes(tokenizer, sizes)))


def _gemma3_sizes(tokenizer: Any, sizes: dict[str, Any]) -> dict[str, Any]:
    kinds = ["sliding_attention", "full_attention", "sliding_attention"]
    return {
        "vocab_size": len(tokenizer),
        "sliding_window": 16,
        "layer_types": kinds,
        "query_pre_attn_scalar": 16,
    } | sizes


def _qwen3_next(tokenizer: Any, sizes: dict[str, Any]) -> tuple[Any, Any]:
    from transformers import Qwen3NextConfig, Qwen3NextForCausalLM

    config = Qwen3NextConfig(
        vocab_size=len(tokenizer),
        layer_types=["linear_attention", "full_attention", "linear_attention"],
        linear_num_key_heads=2,
        linear_num_value_heads=2,
        linear_key_head_dim=16,
        linear_value_head_dim=16,
        num_experts=2,
        num_experts_per_tok=1,
        moe_intermediate_size=32,
        shared_expert_intermediate_size=32,
        **sizes,
    )
    return tokenizer, Qwen3NextForCausalLM(config)


def _control_tokens(tokenizer: Any, *tokens: str) -> list[int]:
    tokenizer.add_special_tokens({"extra_special_tokens": list(tokens)})
    return [tokenizer.convert_tokens_to_ids(token) for token in tokens]


def _qwen25vl(tokenizer: Any, sizes: dict[str, Any]) -> tuple[Any, Any]:
    from transformers import (
        Qwen2_5_VLConfig,
        Qwen2_5_VLForConditionalGeneration,
        Qwen2_5_VLProcessor,
        Qwen2VLImageProcessor,
        Qwen2VLVideoProcessor,
    )

    start, end, image, video = _control_tokens(
        tokenizer, "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"
    )
    pixels: dict[str, Any] = {"size": {"shortest_edge": 28 * 28, "longest_edge": 28 * 28 * 40}}
    processor = Qwen2_5_VLProcessor(
        image_processor=Qwen2VLImageProcessor(**pixels),
        tokenizer=tokenizer,
        video_processor=Qwen2VLVideoProcessor(),
        chat_template=_TURNS.replace("IMAGE", "<|vision_start|><|image_pad|><|vision_end|>"),
    )
    rope = {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 10000.0}
    config = Qwen2_5_VLConfig(
        text_config={"vocab_size": len(tokenizer), "rope_parameters": rope} | sizes,
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_heads": 2,
            "out_hidden_size": sizes["hidden_size"],
            "fullatt_block_indexes": [1],
            "window_size": 56,
        },
        image_token_id=image,
        video_token_id=video,
        vision_start_token_id=start,
        vision_end_token_id=end,
    )
    return processor, Qwen2_5_VLForConditionalGeneration(config)


def _qwen3vl(tokenizer: Any, sizes: dict[str, Any]) -> tuple[Any, Any]:
    from transformers import (
        Qwen2VLImageProcessor,
        Qwen3VLConfig,
        Qwen3VLForConditionalGeneration,
        Qwen3VLProcessor,
        Qwen3VLVideoProcessor,
    )

    start, end, image, video = _control_tokens(
        tokenizer, "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"
    )
    processor = Qwen3VLProcessor(
        image_processor=Qwen2VLImageProcessor(
            patch_size=16,
            size={"shortest_edge": 32 * 32, "longest_edge": 32 * 32 * 40},
            image_mean=[0.5] * 3,
            image_std=[0.5] * 3,
        ),
        tokenizer=tokenizer,
        video_processor=Qwen3VLVideoProcessor(),
        chat_template=_TURNS.replace("IMAGE", "<|vision_start|><|image_pad|><|vision_end|>"),
    )
    rope = {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 10000.0, "mrope_interleaved": True}
    config = Qwen3VLConfig(
        text_config={"vocab_size": len(tokenizer), "rope_parameters": rope} | sizes,
        vision_config={
            "depth": 3,
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_heads": 2,
            "out_hidden_size": sizes["hidden_size"],
            "num_position_embeddings": 64,
            "deepstack_visual_indexes": [0, 1],
        },
        image_token_id=image,
        video_token_id=video,
        vision_start_token_id=start,
        vision_end_token_id=end,
    )
    return processor, Qwen3VLForConditionalGeneration(config)


def _llava(tokenizer: Any, sizes: dict[str, Any]) -> tuple[Any, Any]:
    from transformers import (
        CLIPImageProcessor,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    (image,) = _control_tokens(tokenizer, "<image>")
    size = {"shortest_edge": 28}
    processor = LlavaProcessor(
        image_processor=CLIPImageProcessor(size=size, crop_size={"height": 28, "width": 28}),
        tokenizer=tokenizer,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=_LLAVA,
    )
    config = LlavaConfig(
        text_config={"model_type": "llama", "vocab_size": len(tokenizer)} | sizes,
        vision_config={
            "model_type": "clip_vision_model",
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 3,
            "num_attention_heads": 2,
            "image_size": 28,
            "patch_size": 14,
        },
        image_token_index=image,
    )
    return processor, LlavaForConditionalGeneration(config)


def _gemma3_vision(tokenizer: Any, sizes: dict[str, Any]) -> tuple[Any, Any]:
    from transformers import (
        Gemma3Config,
        Gemma3ForConditionalGeneration,
        Gemma3ImageProcessor,
        Gemma3Processor,
    )

    boi, eoi, image = _control_tokens(tokenizer, "<start_of_image>", "<end_of_image>", "<image_soft_token>")
    tokenizer.boi_token, tokenizer.eoi_token, tokenizer.image_token = (
        "<start_of_image>",
        "<end_of_image>",
        "<image_soft_token>",
    )
    tokenizer.boi_token_id, tokenizer.eoi_token_id, tokenizer.image_token_id = boi, eoi, image
    tokenizer.init_kwargs |= {
        "boi_token": "<start_of_image>",
        "eoi_token": "<end_of_image>",
        "image_token": "<image_soft_token>",
    }
    processor = Gemma3Processor(
        image_processor=Gemma3ImageProcessor(size={"height": 56, "width": 56}),
        tokenizer=tokenizer,
        image_seq_length=4,
        chat_template=_TURNS.replace("IMAGE", "<start_of_image>"),
    )
    config = Gemma3Config(
        text_config=_gemma3_sizes(tokenizer, sizes),
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 56,
            "patch_size": 14,
        },
        mm_tokens_per_image=4,
        boi_token_index=boi,
        eoi_token_index=eoi,
        image_token_index=image,
    )
    model = Gemma3ForConditionalGeneration(config)
    with torch.no_grad():
        # Zeros by default, with which no image would make a difference.
        model.model.multi_modal_projector.mm_input_projection_weight.normal_()
    return processor, model


_BUILDERS: dict[str, Callable[[Any, dict[str, Any]], tuple[Any, Any]]] = {
    "llama": _llama,
    "qwen3": _qwen3,
    "gemma3": _gemma3,
    "qwen3_next": _qwen3_next,
    "qwen25vl": _qwen25vl,
    "qwen3vl": _qwen3vl,
    "llava": _llava,
    "gemma3_vision": _gemma3_vision,
}
