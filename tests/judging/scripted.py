"""Judges by script: what was asked is read back from a request as a model would see it, and answered by rule."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.backends.served.loopback import model
from thinkgap.judging.ladder import JudgeReply
from thinkgap.judging.request import JudgeRequest
from thinkgap.schema import JudgeConfig, JudgeKind
from thinkgap.types import Pair

Entry = dict[str, Any]
LONG = "the tank holds 40 litres, and 40 / 8 = 5"


def pairs(n: int) -> list[Pair]:
    """Different pairs; the trace of an even one holds a step, that of an odd one an opening phrase."""
    return [
        Pair(f"How long does filling take, case {i}?", f"Since {LONG}, {i}." if i % 2 == 0 else f"The answer {i} is")
        for i in range(n)
    ]


def asked_items(user: str) -> list[dict[str, Any]]:
    """The items of a user's turn, as any reader of JSON lines finds them."""
    return [json.loads(line) for line in user.splitlines() if line.startswith("{")]


def entry(item: Mapping[str, Any]) -> Entry:
    """An honest entry: the first words as evidence."""
    label = "explicit_reasoning" if "Since" in item["text"] else "generic_or_off_topic"
    return {"id": item["id"], "evidence": item["text"][:10], "label": label}


def reply_text(entries: Sequence[Entry]) -> str:
    """A reply of the form that is asked for."""
    return json.dumps({"labels": list(entries)})


def honest(user: str) -> str:
    """An honest reply to a user's turn."""
    return reply_text([entry(item) for item in asked_items(user)])


class ScriptedAsk:
    """An `Ask` that notes what it was asked; `script(request, items)` gives a text or a whole reply."""

    def __init__(self, script: Callable[[JudgeRequest, list[dict[str, Any]]], str | JudgeReply | None]) -> None:
        self.script = script
        self.requests: list[JudgeRequest] = []

    def __call__(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        self.requests += requests
        return [self._one(request) for request in requests]

    def _one(self, request: JudgeRequest) -> JudgeReply:
        said = self.script(request, asked_items(request.user()))
        if isinstance(said, JudgeReply):
            return said
        return JudgeReply(honest(request.user()) if said is None else said)


def served_judge(base_url: str, *, served: Mapping[str, Any] | None = None, **settings: Any) -> JudgeConfig:
    """A judge behind a loopback server."""
    kept: dict[str, Any] = {"batch_size": 3, "max_new_tokens": 50} | settings
    return JudgeConfig(name="judge", kind=JudgeKind.served, model=model(base_url, **(served or {})), **kept)
