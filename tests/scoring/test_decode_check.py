"""When prefixes are shared in decoding, and that what is wrong by little is seen."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch

from tests.models import FAMILIES
from tests.scoring.prompts import TRIGGERS, groups
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.scoring import decode_check
from thinkgap.scoring.decode_cache import Continued
from thinkgap.scoring.decode_check import choose_decoding, continued, largest_difference


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_shares(family: str, tiny_backend: Callable[[str], Any], picture: Callable[..., Any]) -> None:
    backend = tiny_backend(family)
    for made in (groups(backend, picture, TRIGGERS[:3], orders=2), []):
        method = choose_decoding(backend, made)
        assert method.name == "shared", method.reason
        assert method.error is not None
        assert method.error < 1e-5
    assert largest_difference(backend, groups(backend, picture, TRIGGERS[:3], orders=1)) < 1e-5


def test_linear_attention_does_not(
    tiny_backend: Callable[[str], Any], picture: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    backend = tiny_backend("qwen3_next")
    with caplog.at_level(logging.WARNING):
        method = choose_decoding(backend, groups(backend, picture, TRIGGERS[:2], orders=1))
    assert method.name == "plain"
    assert "linear_attention layers" in method.reason
    assert "replies of qwen3_next are computed without sharing prefixes: it has linear_attention" in caplog.text


def test_rotary_frequencies_that_depend_on_the_length(tiny_backend: Callable[[str], Any]) -> None:
    method = choose_decoding(replace(tiny_backend("llama"), length_dependent=True), [])
    assert method.name == "plain"
    assert "rotary" in method.reason


@pytest.mark.parametrize(
    ("family", "spoil"),
    [
        ("llama", lambda rows: setattr(rows, "positions", rows.positions + 1)),
        ("llama", lambda rows: setattr(rows, "mask", torch.ones_like(rows.mask))),
        ("gemma3", lambda rows: setattr(rows, "mask", torch.ones_like(rows.mask))),
        ("gemma3", lambda rows: rows.cache.batch_select_indices(torch.arange(len(rows.mask)).flip(0))),
        ("qwen25vl", lambda rows: setattr(rows, "positions", rows.mask.sum(-1))),
    ],
)
def test_what_is_wrong_is_seen(
    family: str,
    spoil: Callable[[Any], object],
    tiny_backend: Callable[[str], Any],
    picture: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Positions off by one or not those of an image, padding that is seen, rows that are mixed up."""
    backend = tiny_backend(family)
    prefill = decode_check.prefill

    def spoiled(backend: Any, batch: Sequence[Any]) -> Any:
        rows, row_of = prefill(backend, batch)
        spoil(rows)
        return rows, row_of

    monkeypatch.setattr(decode_check, "prefill", spoiled)
    method = choose_decoding(backend, groups(backend, picture, TRIGGERS[:3], orders=1))
    assert method.name == "plain"
    assert "logits differ from plain ones (relative error" in method.reason
    assert method.error is not None
    assert method.error > 1e-3


def test_a_row_that_is_dropped_wrongly_is_seen(
    tiny_backend: Callable[[str], Any], picture: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = Continued.keep
    monkeypatch.setattr(Continued, "keep", lambda self, rows: keep(self, [row - 1 for row in rows]))
    backend = tiny_backend("llama")
    assert choose_decoding(backend, groups(backend, picture, TRIGGERS[:3], orders=1)).name == "plain"


def test_a_row_that_joins_wrongly_is_seen(
    tiny_backend: Callable[[str], Any], picture: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that come later and keep the padding of their own batch, so that others' columns count as theirs."""
    join = Continued.join

    def unmasked(self: Continued, other: Continued) -> None:
        join(self, other)
        self.mask = torch.ones_like(self.mask)

    monkeypatch.setattr(Continued, "join", unmasked)
    method = choose_decoding(tiny_backend("llama"), [])
    assert method.name == "plain"
    assert "logits differ from plain ones" in method.reason


def test_nan_is_no_small_difference(
    tiny_backend: Callable[[str], Any], picture: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    step = Continued.step

    def broken(self: Continued, tokens: Sequence[int]) -> None:
        step(self, tokens)
        self.logits = self.logits * float("nan")

    monkeypatch.setattr(Continued, "step", broken)
    assert choose_decoding(tiny_backend("llama"), []).name == "plain"


def test_a_model_that_fails_is_continued_plainly(
    tiny_backend: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(self: Continued, tokens: Sequence[int]) -> None:
        raise TypeError("unexpected keyword argument 'cache'")

    monkeypatch.setattr(Continued, "step", failing)
    method = choose_decoding(tiny_backend("llama"), [])
    assert method.name == "plain"
    assert method.reason == "its forward pass fails: TypeError: unexpected keyword argument 'cache'"


def test_prompts_with_and_without_images_are_tried(
    tiny_backend: Callable[[str], Any], picture: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first items of a run may all be in words; what is tried is the longest of each kind, of few prompts."""
    backend = tiny_backend("qwen25vl")
    made = groups(backend, picture, orders=3)
    tried: list[list[PreparedPrompt]] = []
    monkeypatch.setattr(decode_check, "largest_difference", lambda backend, groups: tried.extend(groups) or 0.0)
    choose_decoding(backend, [[], *made])
    assert sorted(bool(group[0].prompt.images) for group in tried) == [False, True]
    assert all(1 < len(group) <= 4 for group in tried)
    for group in tried:
        alike = [one for one in made if bool(one[0].prompt.images) == bool(group[0].prompt.images)]
        longest = max(alike, key=lambda one: max(len(prompt.prompt.input_ids) for prompt in one))
        assert {id(one) for one in group} <= {id(one) for one in longest}
        assert len({one.prompt.condition.name for one in group}) > 1


def test_a_prompt_with_its_reply_behind_it(tiny_backend: Callable[[str], Any], picture: Callable[..., Any]) -> None:
    backend = tiny_backend("qwen25vl")
    shown = groups(backend, picture, TRIGGERS[:1], orders=1)[2][0]
    longer = continued(shown, [7, 8])
    assert longer.prompt.input_ids == (*shown.prompt.input_ids, 7, 8)
    assert longer.tensors["mm_token_type_ids"].tolist() == [[*shown.tensors["mm_token_type_ids"][0].tolist(), 0, 0]]
    assert longer.tensors["pixel_values"] is shown.tensors["pixel_values"]
    assert continued(shown, []).prompt == shown.prompt
