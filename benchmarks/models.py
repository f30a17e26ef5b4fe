"""Image-text models of the true Qwen2.5-VL class in any size, with random weights and the real processor classes.

Tokens come from the text model's tokenizer, which is part of the project's set-up, with the family's control tokens
added; the vocabulary may be larger than that, as the released model's is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from thinkgap.backends.families import find_structure
from thinkgap.backends.format import TextFormat
from thinkgap.backends.hf import HFBackend
from thinkgap.backends.image_memo import ImageMemo
from thinkgap.backends.load import DEFAULT_CACHE
from thinkgap.backends.locate import Checkpoint, find_checkpoint
from thinkgap.schema import ThinkingSwitch

_CONTROLS = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@dataclass(frozen=True)
class Shape:
    """Sizes of a model."""

    text: Mapping[str, Any]
    vision: Mapping[str, Any]


TINY = Shape(
    {
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "initializer_range": 0.2,
        "rope_parameters": {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 1e4},
    },
    {"depth": 2, "hidden_size": 32, "intermediate_size": 48, "num_heads": 2, "fullatt_block_indexes": [1]},
)
MEDIUM = Shape(
    {
        "hidden_size": 512,
        "intermediate_size": 1536,
        "num_hidden_layers": 8,
        "num_attention_heads": 8,
        "num_key_value_heads": 2,
        "initializer_range": 0.05,
        "rope_parameters": {"rope_type": "default", "mrope_section": [8, 12, 12], "rope_theta": 1e6},
    },
    {"depth": 8, "hidden_size": 256, "intermediate_size": 768, "num_heads": 8, "fullatt_block_indexes": [3, 7]},
)
# The sizes of Qwen2.5-VL-7B-Instruct.
QWEN25VL_7B = Shape(
    {
        "vocab_size": 152064,
        "hidden_size": 3584,
        "intermediate_size": 18944,
        "num_hidden_layers": 28,
        "num_attention_heads": 28,
        "num_key_value_heads": 4,
        "max_position_embeddings": 128000,
        "rope_parameters": {"rope_type": "default", "mrope_section": [16, 24, 24], "rope_theta": 1e6},
    },
    {
        "depth": 32,
        "hidden_size": 1280,
        "intermediate_size": 3420,
        "num_heads": 16,
        "patch_size": 14,
        "window_size": 112,
        "fullatt_block_indexes": [7, 15, 23, 31],
        "out_hidden_size": 3584,
    },
)


def processor_and_config(shape: Shape, tokenizer_source: str) -> tuple[Any, Any]:
    """The processor, and the model's config with the processor's token ids."""
    from transformers import (
        AutoTokenizer,
        Qwen2_5_VLConfig,
        Qwen2_5_VLProcessor,
        Qwen2VLImageProcessor,
        Qwen2VLVideoProcessor,
    )

    tokenizer: Any = AutoTokenizer.from_pretrained(find_checkpoint(tokenizer_source, DEFAULT_CACHE).source)
    tokenizer.add_special_tokens({"extra_special_tokens": list(_CONTROLS)})
    start, end, image, video = tokenizer.convert_tokens_to_ids(list(_CONTROLS))
    processor = Qwen2_5_VLProcessor(
        image_processor=Qwen2VLImageProcessor(),
        tokenizer=tokenizer,
        video_processor=Qwen2VLVideoProcessor(),
        chat_template=_TEMPLATE,
    )
    ends = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    config = Qwen2_5_VLConfig(
        text_config={"vocab_size": len(tokenizer), "max_position_embeddings": 4096} | ends | dict(shape.text),
        vision_config={"out_hidden_size": shape.text["hidden_size"]} | dict(shape.vision),
        image_token_id=image,
        video_token_id=video,
        vision_start_token_id=start,
        vision_end_token_id=end,
    )
    return processor, config


def write_vision_model(shape: Shape, folder: Path, tokenizer_source: str) -> Path:
    """A random-weight model as a folder of the layout that the hub has."""
    from transformers import Qwen2_5_VLForConditionalGeneration

    torch.manual_seed(0)
    processor, config = processor_and_config(shape, tokenizer_source)
    Qwen2_5_VLForConditionalGeneration(config).save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def vision_backend(shape: Shape, tokenizer_source: str, device: torch.device, dtype: torch.dtype) -> HFBackend:
    """A random-weight model built on its device, without a file between."""
    from transformers import AutoModelForImageTextToText

    torch.manual_seed(0)
    processor, config = processor_and_config(shape, tokenizer_source)
    with device:
        model: Any = AutoModelForImageTextToText.from_config(config, dtype=dtype)
    model.eval()
    name = "random weights"
    fmt = TextFormat(
        name,
        processor,
        processor.tokenizer,
        True,
        config.text_config.max_position_embeddings,
        ThinkingSwitch(),
        image_token_id=config.image_token_id,
    )
    structure, checkpoint = find_structure(model, name), Checkpoint(name, local=True, origin=name)
    # The structure check of a real load is left out: what is read is compared with plain scoring and float32.
    return HFBackend(fmt, model, structure, checkpoint, name, True, math.nan)


@dataclass
class ImageWork:
    """How often images went through the image processor and through the vision tower."""

    processed: int = 0
    encoded: int = 0
    patches: int = 0


@contextmanager
def counted_images(backend: HFBackend) -> Iterator[ImageWork]:
    """Count the image work done inside the block, in which no image is remembered from before it."""
    work = ImageWork()
    memo = backend.fmt.images = ImageMemo(backend.fmt.processor.image_processor)

    def encode(_: Any, arguments: tuple[Any, ...], settings: dict[str, Any]) -> None:
        grids = settings["grid_thw"] if "grid_thw" in settings else arguments[1]
        work.encoded += len(grids)
        work.patches += int(grids.prod(-1).sum())

    hook = backend.model.model.visual.register_forward_pre_hook(encode, with_kwargs=True)
    try:
        yield work
    finally:
        hook.remove()
        work.processed = memo.calls
