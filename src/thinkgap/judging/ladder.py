"""From requests to one judgement for each trace, whatever comes back: re-asking, dividing, giving up.

A batch whose reply cannot be used is asked about once more with the reason, then in halves, then item by item; what
still has no usable reply is a `judge_error`. A refused, filtered, cut or failed batch is divided at once, so that one
item does not cost the others. Evidence that is not in its trace is asked for once more. Pure logic over `Ask`: knows no
server, no model and no file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from thinkgap.judging.request import JudgeItem, JudgeRequest, divided
from thinkgap.judging.validate import InvalidReply, Verdict, read_reply
from thinkgap.types import Judgement, JudgeStatus

ReplyStatus = Literal["ok", "refused", "content_filtered", "truncated", "failed"]


@dataclass(frozen=True)
class JudgeReply:
    """What came back for one request."""

    content: str = ""
    status: ReplyStatus = "ok"
    """`failed`: there is no reply, as `reason` says; the next run asks again."""
    reason: str = ""


Ask = Callable[[Sequence[JudgeRequest]], Sequence[JudgeReply]]
"""Requests -> their replies, in the same order."""
Settle = Callable[[Sequence[tuple[JudgeItem, Judgement]], bool], None]
"""Told of judgements as they are final, and whether they rest on a reply, so that asking again would change nothing."""


@dataclass
class LadderCounts:
    """What it took."""

    requests: int = 0
    """All that were asked."""
    reasked: int = 0
    """Of them, batches asked about once more because of a reply that could not be used."""
    reasked_evidence: int = 0
    """Of them, for evidence."""
    splits: int = 0
    """Batches that were divided."""


_NO_REASON = {
    "refused": "the judge refused",
    "content_filtered": "a filter of the server held the reply back",
    "truncated": "the reply was cut at its limit of tokens (judge.max_new_tokens)",
    "failed": "no reply came",
}
_AGAIN = "these spans of evidence are not in the text of their items, character by character"


class Ladder:
    """Judges the items of requests; each exactly once."""

    def __init__(self, ask: Ask, settle: Settle) -> None:
        self.counts = LadderCounts()
        self._ask, self._settle = ask, settle
        self._asked: Counter[str] = Counter()
        self._open: set[str] = set()

    def judge(self, requests: Sequence[JudgeRequest]) -> None:
        """Ask until every item is settled.

        Raises:
            ValueError: an item that stands in two requests.
            ThinkgapError: what `ask` and `settle` raise; what was settled before stays so.
        """
        names = [name for request in requests for name in request.ids]
        if len(set(names)) < len(names):
            raise ValueError("an item stands in more than one request")
        self._open |= set(names)
        left = list(requests)
        while left:
            replies = self._ask(left)
            self.counts.requests += len(left)
            left = [
                further for request, reply in zip(left, replies, strict=True) for further in self._take(request, reply)
            ]
        assert not self._open, f"not settled: {sorted(self._open)}"

    def _take(self, request: JudgeRequest, reply: JudgeReply) -> list[JudgeRequest]:
        """Settle what a reply settles, and say what has to be asked further."""
        self._asked.update(request.ids)
        if reply.status != "ok":
            return self._without_reply(request, reply)
        try:
            verdicts = read_reply(reply.content, request.items)
        except InvalidReply as error:
            return self._unusable(request, str(error))
        judged = [(item, self._judgement(item, verdicts[item.id])) for item in request.items]
        if request.stage == "evidence":
            self._end([(item, new if new.verbatim else self._standing(request, item)) for item, new in judged])
            return []
        self._end([(item, judgement) for item, judgement in judged if judgement.verbatim])
        doubtful = {item.id: judgement for item, judgement in judged if not judgement.verbatim}
        if not doubtful:
            return []
        self.counts.reasked_evidence += 1
        items = tuple(item for item in request.items if item.id in doubtful)
        return [JudgeRequest(items, "evidence", f"{_AGAIN}: {', '.join(doubtful)}", doubtful)]

    def _without_reply(self, request: JudgeRequest, reply: JudgeReply) -> list[JudgeRequest]:
        if request.stage == "evidence":
            return self._keep_standing(request, reply.status != "failed")
        if len(request.items) > 1:
            return self._divide(request)
        status = "judge_error" if reply.status == "failed" else reply.status
        self._fail(request, status, reply.reason or _NO_REASON[reply.status], reply.status != "failed")
        return []

    def _unusable(self, request: JudgeRequest, reason: str) -> list[JudgeRequest]:
        if request.stage == "evidence":
            return self._keep_standing(request)
        if request.stage == "whole":
            self.counts.reasked += 1
            return [replace(request, stage="again", complaint=reason)]
        if len(request.items) > 1:
            return self._divide(request)
        self._fail(request, "judge_error", f"the reply cannot be used: {reason}")
        return []

    def _divide(self, request: JudgeRequest) -> list[JudgeRequest]:
        self.counts.splits += 1
        return divided(request.items, "single" if request.stage == "half" else "half")

    def _keep_standing(self, request: JudgeRequest, final: bool = True) -> list[JudgeRequest]:
        self._end([(item, self._standing(request, item)) for item in request.items], final)
        return []

    def _standing(self, request: JudgeRequest, item: JudgeItem) -> Judgement:
        return replace(request.standing[item.id], asked=self._asked[item.id])

    def _fail(self, request: JudgeRequest, status: JudgeStatus, reason: str, final: bool = True) -> None:
        failed = [
            (item, Judgement(None, status, "", False, item.shortened, self._asked[item.id], reason))
            for item in request.items
        ]
        self._end(failed, final)

    def _judgement(self, item: JudgeItem, verdict: Verdict) -> Judgement:
        return Judgement(
            verdict.label,
            evidence=verdict.evidence,
            verbatim=verdict.verbatim,
            shortened=item.shortened,
            asked=self._asked[item.id],
        )

    def _end(self, settled: Sequence[tuple[JudgeItem, Judgement]], final: bool = True) -> None:
        names = {item.id for item, _ in settled}
        assert names <= self._open, "an item is settled once"
        self._open -= names
        if settled:
            self._settle(settled, final)
