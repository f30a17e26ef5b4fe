"""The generated answers of a run, and the labels read after each reply: records and the side table `replies`.

Greedy replies come from `evaluation.generate`, their reading from `responses`; here they become rows.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from thinkgap.backends.reply_text import reply_decoder
from thinkgap.evaluation.decoding import written_replies
from thinkgap.evaluation.prepare import Prepared
from thinkgap.evaluation.reuse import Reuse, open_cells
from thinkgap.presentation_names import IDENTITY
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.prompts.extend import extend
from thinkgap.prompts.labels import continuation
from thinkgap.readouts.frames import ALIGNED, GENERATION, NATIVE
from thinkgap.readouts.native import native_record
from thinkgap.readouts.rows import answer_record, best_slot
from thinkgap.responses.boxes import ends_in_open_box
from thinkgap.responses.opened import extract_opened
from thinkgap.responses.permissive import permissive
from thinkgap.schema import DecodingConfig, EvaluateConfig
from thinkgap.scoring.engine import Counts
from thinkgap.scoring.reply import Reply
from thinkgap.scoring.stopping import stop_ids
from thinkgap.store.atomic import write_text
from thinkgap.store.run_folder import RunFolder
from thinkgap.store.side import REPLIES, write_side
from thinkgap.tracking.progress import progress
from thinkgap.types import Condition, Placement, Presentation, Record

log = logging.getLogger(__name__)

_DESCRIBED = "replies.json"
_SHOWN = 3
_ENDS = 120
"""Replies without an answer that are logged, and characters of either end of them."""
_ROWS = 256
"""Prompts after which cells are written while labels are read after replies."""


def run_replies(
    cfg: EvaluateConfig, prepared: Prepared, presentations: Sequence[Presentation], run: RunFolder
) -> dict[str, Any]:
    """Write replies, read them, and read the labels after them; leave `replies.parquet` and records in `run`.

    What is there already is kept. The side table is written before the records, which so always have their row there.

    Args:
        cfg: the settings.
        prepared: the run.
        presentations: what is asked, every item in the source's order.
        run: folder, opened; its shards are merged by the caller.

    Returns:
        How replies were made, for the manifest.

    Raises:
        StoreError: files that cannot be read or written.
    """
    asked = cfg.evaluation.generation
    readouts = (GENERATION, ALIGNED) if asked.aligned else (GENERATION,)
    finished = run.finished_keys()
    keys = {
        (one.item.id, one.name, condition, readout)
        for one in presentations
        for condition in prepared.names
        for readout in readouts
    }
    told = run.path / _DESCRIBED
    if keys <= finished and (run.path / "replies.parquet").exists() and told.exists():
        return json.loads(told.read_text(encoding="utf-8"))
    if prepared.builder.conditions[0].placement is Placement.prompt_end:
        log.warning("trigger.placement=prompt_end: replies go on with the user's turn and may not answer at all")
    replies, described = written_replies(cfg, prepared, presentations, run.path)
    text_of = reply_decoder(prepared.local.backend.fmt, stop_ids(prepared.local.backend))
    native = run.rows(["item_id", "presentation", "condition", "readout", "label_logprobs"]).to_pylist()
    first = {
        (row["item_id"], row["condition"]): row["label_logprobs"]
        for row in native
        if (row["presentation"], row["readout"]) == (IDENTITY, NATIVE)
    }
    records: list[Record] = []
    side: list[dict[str, Any]] = []
    for reply in (one for own in replies for one in own):
        record, row = read_reply(
            reply,
            text_of,
            first.get((reply.prompt.presentation.item.id, reply.prompt.condition.name)),
        )
        records.append(record)
        side.append(row)
    if asked.aligned:
        reader = replace(prepared.local, wanted=None, lens=False, counts=Counts())
        reuse = Reuse(reader, open_cells(cfg, reader))
        records += read_after(prepared, reuse, replies, asked, shown=cfg.trainer.progress)
    write_text(told, json.dumps(described, indent=1) + "\n")
    write_side(run.path, "replies", side, REPLIES)
    new = [record for record in records if record.key not in finished]
    if new:
        run.write_shard(new)
    _tell(side)
    return described


def _tell(side: Sequence[dict[str, Any]]) -> None:
    cut = sum(row["finish"] == "length" for row in side)
    if cut:
        log.info(
            "%d of %d replies were cut at evaluation.generation.max_new_tokens; those without an answer count as wrong",
            cut,
            len(side),
        )
    unread = [row for row in side if row["answer"] is None]
    for row in unread[:_SHOWN]:
        log.info("no answer in the reply to %s under %s: %r", row["item_id"], row["condition"], _ends(row["text"]))


def _ends(text: str) -> str:
    return text if len(text) <= 2 * _ENDS else f"{text[:_ENDS]} ... {text[-_ENDS:]}"


def read_reply(
    reply: Reply, decode: Callable[[Sequence[int]], str], native: Sequence[float] | None
) -> tuple[Record, dict[str, Any]]:
    """A reply as a record of the readout `generation`, and its row of the side table.

    Args:
        reply: to a prompt in the source's order of options.
        decode: token ids -> text, as `reply_decoder` gives it.
        native: label log-probabilities of the native readout of the same prompt, to compare the first step with.
    """
    prompt = reply.prompt
    shown = prompt.presentation
    text, opening = decode(reply.token_ids), _opening(prompt.condition)
    asked: dict[str, Any] = {
        "labels": shown.labels if shown.lettered else (),
        "options": shown.contents,
        "mode": prompt.condition.name if prompt.condition.kind == "mode" else None,
        "truncated": reply.finish == "length",
        "open_box": ends_in_open_box(opening or prompt.condition.prefill or prompt.condition.user_suffix),
    }
    found = extract_opened(opening, text, shown.item.answer_space, **asked)
    forced, _ = best_slot(shown, reply.label_logprobs)
    apart = [abs(a - b) for a, b in zip(reply.label_logprobs, native or (), strict=native is not None)]
    row = {
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
    return answer_record(prompt, GENERATION, found.slot), row


def _opening(condition: Condition) -> str:
    """The trigger, where a reply goes on from its last word; the openings of modes are rules of their own."""
    follows = condition.kind == "trigger" and condition.placement is not Placement.user
    return condition.text if follows else ""


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
    tokenizer = prepared.local.backend.fmt.tokenizer

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
    fmt, builder = prepared.local.backend.fmt, prepared.builder
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
