"""A judge behind an API: requests in the provider's form, replies that are paid for once, and a budget.

Providers' spellings are `backends.served`'s. Knows no response that is judged, only the texts that are shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from thinkgap.backends.served import (
    Outcome,
    ResponseStore,
    ServedRequest,
    ask,
    build_request,
    check_profile,
    estimate,
    estimate_sheet,
)
from thinkgap.errors import ConfigError
from thinkgap.judging.ladder import JudgeReply
from thinkgap.judging.plan import plan
from thinkgap.judging.request import JudgeRequest, check_judge
from thinkgap.judging.rubric import reply_schema
from thinkgap.judging.store import JudgementStore
from thinkgap.readouts.sheet import Column, Sheet
from thinkgap.responses.finish import is_cut, is_filtered, is_refusal
from thinkgap.schema import JudgeConfig, ModelConfig, ServedApi
from thinkgap.types import Pair, Thinking

_SCHEMA = "trace_labels"
_ROUND = 8
"""Requests of a round, in multiples of those that are open at a time."""


class ServedAsker:
    """An `Asker` over HTTP."""

    def __init__(self, cfg: JudgeConfig, store: ResponseStore) -> None:
        """Make one; sends nothing.

        Raises:
            ConfigError: a profile that makes no sense, or cannot honour what the judge asks for.
        """
        self._cfg, self._store = cfg, store
        self._model = judge_model(cfg)
        self._thinking = _thinking(self._model)
        self._spent, self._tokens = 0, Counter[str]()
        self._served: Counter[str] = Counter()
        request = self.request(JudgeRequest(()))
        body = request.body()
        for name in ("messages", "input", request.token_field):
            body.pop(name, None)
        self.asked: Mapping[str, Any] = {"base_url": request.base_url, "api": request.api, "body": body}
        self._omitted = dict(request.omitted)

    @property
    def round_size(self) -> int:
        """As `Asker.round_size`."""
        return _ROUND * self._model.served.concurrency

    def request(self, request: JudgeRequest) -> ServedRequest:
        """What is sent for a request."""
        return build_request(
            self._model,
            request.messages(),
            self._thinking,
            max_new_tokens=self._cfg.max_new_tokens * max(len(request.items), 1),
            temperature=self._cfg.temperature,
        )

    def admit(self, requests: Sequence[JudgeRequest]) -> None:
        """As `Asker.admit`: by the estimate of all of them together."""
        if self._cfg.budget_tokens is None:
            return
        need = estimate(self._cfg.name, [self.request(one) for one in requests], self._store)
        tokens = need.prompt_tokens + need.output_bound
        if self._spent + tokens > self._cfg.budget_tokens:
            raise ConfigError(
                f"judge={self._cfg.name} would be sent {need.calls:,} requests with about {need.prompt_tokens:,} "
                f"tokens and could return up to {need.output_bound:,} (judge.max_new_tokens="
                f"{self._cfg.max_new_tokens} for each trace), together more than judge.budget_tokens="
                f"{self._cfg.budget_tokens:,}{f' after {self._spent:,} of them' if self._spent else ''}: raise it, or "
                "judge fewer responses"
            )

    def ask(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        """As `Asker.ask`.

        Raises:
            ConfigError: the budget is used up by questions that had to be repeated.
            ThinkgapError: what `backends.served.ask` raises.
        """
        budget = self._cfg.budget_tokens
        if budget is not None and self._spent >= budget:
            raise ConfigError(
                f"judge={self._cfg.name} has used {self._spent:,} tokens, all of judge.budget_tokens={budget:,}; what "
                "was judged is kept: raise it and start the same command again"
            )
        sent = [self.request(one) for one in requests]
        answers = ask(self._model, sent, self._store, show_progress=False)
        counts = answers.counts
        self._spent += counts.prompt_tokens + counts.completion_tokens
        self._tokens.update(
            {
                name: getattr(counts, name)
                for name in ("stored", "answered", "errors", "prompt_tokens", "completion_tokens", "reasoning_tokens")
            }
        )
        outcomes = [answers[one] for one in sent]
        self._served.update(one.response.model for one in outcomes if one.response is not None)
        return [_reply(one) for one in outcomes]

    def describe(self) -> dict[str, Any]:
        """As `Asker.describe`."""
        return {
            "model": {"name": self._model.name, "path": self._model.path, "served": asdict(self._model.served)},
            "asked": dict(self.asked),
            "omitted": self._omitted,
            "served_models": dict(self._served),
            "calls": dict(self._tokens),
        }


def judge_model(cfg: JudgeConfig) -> ModelConfig:
    """The judge's model with the fields that ask for JSON: by the schema, or with `json_schema: false` any JSON.

    A `response_format` (or `text.format`) of `model.served.extra_body` takes their place.

    Raises:
        ConfigError: no model, or a profile that makes no sense.
    """
    if not cfg.model.path:
        raise ConfigError(f"judge={cfg.name} asks a model and has none: set judge.model, or choose judge=rules")
    try:
        check_profile(cfg.model)
    except ConfigError as error:
        raise ConfigError(f"judge={cfg.name}, in judge.model: {error}") from None
    schema = {"name": _SCHEMA, "strict": True, "schema": reply_schema()}
    extra = dict(cfg.model.served.extra_body)
    if cfg.model.served.api is ServedApi.responses:
        form = {"type": "json_schema", **schema} if cfg.json_schema else {"type": "json_object"}
        extra["text"] = {"format": form, **extra.get("text", {})}
    else:
        form = {"type": "json_schema", "json_schema": schema} if cfg.json_schema else {"type": "json_object"}
        extra = {"response_format": form, **extra}
    return replace(cfg.model, served=replace(cfg.model.served, extra_body=extra))


def estimate_judging(cfg: JudgeConfig, pairs: Sequence[Pair], folder: Path | str) -> Sheet:
    """What judging `pairs` would send, by part; sends nothing.

    Args:
        cfg: a served judge.
        pairs: as they would be given to `judge`.
        folder: of replies and judgements (`paths.responses_dir`).

    Raises:
        ThinkgapError: settings or stores that cannot be used.
    """
    check_judge(cfg)
    model = judge_model(cfg)
    with ResponseStore.open(folder, model.name) as replies, JudgementStore.open(folder, cfg.name) as store:
        asker = ServedAsker(cfg, replies)
        parts = plan(cfg, pairs, asker.asked, store)
        found = [estimate(part.name, [asker.request(one) for one in part.requests], replies) for part in parts]
    sheet = estimate_sheet(f"the judge {cfg.name}", found)
    left = sum(len(request.items) for request in parts[0].requests)
    notes = (
        f"{len(pairs):,} traces, {len(parts[0].pairs):,} distinct, {left:,} of them not judged yet. Questions that "
        "are repeated because a reply cannot be used are not counted.",
    )
    columns = (Column("name", "part", "text"), *sheet.columns[1:])
    return replace(sheet, name=f"estimate_{cfg.name}", columns=columns, notes=(*notes, *sheet.notes))


def _thinking(model: ModelConfig) -> Thinking:
    """Off where the profile says how; a model without such fields is left alone, which is off for Claude."""
    known = bool(model.thinking.disabled) or not model.served.thinks
    return Thinking.disabled if known else Thinking.default


def _reply(outcome: Outcome) -> JudgeReply:
    response = outcome.response
    if response is None:
        return JudgeReply(status="failed", reason=f"no reply came: {outcome.error}")
    finish = response.finish_reason
    if is_filtered(finish):
        return JudgeReply(status="content_filtered")
    if response.refusal or is_refusal(finish):
        said = f": {' '.join(response.refusal.split())[:200]}" if response.refusal else ""
        return JudgeReply(status="refused", reason=f"the judge refused{said}")
    if is_cut(finish):
        return JudgeReply(status="truncated")
    return JudgeReply(response.content)
