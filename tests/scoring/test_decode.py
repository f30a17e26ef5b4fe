"""Shared decoding against `model.generate`, token by token, for every family; what it computes, and when it fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import pytest
import torch

from tests.models import FAMILIES, TEXT, VISION
from tests.scoring.generated import generate, split, stops_of, turned_head
from tests.scoring.prompts import TRIGGERS, groups
from thinkgap.errors import ModelError
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.schema import Scoring
from thinkgap.scoring import decode
from thinkgap.scoring.decode import Decoder, Method
from thinkgap.scoring.decode_cache import Continued
from thinkgap.scoring.engine import Engine
from thinkgap.scoring.levels import plan_levels
from thinkgap.scoring.packed import plan_prompts
from thinkgap.scoring.reply import Reply

CAP = 12
SHARED = Method("shared")
PLAIN = Method("plain")
Made = list[list[PreparedPrompt]]
Expected = list[list[tuple[tuple[int, ...], str]]]


def made_of(backend: Any, picture: Callable[..., Any]) -> Made:
    """Three items with no, one and two pictures, or two in words in two orders; under three conditions."""
    made = groups(backend, picture, TRIGGERS[:3], orders=1 if backend.fmt.is_vision else 2)
    return made[1:4] if backend.fmt.is_vision else made


def shown(replies: Sequence[Sequence[Reply]]) -> Expected:
    return [[(reply.token_ids, reply.finish) for reply in group] for group in replies]


_KNOWN: dict[str, tuple[Expected, tuple[int, ...]]] = {}


def generated(backend: Any, made: Made) -> tuple[Expected, tuple[int, ...]]:
    """What generate gives for `made_of`, one prompt at a time, and stop tokens with which some replies stop."""
    if backend.fmt.name not in _KNOWN:
        stops = stops_of([generate(backend, one, CAP) for group in made for one in group])
        found = [[split(generate(backend, one, CAP, stops), stops) for one in group] for group in made]
        assert {finish for group in found for _, finish in group} == {"stop", "length"}
        assert len({tokens for group in found for tokens, _ in group}) > 3
        _KNOWN[backend.fmt.name] = found, stops
    return _KNOWN[backend.fmt.name]


@pytest.fixture
def lively(tiny_backend: Callable[[str], Any]) -> Iterator[Callable[[str], Any]]:
    """`tiny_backend` of models whose replies vary."""
    with ExitStack() as stack:

        def backend(family: str) -> Any:
            found = tiny_backend(family)
            if family.startswith("gemma3"):
                stack.enter_context(turned_head(found))
            return found

        yield backend


@pytest.mark.parametrize("family", FAMILIES)
def test_replies_are_those_of_generate(family: str, lively: Callable[[str], Any], picture: Callable[..., Any]) -> None:
    backend = lively(family)
    made = made_of(backend, picture)
    lengths = {len(one.prompt.input_ids) for group in made for one in group}
    assert len(lengths) > 3
    assert min(lengths) > 16, "longer than Gemma 3's window"
    expected, stops = generated(backend, made)
    engine = Engine.of(backend, Scoring.plain)
    readings = engine.score(made)
    for batch_size in (64, 4, 1):
        replies = Decoder(backend, CAP, batch_size, stops, SHARED).decode(made)
        assert shown(replies) == expected
        for group, scored, prepared in zip(replies, readings, made, strict=True):
            for reply, one, prompt in zip(group, scored, prepared, strict=True):
                assert reply.prompt is prompt.prompt
                assert reply.label_logprobs == pytest.approx(one.reading.label_logprobs, abs=1e-4)
                assert reply.first_token_id == one.reading.top_token_id
    backwards = Decoder(backend, CAP, 4, stops, SHARED).decode([group[::-1] for group in made[::-1]])
    assert shown(backwards) == [group[::-1] for group in expected[::-1]]


@pytest.mark.parametrize("family", [family for family in FAMILIES if family != "gemma3_vision"])
def test_attention_that_takes_no_mask_of_our_own(
    family: str, unpadded: str, lively: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    """What FlashAttention 2 computes: it drops the padding of each row."""
    backend = lively(family)
    made = made_of(backend, picture)
    expected, stops = generated(backend, made)
    backend.model.set_attn_implementation({"text_config": unpadded} if backend.fmt.is_vision else unpadded)
    try:
        assert shown(Decoder(backend, CAP, 64, stops, SHARED).decode(made)) == expected
    finally:
        backend.model.set_attn_implementation("sdpa")


@pytest.mark.parametrize("family", [*TEXT, "qwen25vl", "qwen3_next"])
def test_the_plain_way_is_generate(family: str, lively: Callable[[str], Any], picture: Callable[..., Any]) -> None:
    backend = lively(family)
    made = made_of(backend, picture)
    expected, stops = generated(backend, made)
    readings = Engine.of(backend, Scoring.plain).score(made)
    decoder = Decoder(backend, CAP, 3, stops, PLAIN)
    for group, scored in zip(decoder.decode(made), readings, strict=True):
        for reply, one in zip(group, scored, strict=True):
            assert reply.label_logprobs == pytest.approx(one.reading.label_logprobs, abs=1e-4)
            assert reply.first_token_id == one.reading.top_token_id
    assert shown(decoder.decode(made[::-1])) == expected[::-1]


@pytest.mark.parametrize("family", ["qwen25vl", "qwen3vl"])
def test_what_earlier_calls_leave_behind_does_not_matter(
    family: str, lively: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    """huggingface/transformers#36013 and its kin: rope deltas of an earlier image."""
    backend = lively(family)
    made = made_of(backend, picture)
    expected, stops = generated(backend, made)
    for method in (SHARED, PLAIN):
        for group, wanted in zip(made, expected, strict=True):
            backend.model.model.rope_deltas = torch.full((1, 1), 17)
            assert shown(Decoder(backend, CAP, 64, stops, method).decode([group])) == [wanted]


