"""Replies of a run: from the store or generated, lazily built, kept when the run is interrupted."""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.items import mcq, shown
from tests.scoring.generated import generate
from tests.scoring.prompts import TRIGGERS
from thinkgap.errors import LabelError, StoreError
from thinkgap.evaluation import generate as evaluated
from thinkgap.evaluation.generate import ItemPrompts, generate_replies, open_replies, reply_context
from thinkgap.prompts.build import PreparedPrompt, PromptBuilder
from thinkgap.scoring.decode import Decoder, Method
from thinkgap.scoring.decode_cache import Continued
from thinkgap.scoring.reply import Reply
from thinkgap.store.replies import ReplyStore
from thinkgap.types import Presentation

CAP = 6
SHARED = Method("shared")


@pytest.fixture
def backend(tiny_backend: Callable[[str], Any]) -> Any:
    return tiny_backend("llama")


def decoder_of(backend: Any, cap: int = CAP, batch_size: int = 2) -> Decoder:
    return Decoder(backend, cap, batch_size, (), SHARED)


def items(count: int = 6) -> list[list[Presentation]]:
    return [[shown(mcq(f"q{number}", question=f"Which of {number} is it?"))] for number in range(count)]


def prompts_of(backend: Any, count: int = 6, conditions: int = 2) -> ItemPrompts:
    return ItemPrompts(items(count), PromptBuilder(backend.fmt, TRIGGERS[:conditions]))


def tokens(replies: Sequence[Sequence[Reply]]) -> list[list[tuple[int, ...]]]:
    return [[reply.token_ids for reply in group] for group in replies]


