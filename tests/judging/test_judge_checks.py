"""Whether the place in a batch matters: judges whose labels depend on it, and one whose labels do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.judging.scripted import ScriptedAsk, entry, pairs, reply_text
from thinkgap.judging.checks import Check, compare
from thinkgap.judging.judge import ModelJudge
from thinkgap.judging.ladder import JudgeReply
from thinkgap.judging.request import JudgeRequest
from thinkgap.judging.store import JudgementStore
from thinkgap.schema import JudgeConfig
from thinkgap.types import Judgement, Pair

Items = list[dict[str, Any]]


class ScriptedAsker:
    """An `Asker` by script."""

    round_size = 2
    asked: Mapping[str, Any] = {"model": "script"}

    def __init__(self, script: Callable[[JudgeRequest, Items], str | JudgeReply | None]) -> None:
        self.ask = ScriptedAsk(script)
        self.admitted: list[list[JudgeRequest]] = []

    def admit(self, requests: Sequence[JudgeRequest]) -> None:
        self.admitted.append(list(requests))

    def describe(self) -> dict[str, Any]:
        return {"model": "script"}


def checked(tmp_path: Path, script: Any, n: int = 10, **settings: Any) -> tuple[list[Check], ScriptedAsker]:
    kept: dict[str, Any] = {"batch_size": 4, "order_check": 6, "single_check": 5}
    cfg = JudgeConfig(name="judge", **(kept | settings))
    asker = ScriptedAsker(script)
    with JudgementStore.open(tmp_path, "judge") as store:
        judge = ModelJudge(cfg, asker, store, shown=False)
        judge.judge(pairs(n))
        return judge.check(pairs(n)), asker


def test_agreement_by_hand() -> None:
    some = pairs(5)
    labels = [
        ("explicit_reasoning", "explicit_reasoning"),
        ("explicit_reasoning", "unclear"),
        ("unclear", "generic_or_off_topic"),
        ("unclear", None),
    ]
    first = {pair: Judgement(one) for pair, (one, _) in zip(some, labels, strict=False)}  # type: ignore[arg-type]
    second = {pair: Judgement(other) for pair, (_, other) in zip(some, labels, strict=False)}  # type: ignore[arg-type]
    check = compare("order check", some, first, second)
    # Three have two labels; the fourth lacks the second, the fifth was in neither reading.
    assert (check.n, check.unlabelled) == (3, 2)
    assert check.labels == tuple(labels[:3])
    # Only the first has the same label; first and third are on the same side of explicit reasoning.
    assert (check.same, check.same_explicit) == (1, 2)


def test_a_judge_that_reads_each_trace_by_itself_agrees_with_itself(tmp_path: Path) -> None:
    (order, single), asker = checked(tmp_path, lambda *_: None)
    assert (order.name, order.n, order.same) == ("order check", 8, 8), "two whole batches of four hold six traces"
    assert (single.name, single.n, single.same) == ("single check", 5, 5)
    whole = [request.ids for request in asker.ask.requests[:3]]
    assert [request.ids for request in asker.ask.requests[3:5]] == [ids[::-1] for ids in whole[:2]]
    assert [len(request.items) for request in asker.ask.requests[5:]] == [1] * 5
    # Everything was admitted before anything was asked.
    assert [len(requests) for requests in asker.admitted] == [3 + 2 + 5, 2 + 5]


def test_a_judge_that_favours_the_first_place_does_not(tmp_path: Path) -> None:
    def script(request: JudgeRequest, items: Items) -> str:
        labels = ["explicit_reasoning", *["unclear"] * (len(items) - 1)]
        return reply_text([{**entry(item), "label": label} for item, label in zip(items, labels, strict=True)])

    (order, single), _ = checked(tmp_path, script)
    # In each batch of four the first and the last change places.
    assert (order.n, order.same) == (8, 4)
    firsts = sum(one == "explicit_reasoning" for one, _ in single.labels)
    assert (single.n, single.same) == (5, firsts), "alone each is first"
    assert firsts < 5


def test_checks_are_judged_once(tmp_path: Path) -> None:
    first, _ = checked(tmp_path, lambda *_: None)
    second, asker = checked(tmp_path, lambda *_: pytest.fail("nothing may be asked"))
    assert second == first
    assert asker.ask.requests == []


def test_single_judgements_serve_a_run_with_single_requests(tmp_path: Path) -> None:
    checked(tmp_path, lambda *_: None)
    _, asker = checked(tmp_path, lambda *_: None, batch_size=1, order_check=0, single_check=0)
    assert len(asker.ask.requests) == 10 - 5


def test_traces_without_a_label_are_counted(tmp_path: Path) -> None:
    def script(request: JudgeRequest, items: Items) -> JudgeReply | None:
        return JudgeReply(status="refused") if len(items) == 1 else None

    (_, single), _ = checked(tmp_path, script)
    assert (single.n, single.unlabelled) == (0, 5)


def test_samples_are_no_larger_than_what_there_is(tmp_path: Path) -> None:
    (order, single), _ = checked(tmp_path, lambda *_: None, n=3, order_check=500, single_check=500)
    assert (order.n, single.n) == (3, 3)


def test_a_batch_of_one_says_nothing_of_places(tmp_path: Path) -> None:
    (order, single), _ = checked(tmp_path, lambda *_: None, n=1)
    assert (order.n, single.n) == (0, 0)


def test_no_pairs_need_no_judge(tmp_path: Path) -> None:
    with JudgementStore.open(tmp_path, "judge") as store:
        judge = ModelJudge(JudgeConfig(name="judge"), ScriptedAsker(lambda *_: pytest.fail("asked")), store)
        assert judge.judge([]) == []


def test_an_unknown_pair_is_none_of_the_others(tmp_path: Path) -> None:
    some: list[Pair] = [*pairs(4), Pair(pairs(1)[0].problem, pairs(2)[1].trace)]
    with JudgementStore.open(tmp_path, "judge") as store:
        judge = ModelJudge(JudgeConfig(name="judge"), ScriptedAsker(lambda *_: None), store, shown=False)
        assert [one.label for one in judge.judge(some)] == [
            *["explicit_reasoning", "generic_or_off_topic"] * 2,
            "generic_or_off_topic",
        ]
