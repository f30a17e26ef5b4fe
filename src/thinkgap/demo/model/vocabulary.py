"""The demo model's tokenizer: byte-level BPE learned from the world's own sentences, so that its words are one token.

Any text has ids, since all bytes are in the vocabulary: a trigger that the model has never met is spelled out. It
knows no model.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

CONTROLS = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
PAD, END = "<|endoftext|>", "<|im_end|>"
ROLES = ("system", "user", "assistant")

_LARGEST = 640
_RAREST = 20
_REPEATS = 50
"""Fixed phrases count as if each were met this often, so that their words are whole tokens."""


def learn_tokenizer(sentences: Iterable[str], phrases: Iterable[str]) -> Any:
    """A fast tokenizer with `CONTROLS` as its first ids.

    Args:
        sentences: texts of the world, as often as they occur.
        phrases: prompts and answers of fixed wording.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fixed = [*phrases, *(f"{role}\n" for role in ROLES)]
    trainer = trainers.BpeTrainer(
        vocab_size=_LARGEST,
        min_frequency=_RAREST,
        special_tokens=list(CONTROLS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([*sentences, *fixed * _REPEATS], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        extra_special_tokens=[control for control in CONTROLS if control not in (PAD, END)],
        clean_up_tokenization_spaces=False,
        model_max_length=CONTEXT,
    )


CONTEXT = 1024
"""Longest sequence in tokens."""