def names(replies: Sequence[Sequence[Reply]]) -> list[list[tuple[str, str]]]:
    return [[(one.prompt.presentation.item.id, one.prompt.condition.name) for one in group] for group in replies]


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """Sizes of the groups that each call of the decoder was given."""
    calls: list[list[int]] = []
    decode = Decoder.decode

    def counted(self: Decoder, groups: Iterable[Any], *rest: Any, **named: Any) -> Any:
        sizes: list[int] = []
        calls.append(sizes)
        return decode(self, (sizes.append(len(group)) or group for group in groups), *rest, **named)

    monkeypatch.setattr(Decoder, "decode", counted)
    return calls


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rows of every step."""
    rows: list[int] = []
    step = Continued.step

    def counted(self: Continued, tokens: Sequence[int]) -> None:
        rows.append(len(tokens))
        step(self, tokens)

    monkeypatch.setattr(Continued, "step", counted)
    return rows


def test_every_prompt_is_answered_in_order(backend: Any) -> None:
    groups = prompts_of(backend)
    expected = [[tuple(generate(backend, one, CAP)) for one in group] for group in groups]
    for given in (groups, list(groups), iter(groups)):
        replies = generate_replies(given, decoder_of(backend), None, shown=False)
        assert tokens(replies) == expected
        assert names(replies) == [[(f"q{number}", "direct"), (f"q{number}", "let")] for number in range(6)]
    assert generate_replies([], decoder_of(backend), None, shown=False) == []
    assert generate_replies([[], []], decoder_of(backend), None, shown=False) == [[], []]


def test_finished_replies_are_not_generated_again(
    backend: Any, tmp_path: Path, computed: list[list[int]], caplog: pytest.LogCaptureFixture
) -> None:
    decoder = decoder_of(backend)
    first = generate_replies(prompts_of(backend, 4, 1), decoder, open_replies(tmp_path, "m", decoder), shown=False)
    assert sum(map(sum, computed)) == 4
    computed.clear()
    # Two more items and a further condition: the direct ones of the first four are there.
    with caplog.at_level(logging.INFO):
        store = open_replies(tmp_path, "m", decoder)
    assert "4 finished replies of this model" in caplog.text
    replies = generate_replies(prompts_of(backend), decoder, store, shown=False)
    assert sum(map(sum, computed)) == 12 - 4
    assert [group[0] for group in tokens(replies)[:4]] == [group[0] for group in tokens(first)]
    assert tokens(replies) == tokens(generate_replies(prompts_of(backend), decoder, None, shown=False))
    assert names(replies) == [[(f"q{number}", "direct"), (f"q{number}", "let")] for number in range(6)]
    computed.clear()
    again = generate_replies(prompts_of(backend), decoder, open_replies(tmp_path, "m", decoder), shown=False)
    assert again == replies
    assert sum(map(sum, computed)) == 0


def test_what_is_missing_fills_batches(
    backend: Any, tmp_path: Path, computed: list[list[int]], steps: list[int]
) -> None:
    """One of two conditions is there: the decoder gets the others as one stream, and its batches are full."""
    decoder = decoder_of(backend, batch_size=4)
    store = open_replies(tmp_path, "m", decoder)
    generate_replies(prompts_of(backend, 40, 1), decoder, store, shown=False)
    computed.clear()
    steps.clear()
    generate_replies(prompts_of(backend, 40, 2), decoder, store, shown=False)
    assert computed == [[1] * 40]
    # Six tokens take five steps: 40 prompts on 4 places are 10 times 5 steps, also where a block of 16 ends.
    assert steps == [4] * 50


def test_a_long_reply_holds_nobody_beyond_a_block(backend: Any, steps: list[int]) -> None:
    """Replies of unequal length: until no prompt is left, every place is taken."""
    free = decoder_of(backend)
    written = [
        one for group in tokens(generate_replies(prompts_of(backend, 40), free, None, shown=False)) for one in group
    ]
    stop = Counter(token for reply in written for token in set(reply)).most_common(1)[0][0]
    decoder = Decoder(backend, CAP, 2, (stop,), SHARED)
    steps.clear()
    replies = generate_replies(prompts_of(backend, 40), decoder, None, shown=False)
    ended = [reply for group in replies for reply in group]
    assert len({len(reply.token_ids) for reply in ended}) > 1
    needed = sum(len(reply.token_ids) - (reply.finish == "length") for reply in ended)
    assert sum(steps) == needed, "a row that ended is not computed on"
    assert steps.count(1) < CAP, "only the last reply is alone"


def test_another_model_or_precision_has_a_folder_of_its_own(backend: Any, tmp_path: Path) -> None:
    one = open_replies(tmp_path, "m", decoder_of(backend))
    # In float32 the size of a batch changes nothing, and neither does the cap.
    assert open_replies(tmp_path, "m", decoder_of(backend, cap=50, batch_size=7)).folder == one.folder
    plain = replace(decoder_of(backend), method=Method("plain"))
    assert open_replies(tmp_path, "m", plain).folder != one.folder
    context = reply_context(decoder_of(backend))
    assert context["decoding"] == "shared"
    assert set(context) == {"model", "device", "libraries", "code", "decoding", "batch_size"}
    json.dumps(context)
    half = replace(backend, model=_as_half(backend.model))
    assert reply_context(decoder_of(half))["batch_size"] == 2
    assert context["batch_size"] is None


def _as_half(model: Any) -> Any:
    import copy

    return copy.deepcopy(model).to(torch.bfloat16)


def test_prompts_are_built_a_few_at_a_time(backend: Any) -> None:
    """Tensors of prompts that were answered are free again, and none are made long before they are needed."""
    alive: list[weakref.ref[Any]] = []
    most = 0

    def lazily() -> Iterator[list[PreparedPrompt]]:
        nonlocal most
        for group in prompts_of(backend, 40, 2):
            alive.extend(weakref.ref(one) for one in group)
            most = max(most, sum(one() is not None for one in alive))
            yield group

    assert len(generate_replies(lazily(), decoder_of(backend), None, shown=False)) == 40
    assert 8 <= most <= 24, "of eighty"


def test_items_that_cannot_be_shown_are_left_out(backend: Any) -> None:
    long = [[shown(mcq("long", question="word " * 5000))], *items(2)]
    groups = ItemPrompts(long, PromptBuilder(backend.fmt, TRIGGERS[:2]))
    replies = generate_replies(groups, decoder_of(backend), None, shown=False)
    assert [len(group) for group in replies] == [0, 2, 2]
    assert list(groups.excluded) == ["long"]
    assert "tokens" in str(groups.excluded["long"])
    assert len(groups) == 3
    labels = ItemPrompts(
        [[shown(mcq(), labels=("Aardvarkish one", "B", "C"))]], PromptBuilder(backend.fmt, TRIGGERS[:1])
    )
    with pytest.raises(LabelError):
        list(labels)


def kept(backend: Any, folder: Path) -> int:
    return len(open_replies(folder, "m", decoder_of(backend)))


@pytest.mark.parametrize("how", ["ctrl_c", "sigterm", "error"])
def test_what_has_ended_is_kept(
    how: str, backend: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    decoder = decoder_of(backend)
    expected = tokens(generate_replies(prompts_of(backend, 12), decoder, None, shown=False))
    before = signal.getsignal(signal.SIGTERM)
    keep, seen = evaluated._Keeper.keep, 0

    def interrupted(self: Any, reply: Reply) -> None:
        nonlocal seen
        keep(self, reply)
        seen += 1
        if seen == 11:
            if how == "sigterm":
                os.kill(os.getpid(), signal.SIGTERM)
            raise {"ctrl_c": KeyboardInterrupt(), "sigterm": AssertionError(), "error": RuntimeError("broken")}[how]

    with monkeypatch.context() as patch:
        patch.setattr(evaluated._Keeper, "keep", interrupted)
        with pytest.raises(RuntimeError if how == "error" else KeyboardInterrupt), caplog.at_level(logging.WARNING):
            generate_replies(
                prompts_of(backend, 12), decoder, open_replies(tmp_path, "m", decoder), shown=False, description="modes"
            )
    assert signal.getsignal(signal.SIGTERM) is before
    assert "modes was interrupted: 5 of 12 items are done; the same command goes on from what has ended" in caplog.text
    assert kept(backend, tmp_path) == 11
    again = generate_replies(prompts_of(backend, 12), decoder, open_replies(tmp_path, "m", decoder), shown=False)
    assert tokens(again) == expected
    assert kept(backend, tmp_path) == 24


def test_a_kill_while_places_are_refilled(backend: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replies of unequal length on three places: the next call computes what had not ended, and all are as before."""
    free = [
        one
        for group in tokens(generate_replies(prompts_of(backend, 8), decoder_of(backend), None, shown=False))
        for one in group
    ]
    stop = Counter(token for reply in free for token in set(reply)).most_common(1)[0][0]
    decoder = Decoder(backend, CAP, 3, (stop,), SHARED)
    expected = generate_replies(prompts_of(backend, 8), decoder, None, shown=False)
    assert len({len(reply.token_ids) for group in expected for reply in group}) > 1
    keep, seen = evaluated._Keeper.keep, 0

    def killed(self: Any, reply: Reply) -> None:
        nonlocal seen
        keep(self, reply)
        seen += 1
        if seen == 7:
            os.kill(os.getpid(), signal.SIGTERM)

    with monkeypatch.context() as patch:
        patch.setattr(evaluated._Keeper, "keep", killed)
        with pytest.raises(KeyboardInterrupt):
            generate_replies(prompts_of(backend, 8), decoder, open_replies(tmp_path, "m", decoder), shown=False)
    assert len(open_replies(tmp_path, "m", decoder)) == 7
    before = decoder.counts.replies
    again = generate_replies(prompts_of(backend, 8), decoder, open_replies(tmp_path, "m", decoder), shown=False)
    assert (tokens(again), names(again)) == (tokens(expected), names(expected))
    assert decoder.counts.replies - before == 16 - 7


