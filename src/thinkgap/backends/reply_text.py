"""What a local model wrote, as text: with the tags around its thinking, without what ends, fills or frames a turn.

Knows no reading of a reply.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from thinkgap.backends.format import TextFormat
from thinkgap.responses.normalise import THINK_TAGS
from thinkgap.types import Thinking

_NAMED = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
"""Special tokens that have a name of their own in a tokenizer."""


def reply_decoder(fmt: TextFormat, stop_ids: Collection[int]) -> Callable[[Sequence[int]], str]:
    """A function from the token ids of a reply to its text.

    It leaves out stop tokens, the tokenizer's own start, end and fill tokens, and the special tokens that the chat
    template writes around turns. Everything else stays, also if the tokenizer calls it special: many do so with
    `<think>` and `</think>`, and without them thinking would pass for the answer's visible text.

    Args:
        fmt: the model's tokenizer and template.
        stop_ids: tokens that end a reply.
    """
    tokenizer = fmt.tokenizer
    named = {getattr(tokenizer, f"{name}_token_id", None) for name in _NAMED}
    dropped = {*stop_ids, *named, *_turn_ids(fmt)} - _tag_ids(fmt) - {None}

    def text_of(token_ids: Sequence[int]) -> str:
        return tokenizer.decode([token for token in token_ids if token not in dropped], skip_special_tokens=False)

    return text_of


def _turn_ids(fmt: TextFormat) -> set[int]:
    """Special tokens of a rendered conversation."""
    if not fmt.chat_template:
        return set()
    said = [[{"type": "text", "text": text}] if fmt.is_vision else text for text in ("q", "a", "q")]
    turns = zip(("user", "assistant", "user"), said, strict=True)
    text = fmt.apply_template(
        [{"role": role, "content": content} for role, content in turns],
        generation_prompt=True,
        thinking=Thinking.default,
    )
    return set(fmt.tokenize(text)) & set(fmt.tokenizer.all_special_ids)


def _tag_ids(fmt: TextFormat) -> set[int]:
    """Added tokens that are tags around thinking."""
    added = fmt.tokenizer.added_tokens_decoder.items()
    return {number for number, token in added if str(token).strip() in THINK_TAGS}
