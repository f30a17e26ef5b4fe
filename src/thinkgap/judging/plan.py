"""What a judge has to be asked: the traces of a run, and the samples of them that are judged a second time.

A part that was judged before asks nothing. Knows no server and no reply.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from thinkgap.judging.request import JudgeItem, JudgeRequest, batches, pair_digest
from thinkgap.judging.rubric import RUBRIC_SHA256, RUBRIC_VERSION
from thinkgap.judging.store import JudgementStore
from thinkgap.schema import JudgeConfig
from thinkgap.types import Pair

SETTINGS = ("batch_size", "batch_chars", "trace_chars", "max_new_tokens", "seed")
"""Settings that a judgement depends on, beside what is sent to the model."""


@dataclass(frozen=True)
class Part:
    """Pairs that are judged in one way."""

    name: str
    """`traces`, `order check` or `single check`."""
    context: Mapping[str, Any]
    """All that its judgements depend on beside the pair."""
    pairs: tuple[Pair, ...]
    """Distinct ones."""
    requests: tuple[JudgeRequest, ...]
    """About those that have no judgement yet."""


def plan(cfg: JudgeConfig, pairs: Sequence[Pair], asked: Mapping[str, Any], store: JudgementStore) -> list[Part]:
    """The traces, then the checks that `cfg` asks for.

    Args:
        cfg: the judge.
        pairs: equal ones are judged once.
        asked: the model and how it is asked, as JSON data.
        store: judgements that there are.
    """
    distinct = list(dict.fromkeys(pairs))
    own = _context(cfg, asked)
    parts = [Part("traces", own, tuple(distinct), tuple(batches(_missing(distinct, own, store), cfg)))]
    if not (cfg.order_check or cfg.single_check):
        return parts
    shared = [request for request in batches(distinct, cfg) if len(request.items) > 1]
    if cfg.order_check:
        parts.append(_order_check(shared, cfg, own, store))
    if cfg.single_check:
        items = [item for request in shared for item in request.items]
        sample = random.Random(cfg.seed).sample(items, min(cfg.single_check, len(items)))
        # As a run with single requests would ask, so that each can use what the other has.
        alone = _context(replace(cfg, batch_size=1), asked)
        parts.append(_part("single check", alone, [[item] for item in sample], store))
    return parts


def _order_check(
    shared: Sequence[JudgeRequest], cfg: JudgeConfig, own: Mapping[str, Any], store: JudgementStore
) -> Part:
    """Whole batches in reverse, as many as hold the traces that are asked for; their order is a seeded shuffle."""
    taken: list[list[JudgeItem]] = []
    for request in shared:
        if sum(map(len, taken)) >= cfg.order_check:
            break
        taken.append(list(reversed(request.items)))
    return _part("order check", {**own, "order": "reversed"}, taken, store)


def _part(name: str, context: Mapping[str, Any], groups: Sequence[Sequence[JudgeItem]], store: JudgementStore) -> Part:
    pairs = [item.pair for group in groups for item in group]
    missing = set(_missing(pairs, context, store))
    left = [tuple(item for item in group if item.pair in missing) for group in groups]
    return Part(name, context, tuple(pairs), tuple(JudgeRequest(items) for items in left if items))


def _missing(pairs: Sequence[Pair], context: Mapping[str, Any], store: JudgementStore) -> list[Pair]:
    digests = {pair_digest(pair): pair for pair in pairs}
    known = store.get(context, digests)
    return [pair for digest, pair in digests.items() if digest not in known]


def _context(cfg: JudgeConfig, asked: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "judge": cfg.name,
        "kind": cfg.kind.name,
        "rubric": {"version": RUBRIC_VERSION, "sha256": RUBRIC_SHA256},
        "settings": {name: getattr(cfg, name) for name in SETTINGS},
        "asked": dict(asked),
    }