def test_without_a_store_the_message_says_so(
    backend: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(*given: Any, **named: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Decoder, "decode", failing)
    with pytest.raises(KeyboardInterrupt), caplog.at_level(logging.WARNING):
        generate_replies(iter(prompts_of(backend)), decoder_of(backend), None, shown=False)
    assert "0 of an unknown number of items are done; nothing is kept" in caplog.text


def test_replies_are_written_once_a_minute(backend: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that runs 25 seconds a reply: written after three, which a kill then leaves."""
    clock = iter(range(0, 10**6, 25))
    monkeypatch.setattr(evaluated.time, "monotonic", lambda: next(clock))
    sizes: list[int] = []
    write = ReplyStore.write

    def counted(self: ReplyStore, replies: Sequence[Reply]) -> Any:
        sizes.append(len(replies))
        return write(self, replies)

    monkeypatch.setattr(ReplyStore, "write", counted)
    decoder = decoder_of(backend)
    generate_replies(prompts_of(backend, 5), decoder, open_replies(tmp_path, "m", decoder), shown=False)
    assert sum(sizes) == 10
    assert max(sizes) == 3
    assert kept(backend, tmp_path) == 10


def test_a_store_that_cannot_be_written_does_not_end_the_run(
    backend: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*given: Any) -> None:
        raise StoreError("no space left")

    monkeypatch.setattr(ReplyStore, "write", full)
    decoder = decoder_of(backend)
    with caplog.at_level(logging.WARNING):
        replies = generate_replies(prompts_of(backend), decoder, open_replies(tmp_path, "m", decoder), shown=False)
    assert [len(group) for group in replies] == [2] * 6
    assert caplog.text.count("replies are not kept from here on, the run goes on: no space left") == 1


def test_outside_the_main_thread_no_handler_is_set(backend: Any) -> None:
    found: list[Any] = []
    work = threading.Thread(
        target=lambda: found.extend(generate_replies(prompts_of(backend, 2), decoder_of(backend), None, shown=False))
    )
    work.start()
    work.join()
    assert len(found) == 2
