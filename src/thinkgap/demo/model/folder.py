"""The demo model's architecture, processor and chat template, all of true classes of transformers, without weights.

It knows no world and no training; sizes are arguments.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from thinkgap.demo.model.vocabulary import CONTEXT, END, PAD
from thinkgap.schema import DemoSizes

# Roles as in Qwen's own template; a system turn is written only if there is one.
TEMPLATE = """{% for message in messages %}<|im_start|>{{ message['role'] }}
{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for part in message['content'] %}\
{% if part['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>{% elif part['type'] == 'text' %}\
{{ part['text'] }}{% endif %}{% endfor %}{% endif %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""

PATCH, MERGE = 14, 2
_SIDE = 56
GROUND, SPREAD = 0.094, 0.3
"""Mean and standard deviation of the processor: the ground of the pictures becomes 0."""


def build_processor(tokenizer: Any) -> Any:
    """Qwen2.5-VL's processor for pictures of 56 x 56 pixels, four image tokens each; others are resized to that."""
    from transformers import Qwen2_5_VLProcessor, Qwen2VLImageProcessor, Qwen2VLVideoProcessor

    normal: dict[str, Any] = {"image_mean": [GROUND] * 3, "image_std": [SPREAD] * 3}
    edges = {"shortest_edge": _SIDE * _SIDE, "longest_edge": _SIDE * _SIDE}
    return Qwen2_5_VLProcessor(
        image_processor=Qwen2VLImageProcessor(size=edges, patch_size=PATCH, merge_size=MERGE, **normal),
        video_processor=Qwen2VLVideoProcessor(size=edges, patch_size=PATCH, merge_size=MERGE, **normal),
        tokenizer=tokenizer,
        chat_template=TEMPLATE,
    )


def build_model(tokenizer: Any, sizes: DemoSizes) -> Any:
    """A `Qwen2_5_VLForConditionalGeneration` with fresh weights from torch's generator, in float32."""
    from transformers import GenerationConfig, Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

    ids = {name: tokenizer.convert_tokens_to_ids(f"<|{name}|>") for name in _IMAGE_TOKENS}
    pad, end = tokenizer.convert_tokens_to_ids([PAD, END])
    half = sizes.hidden // sizes.heads // 2
    sides = half * 3 // 8
    config = Qwen2_5_VLConfig(
        text_config={
            "vocab_size": -(-len(tokenizer) // 16) * 16,
            "hidden_size": sizes.hidden,
            "intermediate_size": sizes.inner,
            "num_hidden_layers": sizes.layers,
            "num_attention_heads": sizes.heads,
            "num_key_value_heads": sizes.heads,
            "max_position_embeddings": CONTEXT,
            "initializer_range": _TEXT_RANGE,
            "rope_parameters": {
                "rope_type": "default",
                "mrope_section": [half - 2 * sides, sides, sides],
                "rope_theta": 10000.0,
            },
            "bos_token_id": None,
            "eos_token_id": end,
            "pad_token_id": pad,
            "tie_word_embeddings": True,
        },
        vision_config={
            "depth": sizes.vision_layers,
            "hidden_size": sizes.vision_hidden,
            "intermediate_size": 4 * sizes.vision_hidden,
            "num_heads": 2,
            "out_hidden_size": sizes.hidden,
            "patch_size": PATCH,
            "spatial_merge_size": MERGE,
            "fullatt_block_indexes": list(range(sizes.vision_layers)),
            "window_size": _SIDE,
            "initializer_range": _VISION_RANGE,
        },
        image_token_id=ids["image_pad"],
        video_token_id=ids["video_pad"],
        vision_start_token_id=ids["vision_start"],
        vision_end_token_id=ids["vision_end"],
        tie_word_embeddings=True,
    )
    model = Qwen2_5_VLForConditionalGeneration(config)
    model.generation_config = GenerationConfig(do_sample=False, eos_token_id=end, pad_token_id=pad)
    return model


_IMAGE_TOKENS = ("image_pad", "video_pad", "vision_start", "vision_end")
# Wide for the text: with the usual 0.02 the model learned to read pictures, but not to match an option in the prompt.
_TEXT_RANGE, _VISION_RANGE = 0.04, 0.05
_OUTPUTS = ("self_attn.o_proj", "mlp.down_proj")


def insert_layers(model: Any, n: int, seed: int) -> list[Any]:
    """Put `n` new layers below the others of the language model, and return them.

    Their two output matrices are zero, so the model computes what it did. What lies above can already match an option
    with a word of the prompt; what new layers write where a question stands is matched in the same way.
    """
    import torch

    language_model = model.model.language_model
    config, layers = language_model.config, language_model.layers
    generator = torch.Generator().manual_seed(seed)
    new = [type(layers[0])(config, 0).to(model.device) for _ in range(n)]
    with torch.no_grad():
        for name, parameter in (pair for layer in new for pair in layer.named_parameters()):
            if parameter.ndim == 1:
                parameter.fill_(1.0 if "norm" in name else 0.0)
            elif name.startswith(_OUTPUTS):
                parameter.zero_()
            else:
                parameter.normal_(0.0, _TEXT_RANGE, generator=generator)
    language_model.layers = type(layers)([*new, *layers])
    for index, layer in enumerate(language_model.layers):
        layer.self_attn.layer_idx = index
    for one in (config, model.config.text_config):
        one.num_hidden_layers = len(language_model.layers)
        one.layer_types = [one.layer_types[0]] * one.num_hidden_layers
    return new


def save_folder(folder: Path, model: Any, processor: Any) -> None:
    """Write config, weights, generation config, tokenizer, processor and chat template."""
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
