"""The generated answers of a run, and the labels read after each reply: records and the side table `replies`.

Greedy replies come from `evaluation.generate`, their reading from `responses`; here they become rows.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from thinkgap.evaluation.prepare import Prepared
from thinkgap.evaluation.reuse import Reuse
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.prompts.extend import extend
from thinkgap.prompts.labels import continuation
from thinkgap.readouts.native import native_record
from thinkgap.readouts.rows import answer_record, best_slot
from thinkgap.readouts.verdict import ALIGNED, GENERATION
from thinkgap.responses.extract import extract, permissive
from thinkgap.schema import DecodingConfig
from thinkgap.scoring.decode import Reply
from thinkgap.tracking.progress import progress
from thinkgap.types import Record

log = logging.getLogger(__name__)

_ROWS = 256
"""Prompts after which cells are written while labels are read after replies."""


@dataclass(frozen=True)
class Answered:
    """A reply with what it was read as."""

    reply: Reply
    record: Record
    side: dict[str, Any]


def read_replies(
    replies: Sequence[Reply], decode: Callable[[Sequence[int]], str], native: dict[tuple[str, str], Sequence[float]]
) -> list[Answered]:
    """Replies as records of the readout `generation`, with rows of the side table.

    Args:
        replies: of prompts in the source's order of options.
        decode: token ids -> text without control tokens.
        native: (item id, condition) -> label log-probabilities of the native readout, to compare the first step with.
    """
    return [_answered(reply, decode, native) for reply in replies]


def _answered(
    reply: Reply, decode: Callable[[Sequence[int]], str], native: dict[tuple[str, str], Sequence[float]]
) -> Answered:
    prompt = reply.prompt
    shown = prompt.presentation
    text = decode(reply.token_ids)
    asked: dict[str, Any] = {"labels": shown.labels, "options": shown.contents}
    found = extract(text, shown.item.answer_space, truncated=reply.finish == "length", **asked)
    forced, _ = best_slot(reply.label_logprobs, shown)
    own = native.get((shown.item.id, prompt.condition.name))
    apart = [abs(a - b) for a, b in zip(reply.label_logprobs, own, strict=True)] if own is not None else []
    side = {
        "item_id": shown.item.id,
        "presentation": shown.name,
        "condition": prompt.condition.name,
        "prompt_sha256": prompt.sha256,
        "text": text,
        "n_tokens": len(reply.token_ids),
        "finish": reply.finish,
        "status": found.status,
        "rule": found.rule,
        "answer": found.answer,
        "permissive": permissive(text, shown.item.answer_space, **asked),
        "first_token_id": reply.first_token_id,
        "first_token": decode([reply.first_token_id]),
        "forced_slot": forced,
        "forced_difference": max(apart, default=float("nan")),
    }
    return Answered(reply, answer_record(prompt, GENERATION, found.slot), side)


def read_after(
    prepared: Prepared, reuse: Reuse, replies: Sequence[Sequence[Reply]], cfg: DecodingConfig, *, shown: bool
) -> list[Record]:
    """The labels read after each prompt, its reply and the cue: records of the readout `aligned`.

    The reply stands as its own tokens, not as text that is tokenised again. A prompt that becomes longer than the
    context is not read: its record has no prediction.

    Args:
        prepared: the run.
        reuse: the engine, behind the store of finished cells.
        replies: per item, its conditions' replies.
        cfg: cue and joiner.
        shown: whether to show a progress bar.
    """
    tokenizer = prepared.backend.fmt.tokenizer

    def text_of(token: int) -> str:
        return tokenizer.decode([token])

    records: list[Record] = []
    waiting: list[list[PreparedPrompt]] = []

    def read() -> None:
        for group in reuse.score(waiting):
            records.extend(replace(native_record(one, text_of), readout=ALIGNED) for one in group)
        reuse.flush()
        waiting.clear()

    with progress(total=len(replies), description="after the replies", enabled=shown) as bar:
        for own in replies:
            group = []
            for reply, longer in zip(own, _with_cue(prepared, own, cfg), strict=True):
                if longer is None:
                    records.append(answer_record(reply.prompt, ALIGNED, None))
                else:
                    group.append(longer)
            if group:
                waiting.append(group)
            if sum(map(len, waiting)) >= _ROWS:
                read()
            bar.update(1)
        if waiting:
            read()
    return records


def _with_cue(prepared: Prepared, replies: Sequence[Reply], cfg: DecodingConfig) -> Iterator[PreparedPrompt | None]:
    """Per reply the prompt that its labels are read after; None where it is longer than the context."""
    fmt, builder = prepared.backend.fmt, prepared.builder
    shown = replies[0].prompt.presentation
    by_condition = {one.prompt.condition.name: one for one in builder.build(shown)}
    cue = cfg.joiner + cfg.cue
    label_ids = builder.ids_after(shown, "x" + cue, cfg.cue)
    for reply in replies:
        text = fmt.tokenizer.decode(list(reply.token_ids))
        ids = (*reply.token_ids, *continuation(fmt.tokenize, text, cue))
        own = by_condition[reply.prompt.condition.name]
        fits = len(own.prompt.input_ids) + len(ids) <= fmt.max_length
        yield extend(own, ids, label_ids) if fits else None
