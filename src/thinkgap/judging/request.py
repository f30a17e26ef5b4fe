"""Traces as a judge is shown them: blinded, as JSON strings, shuffled and in batches.

A judge sees a problem and a trace and nothing else of a response. Knows no server and no model.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from thinkgap.errors import ConfigError
from thinkgap.judging.rubric import SYSTEM
from thinkgap.prompts.render import Message
from thinkgap.schema import JudgeConfig, JudgeKind
from thinkgap.types import Judgement, Pair

_THINK_TAG = re.compile(r"</?(?:think|thinking|thought)>|◁/?think▷", re.IGNORECASE)
_ESCAPED = re.compile("<(?=[^\\s<>=\\d.,$])|[\ud800-\udfff\u2028\u2029]")
"""What opens a tag or a control token, and what some JSON readers stumble over."""
_MARK = "\n[... {left_out} characters left out ...]\n"
_LEAST_SHOWN = 200
_ID = 12
"""Hexadecimal digits of an id."""

Stage = Literal["whole", "again", "half", "single", "evidence"]
"""How it came to a request: the first one about its items; after a reply that was no use, the same again, a half, one
item alone; or asked for evidence that is there."""


@dataclass(frozen=True)
class JudgeItem:
    """One pair as a judge is shown it."""

    id: str
    """Opaque: from a digest of the seed and of the texts."""
    order: str
    """From another part of that digest; items are shown in its order."""
    pair: Pair
    line: str
    """The JSON object that is shown."""
    text: str
    """The whole trace without think tags, in which evidence is looked for."""
    shortened: bool
    """Whether only its head and tail are shown."""

    @property
    def chars(self) -> int:
        """Characters that it takes in a request."""
        return len(self.line)


@dataclass(frozen=True)
class JudgeRequest:
    """Items that are asked about together, and how it came to that."""

    items: tuple[JudgeItem, ...]
    stage: Stage = "whole"
    complaint: str = ""
    """What was wrong with the reply before, told to the judge."""
    standing: Mapping[str, Judgement] = field(default_factory=dict)
    """At stage `evidence`, by id what is kept if nothing better comes."""

    @property
    def ids(self) -> list[str]:
        """Ids of its items."""
        return [item.id for item in self.items]

    def user(self) -> str:
        """Text of the user's turn."""
        lines = [f"Items: {len(self.items)}", *(item.line for item in self.items)]
        if self.complaint:
            lines.append(
                f"Your last reply to these items could not be used: {self.complaint}. Reply again to all of them."
            )
        return "\n".join(lines)

    def messages(self) -> list[Message]:
        """Turns in the chat form; the first is the same in every request, so that servers can cache it."""
        return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": self.user()}]


def check_judge(cfg: JudgeConfig) -> None:
    """Refuse settings of batches that make no sense.

    Raises:
        ConfigError: the first setting that is wrong, by name.
    """
    if cfg.kind is JudgeKind.rules and cfg.model.path:
        raise ConfigError(f"judge={cfg.name} is made of rules and asks no model: leave judge.model out")
    least = {"batch_size": 1, "trace_chars": _LEAST_SHOWN, "max_new_tokens": 1, "order_check": 0, "single_check": 0}
    for name, bound in least.items():
        if (value := getattr(cfg, name)) < bound:
            raise ConfigError(f"judge.{name}={value}: must be at least {bound}")
    if cfg.trace_chars > cfg.batch_chars:
        raise ConfigError(
            f"judge.trace_chars={cfg.trace_chars} is more than judge.batch_chars={cfg.batch_chars}: a trace must fit "
            "into a request"
        )
    if cfg.batch_size == 1 and (cfg.order_check or cfg.single_check):
        raise ConfigError(
            "judge.order_check and judge.single_check compare places in a batch: set judge.batch_size above 1, or both "
            "to 0"
        )


def pair_digest(pair: Pair) -> str:
    """SHA-256 of a pair's texts, under which its judgement is kept."""
    return hashlib.sha256(json.dumps([pair.problem, pair.trace]).encode("ascii")).hexdigest()


def shown(pair: Pair, cfg: JudgeConfig) -> JudgeItem:
    """A pair as a judge is shown it.

    Tags and control tokens inside the texts are written as JSON escapes: the same characters to whoever reads JSON, and
    no tokens of its own to a model that would obey them.
    """
    digest = hashlib.sha256(f"{cfg.seed}:{pair_digest(pair)}".encode()).hexdigest()
    text = _THINK_TAG.sub("", pair.trace)
    short = _shortened(text, cfg.trace_chars)
    name, order = digest[:_ID], digest[_ID:]
    fields = {"id": name, "question": pair.problem, "text": short, "shortened": short != text}
    line = json.dumps(fields, ensure_ascii=False)
    return JudgeItem(name, order, pair, _ESCAPED.sub(_escape, line), text, short != text)


def batches(pairs: Iterable[Pair], cfg: JudgeConfig) -> list[JudgeRequest]:
    """Requests that ask about each pair once, in an order that depends on the seed and the texts alone.

    So neighbours come from anywhere, and pairs that join later do not change the order of the others. A pair that alone
    is longer than `cfg.batch_chars` is asked about alone.

    Args:
        pairs: equal ones are asked about once.
        cfg: for seed and sizes.
    """
    items = sorted((shown(pair, cfg) for pair in dict.fromkeys(pairs)), key=lambda item: item.order)
    found: list[list[JudgeItem]] = []
    room = 0
    for item in items:
        if not found or len(found[-1]) == cfg.batch_size or item.chars > room:
            found.append([])
            room = cfg.batch_chars
        found[-1].append(item)
        room -= item.chars
    return [JudgeRequest(tuple(batch)) for batch in found]


def divided(items: Sequence[JudgeItem], stage: Literal["half", "single"]) -> list[JudgeRequest]:
    """The same items in two requests, or in one each."""
    size = (len(items) + 1) // 2 if stage == "half" else 1
    return [JudgeRequest(tuple(items[start : start + size]), stage) for start in range(0, len(items), size)]


def _shortened(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    mark = _MARK.format(left_out=f"{len(text):,}")
    kept = most - len(mark)
    head, tail = text[: kept - kept // 2], text[len(text) - kept // 2 :]
    return head + _MARK.format(left_out=f"{len(text) - kept:,}") + tail


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"
