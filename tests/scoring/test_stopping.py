"""Which tokens end a reply, when one ends, and what of a checkpoint's settings is not applied."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import GenerationConfig

from tests.models import FAMILIES
from tests.scoring.generated import generate
from tests.scoring.prompts import TRIGGERS, groups
from thinkgap.scoring.decode import Decoder, Method
from thinkgap.scoring.greedy import _most_probable, ending
from thinkgap.scoring.stopping import ignored_settings, stop_ids, turn_end


@contextmanager
def template_of(fmt: Any, template: str) -> Iterator[None]:
    before, fmt._template_host.chat_template = fmt._template_host.chat_template, template
    try:
        yield
    finally:
        fmt._template_host.chat_template = before


@contextmanager
def config_of(model: Any, **settings: Any) -> Iterator[None]:
    before, model.generation_config = model.generation_config, GenerationConfig(**settings)
    try:
        yield
    finally:
        model.generation_config = before


@pytest.mark.parametrize("family", FAMILIES)
def test_all_that_name_an_end_are_heard(family: str, tiny_backend: Callable[[str], Any]) -> None:
    backend = tiny_backend(family)
    tokenizer = backend.fmt.tokenizer
    turn = tokenizer.convert_tokens_to_ids("<|im_end|>")
    # The tiny models' configs say 2, which is SmolLM2's <|im_end|>; its tokenizer may name another.
    expected = {2, turn, tokenizer.eos_token_id}
    with config_of(backend.model):
        assert stop_ids(backend) == tuple(sorted(expected))
    with config_of(backend.model, eos_token_id=[17, 5]):
        assert stop_ids(backend) == tuple(sorted(expected | {5, 17}))
    with config_of(backend.model, eos_token_id=9):
        assert stop_ids(backend) == tuple(sorted(expected | {9}))


_CLOSED = "{% for m in messages %}[{{ m.role }}]{{ m.content }}CLOSE{% endfor %}"


@pytest.mark.parametrize(
    ("close", "token"),
    [
        ("<|im_end|>\n", "<|im_end|>"),
        ("\n<|im_end|>", "<|im_end|>"),
        (" <repo_name><|im_end|>", "<repo_name>"),
        ("", None),
        ("\n", None),
        ("END", None),
        (".<|im_end|>", None),  # not right after the text
        ("</s>", None),  # no control token of this tokenizer
    ],
)
def test_the_token_that_closes_a_turn(close: str, token: str | None, tiny_backend: Callable[[str], Any]) -> None:
    fmt = tiny_backend("llama").fmt
    with template_of(fmt, _CLOSED.replace("CLOSE", "{{ '" + close.replace("\n", "\\n") + "' }}")):
        expected = None if token is None else fmt.tokenizer.convert_tokens_to_ids(token)
        assert turn_end(fmt) == expected


def test_no_template_closes_nothing(tiny_backend: Callable[[str], Any]) -> None:
    fmt = tiny_backend("llama").fmt
    fmt.chat_template = False
    try:
        assert turn_end(fmt) is None
    finally:
        fmt.chat_template = True


def test_a_model_without_any_end() -> None:
    """Every reply then runs to its cap."""
    config = SimpleNamespace(eos_token_id=None, get_text_config=lambda: SimpleNamespace())
    fmt = SimpleNamespace(tokenizer=SimpleNamespace(eos_token_id=None), chat_template=False)
    backend: Any = SimpleNamespace(model=SimpleNamespace(config=config), fmt=fmt)
    assert stop_ids(backend) == ()


@pytest.mark.parametrize("method", ["shared", "plain"])
def test_a_penalty_of_the_checkpoint_is_not_applied_and_told(
    method: Any, tiny_backend: Callable[[str], Any], picture: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Qwen2.5-VL's own generation config has repetition_penalty=1.05."""
    backend = tiny_backend("llama")
    made = groups(backend, picture, TRIGGERS[:3], orders=1)
    plain = [[tuple(generate(backend, one, 12)) for one in group] for group in made]
    first = [tokens[0] for group in plain for tokens in group]
    settings = {"repetition_penalty": 1.9, "suppress_tokens": first[:1], "do_sample": True, "temperature": 5.0}
    with config_of(backend.model, **settings), caplog.at_level(logging.INFO):
        own = backend.model.generate(torch.tensor([made[0][0].prompt.input_ids]), max_new_tokens=12, do_sample=False)
        assert tuple(own[0, len(made[0][0].prompt.input_ids) :].tolist()) != plain[0][0], "it would change replies"
        decoder = Decoder(backend, 12, 8, (), Method(method))
        replies = decoder.decode(made)
        assert backend.model.generation_config.repetition_penalty == 1.9
    assert [[reply.token_ids for reply in group] for group in replies] == plain
    assert "repetition_penalty=1.9" in caplog.text
    assert "argmax of its raw logits" in caplog.text
    with config_of(backend.model, **settings):
        described = decoder.describe()
    assert described["choice_of_tokens"] == "argmax of the raw logits"
    assert described["ignored_generation_config"] == {"repetition_penalty": 1.9, "suppress_tokens": first[:1]}
    assert described["method"] == method


@pytest.mark.parametrize(
    ("settings", "ignored"),
    [
        ({}, {}),
        ({"repetition_penalty": 1.0, "no_repeat_ngram_size": 0, "num_beams": 1, "suppress_tokens": []}, {}),
        # Sampling changes nothing for greedy search.
        ({"do_sample": True, "temperature": 0.1, "top_k": 1, "top_p": 0.01}, {}),
        ({"repetition_penalty": 1.05, "do_sample": True}, {"repetition_penalty": 1.05}),
        ({"min_new_tokens": 2, "num_beams": 4}, {"min_new_tokens": 2, "num_beams": 4}),
        ({"begin_suppress_tokens": [220]}, {"begin_suppress_tokens": [220]}),
        ({"forced_bos_token_id": 0}, {"forced_bos_token_id": 0}),
    ],
)
def test_settings_that_would_change_a_greedy_reply(settings: dict[str, Any], ignored: dict[str, Any]) -> None:
    assert ignored_settings(SimpleNamespace(generation_config=GenerationConfig(**settings))) == ignored
    assert ignored_settings(SimpleNamespace()) == {}


def test_a_reply_ends_by_hand() -> None:
    assert ending([5], 3, {9}) is None
    assert ending([5, 6], 3, {9}) is None
    assert ending([5, 6, 7], 3, {9}) == ((5, 6, 7), "length")
    assert ending([5, 6, 9], 3, {9}) == ((5, 6), "stop")
    assert ending([9], 3, {9}) == ((), "stop")
    assert ending([9], 1, ()) == ((9,), "length")


def test_of_equal_logits_the_first_token_is_taken() -> None:
    least, nan = -math.inf, math.nan
    rows = [[1.0, 3.0, 3.0], [2.0, 2.0, 2.0], [least, least, 0.0], [nan, 5.0, 1.0], [0.0, math.inf, 1.0], [least] * 3]
    assert _most_probable(torch.tensor(rows)) == [1, 0, 2, -1, -1, -1]
