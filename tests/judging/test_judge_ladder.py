"""The ladder, with judges by script: what is asked, in which order, and what becomes of every item."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest

from tests.judging.scripted import ScriptedAsk, entry, pairs, reply_text
from thinkgap.judging.ladder import JudgeReply, Ladder
from thinkgap.judging.request import JudgeItem, JudgeRequest, batches
from thinkgap.judging.rubric import LABELS
from thinkgap.schema import JudgeConfig
from thinkgap.types import Judgement

CFG = JudgeConfig(name="judge", batch_size=4)
Script = Callable[[JudgeRequest, list[dict[str, Any]]], str | JudgeReply | None]


class Climb:
    """What came of a ladder over `n` pairs."""

    def __init__(self, script: Script, n: int = 4, cfg: JudgeConfig = CFG) -> None:
        self.ask = ScriptedAsk(script)
        self.settled: dict[str, Judgement] = {}
        self.final: dict[str, bool] = {}
        self.ladder = Ladder(self.ask, self._settle)
        self.requests = batches(pairs(n), cfg)
        self.names = [name for request in self.requests for name in request.ids]
        self.ladder.judge(self.requests)

    def _settle(self, judged: Any, final: bool) -> None:
        for item, judgement in judged:
            assert isinstance(item, JudgeItem)
            assert item.id not in self.settled, "judged twice"
            self.settled[item.id], self.final[item.id] = judgement, final

    @property
    def stages(self) -> list[tuple[str, int]]:
        return [(request.stage, len(request.items)) for request in self.ask.requests]

    @property
    def counts(self) -> dict[str, int]:
        return asdict(self.ladder.counts)


def test_one_request_and_everybody_has_a_label() -> None:
    climb = Climb(lambda *_: None)
    assert climb.stages == [("whole", 4)]
    assert climb.counts == {"requests": 1, "reasked": 0, "reasked_evidence": 0, "splits": 0}
    assert Counter(one.label for one in climb.settled.values()) == {"explicit_reasoning": 2, "generic_or_off_topic": 2}
    assert all(one == Judgement(one.label, evidence=one.evidence) for one in climb.settled.values())
    assert all(climb.final.values())


def test_a_useless_reply_is_asked_for_again_with_the_reason() -> None:
    climb = Climb(lambda request, items: "Sorry?" if request.stage == "whole" else None)
    assert climb.stages == [("whole", 4), ("again", 4)]
    assert climb.ask.requests[1].complaint.startswith("it is no JSON object")
    assert climb.ask.requests[1].complaint in climb.ask.requests[1].user()
    assert climb.ask.requests[1].ids == climb.ask.requests[0].ids
    assert climb.counts == {"requests": 2, "reasked": 1, "reasked_evidence": 0, "splits": 0}
    assert {one.asked for one in climb.settled.values()} == {2}


def test_then_in_halves_then_alone_then_an_error() -> None:
    climb = Climb(lambda *_: "Sorry?")
    assert climb.stages == [("whole", 4), ("again", 4), ("half", 2), ("half", 2), *[("single", 1)] * 4]
    assert climb.counts == {"requests": 8, "reasked": 1, "reasked_evidence": 0, "splits": 3}
    for one in climb.settled.values():
        assert (one.label, one.status, one.asked) == (None, "judge_error", 4)
        assert one.reason.startswith("the reply cannot be used: it is no JSON object")
    assert all(climb.final.values()), "asking the same again would change nothing"


def test_one_bad_item_costs_nobody_else() -> None:
    bad = batches(pairs(4), CFG)[0].ids[2]
    climb = Climb(lambda request, items: "Sorry?" if bad in request.ids else None)
    assert {name: one.status for name, one in climb.settled.items() if one.status != "ok"} == {bad: "judge_error"}
    assert climb.stages == [("whole", 4), ("again", 4), ("half", 2), ("half", 2), ("single", 1), ("single", 1)]


def test_a_batch_of_one_is_asked_about_twice_at_most() -> None:
    climb = Climb(lambda *_: "Sorry?", n=1)
    assert climb.stages == [("whole", 1), ("again", 1)]
    assert next(iter(climb.settled.values())).status == "judge_error"


@pytest.mark.parametrize("status", ["refused", "content_filtered", "truncated"])
def test_a_batch_without_a_reply_is_divided_at_once_and_the_status_stays_with_its_item(status: Any) -> None:
    bad = batches(pairs(4), CFG)[0].ids[1]
    climb = Climb(lambda request, items: JudgeReply(status=status) if bad in request.ids else None)
    assert climb.stages == [("whole", 4), ("half", 2), ("half", 2), ("single", 1), ("single", 1)]
    assert {name: one.status for name, one in climb.settled.items() if one.status != "ok"} == {bad: status}
    assert climb.settled[bad].label is None
    assert climb.settled[bad].reason
    assert climb.final[bad]
    assert climb.counts == {"requests": 5, "reasked": 0, "reasked_evidence": 0, "splits": 2}


def test_what_failed_on_the_way_is_an_error_that_is_not_final() -> None:
    bad = batches(pairs(4), CFG)[0].ids[0]
    failed = JudgeReply(status="failed", reason="status 500: broken")
    climb = Climb(lambda request, items: failed if bad in request.ids else None)
    assert (climb.settled[bad].status, climb.settled[bad].reason) == ("judge_error", "status 500: broken")
    assert [name for name, final in climb.final.items() if not final] == [bad]


def misquoting(bad: set[str], ever: bool = True) -> Script:
    def script(request: JudgeRequest, items: list[dict[str, Any]]) -> str:
        quoting = request.stage == "evidence" and not ever
        return reply_text(
            [
                entry(item) | ({} if quoting or item["id"] not in bad else {"evidence": "what nobody wrote"})
                for item in items
            ]
        )

    return script


def test_evidence_that_is_not_there_is_asked_for_once_more() -> None:
    bad = set(batches(pairs(4), CFG)[0].ids[1:3])
    climb = Climb(misquoting(bad, ever=False))
    assert climb.stages == [("whole", 4), ("evidence", 2)]
    assert set(climb.ask.requests[1].ids) == bad
    assert climb.ask.requests[1].complaint.startswith("these spans of evidence are not in the text")
    assert all(one.verbatim for one in climb.settled.values())
    assert {name: one.asked for name, one in climb.settled.items()} == {name: 1 + (name in bad) for name in climb.names}
    assert climb.counts == {"requests": 2, "reasked": 0, "reasked_evidence": 1, "splits": 0}


def test_and_then_it_is_kept_and_flagged() -> None:
    bad = {batches(pairs(4), CFG)[0].ids[3]}
    climb = Climb(misquoting(bad))
    assert climb.stages == [("whole", 4), ("evidence", 1)]
    (flagged,) = [one for one in climb.settled.values() if not one.verbatim]
    assert (flagged.status, flagged.evidence, flagged.asked) == ("ok", "what nobody wrote", 2)
    assert flagged.label is not None


@pytest.mark.parametrize(
    "second", ["Sorry?", JudgeReply(status="refused"), JudgeReply(status="truncated"), reply_text([])]
)
def test_the_first_label_stands_if_the_second_question_has_no_use(second: str | JudgeReply) -> None:
    bad = {batches(pairs(4), CFG)[0].ids[0]}
    first = misquoting(bad)
    climb = Climb(lambda request, items: second if request.stage == "evidence" else first(request, items))
    (flagged,) = [one for one in climb.settled.values() if not one.verbatim]
    assert (flagged.status, flagged.evidence, flagged.asked) == ("ok", "what nobody wrote", 2)
    assert len(climb.stages) == 2


def test_a_first_label_stands_against_a_second_without_evidence() -> None:
    def script(request: JudgeRequest, items: list[dict[str, Any]]) -> str:
        label = "unclear" if request.stage == "evidence" else "paraphrase_only"
        return reply_text([{"id": item["id"], "evidence": "nowhere", "label": label} for item in items])

    climb = Climb(script, n=1)
    assert [(one.label, one.verbatim) for one in climb.settled.values()] == [("paraphrase_only", False)]


def test_a_judge_that_labels_everything_alike_is_believed() -> None:
    climb = Climb(
        lambda request, items: reply_text([{**entry(item), "label": "explicit_reasoning"} for item in items]), n=9
    )
    assert [one.label for one in climb.settled.values()] == ["explicit_reasoning"] * 9
    assert climb.counts["requests"] == 3


def test_whatever_comes_back_nobody_is_lost_or_judged_twice() -> None:
    """Replies drawn at random, of every kind."""
    rng = random.Random(0)

    def script(request: JudgeRequest, items: list[dict[str, Any]]) -> str | JudgeReply:
        kind = rng.randrange(8)
        if kind == 0:
            return JudgeReply(status=rng.choice(["refused", "content_filtered", "truncated", "failed"]))
        entries = [{"id": item["id"], "evidence": item["text"][:5], "label": rng.choice(LABELS)} for item in items]
        if kind == 1:
            entries = entries[1:]
        if kind == 2:
            entries.append(entries[0])
        if kind in (3, 4):
            entries[-1]["evidence"] = "nowhere"
        if kind == 5:
            entries[0]["label"] = "fine"
        return reply_text(entries)

    for n in (1, 2, 5, 12, 31):
        for _ in range(20):
            climb = Climb(script, n=n)
            assert set(climb.settled) == set(climb.names)
            assert climb.counts["requests"] == len(climb.ask.requests)
            # Whole, again, half, single, and once for evidence.
            assert max(one.asked for one in climb.settled.values()) <= 5
            for one in climb.settled.values():
                assert (one.label is None) == (one.status != "ok") == bool(one.reason)


def test_the_same_item_in_two_requests_is_a_defect() -> None:
    request = batches(pairs(2), CFG)[0]
    with pytest.raises(ValueError, match="more than one request"):
        Ladder(ScriptedAsk(lambda *_: None), lambda *_: None).judge([request, request])
