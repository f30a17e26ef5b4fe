"""Replies to the prompts of a run: finished ones from the store, the others generated and kept as they end.

Prompts are built when they are needed, so that the pixels of a whole run are never held at once. Knows no readout.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from thinkgap.errors import LabelError, PromptError, StoreError
from thinkgap.evaluation.reuse import in_float32, model_context
from thinkgap.prompts.build import PreparedPrompt, PromptBuilder
from thinkgap.scoring.decode import Decoder
from thinkgap.scoring.reply import Reply
from thinkgap.store.replies import ReplyStore
from thinkgap.tracking.progress import progress
from thinkgap.types import Presentation

log = logging.getLogger(__name__)

# Several batches at once, so that each can be filled with prompts of similar length.
_BATCHES = 4
_MOST_ITEMS = 64
_SHARD_REPLIES = 4096
_SHARD_SECONDS = 60.0

Group = Sequence[PreparedPrompt]


@dataclass
class ItemPrompts:
    """The prompts of items, a group each, built each time they are gone through."""

    items: Sequence[Sequence[Presentation]]
    builder: PromptBuilder
    excluded: dict[str, PromptError] = field(default_factory=dict)
    """Item id -> why it has no prompts; its group is empty."""

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[list[PreparedPrompt]]:
        for item in self.items:
            try:
                yield [prompt for one in item for prompt in self.builder.build(one)]
            except LabelError:
                raise  # a property of the model and the labels, not of this item
            except PromptError as error:
                self.excluded[item[0].item.id] = error
                yield []


def open_replies(folder: Path | str, name: str, decoder: Decoder) -> ReplyStore:
    """The store of this model's replies, beside those of other models.

    Args:
        folder: where finished work is kept (`paths.cells_dir`).
        name: the model's.
        decoder: for what its replies depend on.

    Raises:
        StoreError: the folder cannot be written.
    """
    context = reply_context(decoder)
    digest = hashlib.sha256(json.dumps(context, sort_keys=True).encode()).hexdigest()[:16]
    own = Path(folder).expanduser() / f"{name}-replies-{digest}"
    store = ReplyStore.open(own, context, max_new_tokens=decoder.max_new_tokens, stop_ids=decoder.stop_ids)
    if len(store):
        log.info("%d finished replies of this model are in %s", len(store), own)
    return store


def reply_context(decoder: Decoder) -> dict[str, Any]:
    """All that a reply depends on beside prompt, stop tokens and length cap, as JSON data."""
    return model_context(decoder.backend) | {
        "decoding": decoder.method.name,
        # Half-precision logits depend on what shares a batch.
        "batch_size": None if in_float32(decoder.backend) else decoder.batch_size,
    }


def generate_replies(
    groups: Iterable[Group],
    decoder: Decoder,
    store: ReplyStore | None,
    *,
    shown: bool = True,
    description: str = "generation",
) -> list[list[Reply]]:
    """The reply to every prompt of every group, in the order given.

    SIGTERM and Ctrl-C keep what has ended: with the same store, the next call goes on from there.

    Args:
        groups: prompts that share prefixes, those of one item say; gone through once and a few at a time, so they may
            be built on the way (`ItemPrompts`).
        decoder: generates what the store does not hold.
        store: finished replies; None keeps none.
        shown: whether to show a progress bar, on a terminal.
        description: what the bar and messages call this.

    Raises:
        ModelError: memory does not suffice for one prompt, or logits that are not finite.
    """
    keeper = _Keeper(store)
    replies: list[list[Reply]] = []
    total = len(groups) if isinstance(groups, Sized) else None
    with _ended_by_sigterm(), progress(total=total, description=description, enabled=shown) as bar:
        try:
            for chunk in _chunks(groups, _BATCHES * decoder.batch_size):
                replies += _replies_of(chunk, decoder, keeper, bar)
        except BaseException as error:
            _keep_what_ended(keeper, error)
            done = f"{len(replies)} of {'an unknown number of' if total is None else total} items are done"
            kept = "nothing is kept" if keeper.store is None else "the same command goes on from what has ended"
            log.warning("%s was interrupted: %s; %s", description, done, kept)
            raise
        keeper.flush()
    return replies


def _chunks(groups: Iterable[Group], prompts: int) -> Iterator[list[Group]]:
    """Groups in order, so many together that they have at least so many prompts."""
    left = iter(groups)
    while chunk := list(islice(left, 1)):
        size = len(chunk[0])
        while size < prompts and len(chunk) < _MOST_ITEMS and (more := list(islice(left, 1))):
            chunk += more
            size += len(more[0])
        yield chunk


def _replies_of(chunk: Sequence[Group], decoder: Decoder, keeper: _Keeper, bar: Any) -> list[list[Reply]]:
    """Replies to some groups; the bar moves on as the last of a group's ends."""
    known = keeper.known(chunk)
    missing = [
        [prepared for prepared, reply in zip(group, found, strict=True) if reply is None]
        for group, found in zip(chunk, known, strict=True)
    ]
    left = Counter({number: len(group) for number, group in enumerate(missing)})
    bar.update(sum(not group for group in missing))

    def ended(number: int, reply: Reply) -> None:
        left[number] -= 1
        bar.update(not left[number])
        keeper.keep(reply)

    fresh = iter([reply for group in decoder.decode(missing, ended) for reply in group])
    return [[reply if reply is not None else next(fresh) for reply in found] for found in known]


class _Keeper:
    """Writes replies now and then; that they cannot be kept is no reason to end a run."""

    def __init__(self, store: ReplyStore | None) -> None:
        self.store = store
        self._waiting: list[Reply] = []
        self._written = time.monotonic()

    def known(self, groups: Sequence[Group]) -> list[list[Reply | None]]:
        if self.store is None:
            return [[None] * len(group) for group in groups]
        found = iter(self.store.get([prepared.prompt for group in groups for prepared in group]))
        return [[next(found) for _ in group] for group in groups]

    def keep(self, reply: Reply) -> None:
        self._waiting.append(reply)
        if len(self._waiting) >= _SHARD_REPLIES or time.monotonic() - self._written > _SHARD_SECONDS:
            self.flush()

    def flush(self) -> None:
        if self.store is not None and self._waiting:
            try:
                self.store.write(self._waiting)
            except StoreError as error:
                log.warning("replies are not kept from here on, the run goes on: %s", error)
                self.store = None
        self._waiting = []
        self._written = time.monotonic()


def _keep_what_ended(keeper: _Keeper, error: BaseException) -> None:
    try:
        keeper.flush()
    except Exception as failure:
        if failure is not error:
            log.error("what was generated last could not be written: %s", failure)


@contextlib.contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM interrupt as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
