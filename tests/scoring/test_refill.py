"""Places that are taken anew while others go on: the same tokens as `model.generate` on each prompt alone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import pytest
import torch

from tests.models import TEXT, VOCABULARY
from tests.scoring.generated import generate, split, stops_of, turned_head
from tests.scoring.prompts import TRIGGERS, groups
from thinkgap.errors import ModelError
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.scoring import decode, greedy
from thinkgap.scoring.cache_room import ROOM, RoomyLayer
from thinkgap.scoring.decode import Decoder, Method
from thinkgap.scoring.decode_cache import Continued
from thinkgap.scoring.packed import plan_prompts
from thinkgap.scoring.reply import Reply
from thinkgap.types import Condition, Item, Presentation, Prompt, Request

CAP = 16
SHARED = Method("shared")
# Gemma 3's window is 16: prompts that end before, at and after it, in any order.
LENGTHS = (3, 90, 15, 40, 16, 5, 17, 70, 14, 8)
Made = list[list[PreparedPrompt]]
Expected = list[list[tuple[tuple[int, ...], str]]]


def raw(length: int) -> PreparedPrompt:
    """A prompt of arbitrary tokens."""
    condition = Condition("direct", "trigger", Request.label)
    shown = Presentation(Item(f"n{length}", f"n{length}", "", ("a", "b"), 0, "mcq", "test"), (0, 1), ("A", "B"))
    drawn = torch.randint(3, VOCABULARY, (length,), generator=torch.Generator().manual_seed(length))
    return PreparedPrompt(Prompt(shown, condition, "", tuple(drawn.tolist()), ((0,), (1,)), ()))


def varied(backend: Any, picture: Callable[..., Any]) -> Made:
    """Prompts of very different lengths; an image-text model's with up to three pictures, some in groups."""
    if not backend.fmt.is_vision:
        return [[raw(length)] for length in LENGTHS]
    shown = groups(backend, picture, TRIGGERS[:2], orders=1)
    return [[raw(length)] for length in LENGTHS[:5]] + shown[2:] + [[shown[3][0]]]


def written_of(replies: Sequence[Sequence[Reply]]) -> Expected:
    return [[(reply.token_ids, reply.finish) for reply in group] for group in replies]


def generated(backend: Any, made: Made) -> tuple[Expected, tuple[int, ...]]:
    """One prompt at a time, and stop tokens with which replies end at different lengths."""
    free = [[generate(backend, one, CAP) for one in group] for group in made]
    stops = stops_of([one for group in free for one in group])
    found = []
    for group in free:
        ends = [next((place + 1 for place, token in enumerate(one) if token in stops), CAP) for one in group]
        found.append([split(one[:end], stops) for one, end in zip(group, ends, strict=True)])
    assert {finish for group in found for _, finish in group} == {"stop", "length"}
    assert len({len(tokens) for group in found for tokens, _ in group}) > 1
    return found, stops


