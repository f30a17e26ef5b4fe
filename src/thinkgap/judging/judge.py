"""A judge that is asked in words: what is new goes up the ladder, what is known comes from the store.

Knows no server and no transformers: both are an `Asker`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol

from thinkgap.errors import ThinkgapError
from thinkgap.judging.checks import Check, compare
from thinkgap.judging.ladder import JudgeReply, Ladder
from thinkgap.judging.plan import SETTINGS, Part, plan
from thinkgap.judging.request import JudgeItem, JudgeRequest, check_judge, pair_digest
from thinkgap.judging.rubric import RUBRIC_SHA256, RUBRIC_VERSION
from thinkgap.judging.store import JudgementStore
from thinkgap.schema import JudgeConfig
from thinkgap.tracking.progress import progress
from thinkgap.types import Judgement, Pair


class JudgeError(ThinkgapError):
    """A judge from whom not one usable word came."""


class Judge(Protocol):
    """Who labels traces."""

    @property
    def name(self) -> str:
        """Short name used in tables."""
        ...

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        """One judgement for each pair, in the order given; equal pairs share one.

        Raises:
            ThinkgapError: the judge cannot be used at all. A trace that cannot be judged is a status, not an error.
        """
        ...

    def describe(self) -> dict[str, Any]:
        """For the manifest: kind, model, rubric, settings, and what was asked."""
        ...


class Asker(Protocol):
    """A model that answers requests, and says how it is asked."""

    @property
    def asked(self) -> Mapping[str, Any]:
        """The model and how it is asked, as JSON data: all that its replies depend on beside a request."""
        ...

    @property
    def round_size(self) -> int:
        """Requests that are asked between two writings of judgements."""
        ...

    def admit(self, requests: Sequence[JudgeRequest]) -> None:
        """Refuse requests that are more than may be asked, before the first of them.

        Raises:
            ConfigError: they are.
        """
        ...

    def ask(self, requests: Sequence[JudgeRequest]) -> Sequence[JudgeReply]:
        """Their replies, in order.

        Raises:
            ThinkgapError: nothing can be asked any more.
        """
        ...

    def describe(self) -> dict[str, Any]:
        """For the manifest: the model, and what it took."""
        ...


class ModelJudge:
    """A `Judge` whose labels are a model's."""

    def __init__(self, cfg: JudgeConfig, asker: Asker, store: JudgementStore, *, shown: bool = True) -> None:
        """Make one.

        Args:
            cfg: the judge.
            asker: its model.
            store: takes each judgement as soon as it is final.
            shown: whether to show a progress bar, on a terminal.

        Raises:
            ConfigError: settings that make no sense.
        """
        check_judge(cfg)
        self.name = cfg.name
        self._cfg, self._asker, self._store, self._shown = cfg, asker, store, shown
        self._counts: dict[str, dict[str, int]] = {}

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        """As `Judge.judge`. What the checks will ask is counted before the first request too.

        Raises:
            ConfigError: more tokens than `judge.budget_tokens` would be needed; nothing is asked then.
            JudgeError: no trace has a judgement, because no request had a reply.
            ThinkgapError: the server answers nobody any more; what was judged is kept.
        """
        traces, *checks = self._plan(pairs)
        self._asker.admit([request for part in (traces, *checks) for request in part.requests])
        found, failed = self._run(traces)
        if traces.requests and len(failed) == len(found):
            first = next(iter(failed.values()))
            raise JudgeError(f"judge={self.name}: none of {len(found)} traces could be judged: {first.reason}")
        return [found[pair] for pair in pairs]

    def check(self, pairs: Sequence[Pair]) -> list[Check]:
        """Judge the samples of `judge.order_check` and `judge.single_check` again, and compare.

        Args:
            pairs: as `judge` was given them before.

        Raises:
            ThinkgapError: as for `judge`.
        """
        traces, *checks = self._plan(pairs)
        self._asker.admit([request for part in checks for request in part.requests])
        first = self._stored(traces)
        return [compare(part.name, part.pairs, first, self._run(part)[0]) for part in checks]

    def describe(self) -> dict[str, Any]:
        """As `Judge.describe`."""
        return {
            "name": self.name,
            "kind": self._cfg.kind.name,
            "rubric": {"version": RUBRIC_VERSION, "sha256": RUBRIC_SHA256},
            "settings": {name: getattr(self._cfg, name) for name in SETTINGS},
            "counts": self._counts,
            **self._asker.describe(),
        }

    def _plan(self, pairs: Sequence[Pair]) -> list[Part]:
        return plan(self._cfg, pairs, self._asker.asked, self._store)

    def _stored(self, part: Part) -> dict[Pair, Judgement]:
        known = self._store.get(part.context, map(pair_digest, part.pairs))
        return {pair: known[digest] for pair in part.pairs if (digest := pair_digest(pair)) in known}

    def _run(self, part: Part) -> tuple[dict[Pair, Judgement], dict[Pair, Judgement]]:
        """Judgements of all pairs of a part; and again those that could not be made, which are not kept."""
        failed: dict[Pair, Judgement] = {}
        asked = sum(len(request.items) for request in part.requests)
        bar = progress(
            total=len(part.pairs),
            initial=len(part.pairs) - asked,
            description=f"{self.name}, {part.name}",
            unit="trace",
            enabled=self._shown,
        )

        def settle(judged: Sequence[tuple[JudgeItem, Judgement]], final: bool) -> None:
            if final:
                self._store.put(part.context, {pair_digest(item.pair): one for item, one in judged})
            else:
                failed.update((item.pair, one) for item, one in judged)
            bar.update(len(judged))

        ladder = Ladder(self._asker.ask, settle)
        with bar:
            for start in range(0, len(part.requests), self._asker.round_size):
                ladder.judge(part.requests[start : start + self._asker.round_size])
        self._counts[part.name] = {
            "distinct": len(part.pairs),
            "stored": len(part.pairs) - asked,
            "failed": len(failed),
            **asdict(ladder.counts),
        }
        return self._stored(part) | failed, failed