@pytest.mark.parametrize("method", [SHARED, PLAIN], ids=["shared", "plain"])
def test_the_cap_and_a_stop_as_first_token(
    method: Method, tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    backend = tiny_backend("llama")
    made = made_of(backend, picture)
    longer = Decoder(backend, CAP, 8, (), method).decode(made)
    assert {reply.finish for group in longer for reply in group} == {"length"}
    assert {len(reply.token_ids) for group in longer for reply in group} == {CAP}
    for cap in (1, 2, CAP - 1):
        for group, others in zip(Decoder(backend, cap, 8, (), method).decode(made), longer, strict=True):
            for reply, other in zip(group, others, strict=True):
                assert reply.token_ids == other.token_ids[:cap]
    firsts = {reply.first_token_id for group in longer for reply in group}
    assert len(firsts) > 1
    stop = min(firsts)
    for group, others in zip(Decoder(backend, CAP, 8, (stop,), method).decode(made), longer, strict=True):
        for reply, other in zip(group, others, strict=True):
            assert reply.first_token_id == other.token_ids[0]
            if reply.first_token_id == stop:
                assert (reply.token_ids, reply.finish) == ((), "stop")
    # A stop token that is the last one allowed: the reply stopped. One more is never looked at.
    tokens = next(reply.token_ids for group in longer for reply in group)
    end = next(place for place, token in enumerate(tokens) if place and token not in tokens[:place])
    for cap, wanted in ((end + 1, (tokens[:end], "stop")), (end, (tokens[:end], "length"))):
        assert shown(Decoder(backend, cap, 8, (tokens[end],), method).decode([made[0][:1]])) == [[wanted]]


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rows of every step."""
    rows: list[int] = []
    step = Continued.step

    def counted(self: Continued, tokens: Sequence[int]) -> None:
        rows.append(len(tokens))
        step(self, tokens)

    monkeypatch.setattr(Continued, "step", counted)
    return rows


def test_equal_prompts_share_a_row(
    watched: list[int], tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    backend = tiny_backend("llama")
    made = groups(backend, picture, TRIGGERS, orders=1)
    replies = Decoder(backend, CAP, 64, (), SHARED).decode(made)
    assert watched == [10] * (CAP - 1), "of twelve prompts two are equal to others"
    for group in replies:
        assert group[1].token_ids == group[5].token_ids
        assert (group[1].prompt.condition.name, group[5].prompt.condition.name) == ("let", "same_as_let")


def test_rows_that_ended_are_dropped(
    watched: list[int], tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    backend = tiny_backend("llama")
    made = made_of(backend, picture)
    expected, stops = generated(backend, made)
    assert shown(Decoder(backend, CAP, 64, stops, SHARED).decode(made)) == expected
    # A row needs a step for each of its tokens but the last, which nothing follows; stop tokens count.
    steps = [len(tokens) - (finish == "length") for group in expected for tokens, finish in group]
    assert len(watched) == max(steps)
    assert watched == sorted(watched, reverse=True)
    assert watched[0] == len(steps) > watched[-1]
    for number, rows in enumerate(watched):
        needed = sum(one > number for one in steps)
        assert needed <= rows
        assert needed > 3 / 4 * rows, "at most a quarter of a batch is computed in vain"


@pytest.mark.parametrize("family", VISION)
def test_prefixes_and_images_are_computed_once(
    family: str, tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    backend = tiny_backend(family)
    made = groups(backend, picture, TRIGGERS[:3], orders=2)[2:4]
    heads: list[tuple[int, ...]] = []
    encoded: list[int] = []
    tower = backend.model.model.visual if family.startswith("qwen") else backend.model.model.vision_tower
    hooks = [
        backend.structure.head.register_forward_hook(lambda module, given, output: heads.append(tuple(output.shape))),
        tower.register_forward_hook(lambda *call: encoded.append(1)),
    ]
    try:
        decoder = Decoder(backend, 4, 64, (), SHARED)
        decoder.decode(made)
    finally:
        for hook in hooks:
            hook.remove()
    assert len(encoded) == 2, "one call for the images of each item"
    assert {shape[-2] for shape in heads} == {1}, "logits of one position a row"
    assert max(shape[0] for shape in heads) == 12
    plans = [plan_levels(plan_prompts(backend, group).trie) for group in made]
    assert decoder.counts.computed_prompt_tokens == sum(plan.tokens for plan in plans)
    assert decoder.counts.computed_prompt_tokens < decoder.counts.prompt_tokens / 2
    assert (decoder.counts.replies, decoder.counts.new_tokens) == (12, 48)


@pytest.mark.parametrize("method", [SHARED, PLAIN], ids=["shared", "plain"])
def test_each_reply_is_told_once_as_it_ends(
    method: Method, tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    backend = tiny_backend("llama")
    made = [*made_of(backend, picture), []]
    _, stops = generated(backend, made[:-1])
    told: list[tuple[int, Reply]] = []
    replies = Decoder(backend, CAP, 64, stops, method).decode(made, lambda *one: told.append(one))
    assert replies[-1] == []
    assert len(told) == sum(map(len, made))
    assert {id(reply) for _, reply in told} == {id(reply) for group in replies for reply in group}
    assert all(any(reply is one for one in replies[number]) for number, reply in told)
    if method is SHARED:
        lengths = [len(reply.token_ids) + (reply.finish == "stop") for _, reply in told]
        assert lengths == sorted(lengths), "those of one batch come in the order in which they end"


@pytest.mark.parametrize("late", [False, True], ids=["in the prompts", "in a reply"])
def test_memory_that_does_not_suffice_halves_the_batch(
    late: bool, tiny_backend: Callable[[str], Any], picture: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = tiny_backend("llama")
    made = made_of(backend, picture)
    expected, stops = generated(backend, made)
    step, prefill, room = Continued.step, decode.prefill, 4

    def bounded_step(self: Continued, tokens: Sequence[int]) -> None:
        if late and len(tokens) > room and self.mask.shape[1] % 5 == 0:
            raise torch.OutOfMemoryError("full")
        step(self, tokens)

    def bounded_prefill(backend: Any, batch: Sequence[Any]) -> Any:
        if not late and sum(len(one.prompts) for one in batch) > room:
            raise torch.OutOfMemoryError("full")
        return prefill(backend, batch)

    monkeypatch.setattr(Continued, "step", bounded_step)
    monkeypatch.setattr(decode, "prefill", bounded_prefill)
    told: list[int] = []
    replies = Decoder(backend, CAP, 64, stops, SHARED).decode(made, lambda number, reply: told.append(number))
    assert shown(replies) == expected
    assert len(told) == sum(map(len, made))
    room = 0
    if not late:
        with pytest.raises(ModelError, match="out of memory on one prompt of .* tokens .item (short|long).*max_length"):
            Decoder(backend, CAP, 64, stops, SHARED).decode(made)


def test_logits_that_are_not_finite_name_the_item(
    tiny_backend: Callable[[str], Any], picture: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = tiny_backend("llama")
    made = made_of(backend, picture)
    step = Continued.step

    def broken(self: Continued, tokens: Sequence[int]) -> None:
        step(self, tokens)
        if self.mask.shape[1] == len(made[1][0].prompt.input_ids) + 3:
            self.logits = self.logits.index_fill(1, torch.tensor(7), float("nan"))

    monkeypatch.setattr(Continued, "step", broken)
    with pytest.raises(ModelError, match="item long, condition direct: .* not finite after 3 tokens of its reply"):
        Decoder(backend, CAP, 64, (), SHARED).decode([made[1][:1]])
    head = backend.structure.head
    calls: list[int] = []

    def spoiled(module: Any, given: Any, output: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return output * float("nan") if len(calls) == 3 else output

    hook = head.register_forward_hook(spoiled)
    try:
        with pytest.raises(ModelError, match="item long, condition direct: .* not finite in its reply"):
            Decoder(backend, CAP, 64, (), PLAIN).decode([made[1][:1]])
    finally:
        hook.remove()


@pytest.mark.parametrize(("cap", "batch_size"), [(0, 4), (4, 0)])
def test_settings_that_cannot_be(cap: int, batch_size: int, tiny_backend: Callable[[str], Any]) -> None:
    with pytest.raises(ValueError, match="must be at least 1"):
        Decoder(tiny_backend("llama"), cap, batch_size, (), SHARED)