@pytest.fixture
def text(
    tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> tuple[Any, Made, Expected, tuple[int, ...]]:
    """A model, prompts, their replies, and the tokens that end them."""
    backend = tiny_backend("llama")
    made = varied(backend, picture)
    return backend, made, *generated(backend, made)


@pytest.mark.parametrize("family", [*TEXT, "qwen25vl", "qwen3vl", "llava"])
def test_refilled_is_one_by_one(
    family: str, tiny_backend: Callable[[str], Any], picture: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On three and five places, with rows set aside and not, and with few prompts looked through."""
    backend = tiny_backend(family)
    made = varied(backend, picture)
    joined = 0
    join = Continued.join

    def counted(self: Continued, other: Continued) -> None:
        nonlocal joined
        joined += 1
        join(self, other)

    monkeypatch.setattr(Continued, "join", counted)
    with turned_head(backend) if family.startswith("gemma3") else nullcontext():
        expected, stops = generated(backend, made)
        assert written_of(Decoder(backend, CAP, 3, stops, SHARED).decode(made)) == expected
        assert joined > 2
        # Any row that is longer than the mean leaves and comes back.
        monkeypatch.setattr(greedy, "_LONG", 1)
        monkeypatch.setattr(greedy, "_LONG_FROM", 1)
        split_rows: list[int] = []
        apart = Continued.split
        monkeypatch.setattr(Continued, "split", lambda self, rows: split_rows.append(len(rows)) or apart(self, rows))
        replies = Decoder(backend, CAP, 5, stops, SHARED).decode(iter(made[::-1]), ahead=6)
        assert written_of(replies) == expected[::-1]
        assert split_rows


def test_columns_that_nobody_needs_are_cut(text: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is held follows the rows that are there, not the cap and not a prompt that ended."""
    backend, made, _, _ = text
    widths: list[tuple[int, int, int]] = []
    update = RoomyLayer.update

    def watched(self: RoomyLayer, *given: Any, **named: Any) -> Any:
        found = update(self, *given, **named)
        assert self._rooms is not None
        widths.append((len(found[0]), found[0].shape[-2], self._rooms[0].shape[-2]))
        return found

    monkeypatch.setattr(RoomyLayer, "update", watched)
    lengths = {len(one.prompt.input_ids): one for group in made for one in group}
    stop = generate(backend, lengths[90], 4)[3]
    ends = {}
    for length in (90, 3, 5, 8):
        row = generate(backend, lengths[length], CAP)
        ends[length] = next((place + 1 for place, token in enumerate(row) if token == stop), CAP)
    assert ends[90] <= 4 < ends[3]
    Decoder(backend, 8192, 4, (stop,), SHARED).decode([[lengths[90]]])
    assert max(room for *_, room in widths) <= 90 + 4 + ROOM + 1
    widths.clear()
    Decoder(backend, CAP, 4, (stop,), SHARED).decode([[lengths[length]] for length in (90, 3, 5, 8)])
    assert widths[0][:2] == (4, 91)
    last = [columns for rows, columns, _ in widths if rows <= 3]
    assert last[0] <= 8 + 6
    assert max(last) <= 8 + CAP
    assert all(columns <= room <= columns + ROOM for _, columns, room in widths)


def test_rows_by_themselves_do_not_hold_on_to_the_others(text: Any) -> None:
    """Three rows of 91 columns, with room: one of 90 tokens leaves two of 14 and 7, each with its next token."""
    backend, *_ = text
    cache, _ = decode.prefill(backend, [plan_prompts(backend, [raw(length)]) for length in (90, 14, 7)])
    cache.step([5, 5, 5])
    apart = cache.split({0})
    for one, rows, width in ((apart, 1, 91), (cache, 2, 15)):
        assert one.lengths == [91] if one is apart else [15, 8]
        for layer in one.cache.layers:
            for held in (layer.keys, layer.values):
                assert held.shape[0] == rows
                assert held.shape[2] == width
                assert held.untyped_storage().nbytes() == held.numel() * held.element_size()
            assert layer._rooms is None


def test_prompts_are_looked_for_when_they_are_needed(text: Any) -> None:
    backend, made, expected, stops = text
    given = told = 0
    most = 0

    def lazily() -> Iterator[list[PreparedPrompt]]:
        nonlocal given, most
        for group in made:
            given += 1
            most = max(most, given - told)
            yield group

    def count(number: int, reply: Reply) -> None:
        nonlocal told
        told += 1

    replies = Decoder(backend, CAP, 2, stops, SHARED).decode(lazily(), count, ahead=3)
    assert written_of(replies) == expected
    assert given == told == len(LENGTHS)
    assert most <= 2 + 3, "on the places, and looked through"


def test_memory_that_fails_while_places_are_refilled(
    text: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """In a step and in the prompts that join, not only at the start; each reply is told once."""
    backend, made, expected, stops = text
    step, prefill = Continued.step, decode.prefill
    calls = {"step": 0, "prefill": 0}

    def failing_step(self: Continued, tokens: Sequence[int]) -> None:
        calls["step"] += 1
        if calls["step"] == 7:
            raise torch.OutOfMemoryError("full")
        step(self, tokens)

    def failing_prefill(backend: Any, batch: Sequence[Any]) -> Any:
        calls["prefill"] += 1
        if calls["prefill"] == 2:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
        return prefill(backend, batch)

    monkeypatch.setattr(Continued, "step", failing_step)
    monkeypatch.setattr(decode, "prefill", failing_prefill)
    told: list[int] = []
    decoder = Decoder(backend, CAP, 4, stops, SHARED)
    with caplog.at_level(logging.INFO):
        replies = decoder.decode(iter(made), lambda number, reply: told.append(number), ahead=6)
    assert written_of(replies) == expected
    assert sorted(told) == list(range(len(LENGTHS)))
    assert "out of memory on 4 prompts: going on with 2 at a time" in caplog.text
    assert caplog.text.count("out of memory") == 2
    assert decoder.batch_size == 4


def test_one_prompt_that_does_not_fit(text: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named; what fits is told before."""
    backend, made, _, stops = text
    step = Continued.step

    def bounded(self: Continued, tokens: Sequence[int]) -> None:
        if self.mask.shape[1] > 72:
            raise torch.OutOfMemoryError("full")
        step(self, tokens)

    monkeypatch.setattr(Continued, "step", bounded)
    with pytest.raises(ModelError, match=r"out of memory on one prompt of 90 tokens \(item n90\)"):
        Decoder(backend, CAP, 4, stops, SHARED).decode(made)


def test_memory_that_fails_where_prompts_are_built_ends_the_run(text: Any) -> None:
    """What is left of them would be lost: an iterator that raised cannot be gone on with."""
    backend, made, _, stops = text

    def breaking() -> Iterator[list[PreparedPrompt]]:
        yield from made[:5]
        raise MemoryError("no room for pixels")

    with pytest.raises(MemoryError, match="no room for pixels"):
        Decoder(backend, CAP, 2, stops, SHARED).decode(breaking(), ahead=3)


def test_single_prompts_share_what_they_have_in_common(
    tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    """One condition, several items: the opening of the chat template is computed once a round."""
    backend = tiny_backend("llama")
    made = [group[:1] for group in groups(backend, picture, TRIGGERS[:1], orders=1)] * 2
    decoder = Decoder(backend, 4, 8, (), SHARED)
    replies = decoder.decode(made)
    assert written_of(replies) == [[(tuple(generate(backend, group[0], 4)), "length")] for group in made]
    distinct = sum(len(group[0].prompt.input_ids) for group in made[:2])
    assert decoder.counts.computed_prompt_tokens < distinct < decoder.counts.prompt_tokens
