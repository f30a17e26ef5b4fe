"""Replies as text: which special tokens stay in it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from thinkgap.backends.format import TextFormat
from thinkgap.backends.reply_text import reply_decoder
from thinkgap.responses import split_reasoning
from thinkgap.schema import ThinkingSwitch

EXTRA = ("<think>", "</think>", "◁think▷", "◁/think▷", "<|tool|>", "<|done|>")


@pytest.fixture
def fmt(smollm2_tokenizer: Any) -> TextFormat:
    """SmolLM2's tokenizer with further tokens, all of them marked special."""
    tokenizer = deepcopy(smollm2_tokenizer)
    tokenizer.add_special_tokens({"extra_special_tokens": list(EXTRA)})
    return TextFormat("marked", tokenizer, tokenizer, False, 4096, ThinkingSwitch())


def ids_of(fmt: TextFormat, text: str) -> list[int]:
    return fmt.tokenizer(text, add_special_tokens=False).input_ids


@pytest.mark.parametrize(("opening", "closing"), [EXTRA[:2], EXTRA[2:4]])
def test_special_think_tags_stay_so_that_thinking_is_parted_from_the_answer(
    fmt: TextFormat, opening: str, closing: str
) -> None:
    said = f"{opening}\nIce is lighter.\n{closing}\n\n\\boxed{{yes}}"
    ids = ids_of(fmt, said)
    assert {opening, closing} <= set(fmt.tokenizer.convert_ids_to_tokens(ids)), "a token each"
    assert opening not in fmt.tokenizer.decode(ids, skip_special_tokens=True), "transformers would drop them"
    text = reply_decoder(fmt, [])(ids)
    assert text == said
    parts = split_reasoning(text)
    assert (parts.reasoning, parts.visible.strip()) == ("Ice is lighter.", "\\boxed{yes}")


def test_what_ends_fills_or_frames_a_turn_is_left_out_and_nothing_else(fmt: TextFormat) -> None:
    (done,) = ids_of(fmt, "<|done|>")
    text_of = reply_decoder(fmt, [done])
    framed = "<|im_start|>assistant\nB<|tool|> é<|im_end|><|endoftext|>" + str(fmt.tokenizer.pad_token) + "<|done|>"
    assert text_of(ids_of(fmt, framed)) == "assistant\nB<|tool|> é"
    assert reply_decoder(fmt, [])([done]) == "<|done|>", "only a stop token where it is one"
    plain = ids_of(fmt, " The answer is 7.\n")
    assert text_of(plain) == fmt.tokenizer.decode(plain, skip_special_tokens=True) == " The answer is 7.\n"


def test_without_a_template_there_are_no_turns(fmt: TextFormat, smollm2_tokenizer: Any) -> None:
    base = TextFormat("base", fmt.tokenizer, fmt.tokenizer, False, 4096, ThinkingSwitch(), chat_template=False)
    assert reply_decoder(base, [])(ids_of(fmt, "7<|im_end|>")) == "7"
