"""Replies to the prompts of a run: finished ones from the store, the others generated and kept as they end.

Prompts are built when they are needed, so that the pixels of a whole run are never held at once. Knows no readout.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from thinkgap.errors import LabelError, PromptError, StoreError
from thinkgap.evaluation.reuse import in_float32, model_context
from thinkgap.prompts.build import PreparedPrompt, PromptBuilder
from thinkgap.scoring.decode import Decoder
from thinkgap.scoring.reply import OnReply, Reply
from thinkgap.store.replies import ReplyStore
from thinkgap.tracking.interrupts import ended_by_sigterm
from thinkgap.tracking.progress import progress
from thinkgap.types import Presentation

log = logging.getLogger(__name__)

# So many times the prompts of a batch are looked through for similar lengths.
_BATCHES = 4
_MOST_ITEMS = 64
_SHARD_REPLIES = 4096
_SHARD_SECONDS = 60.0

Group = Sequence[PreparedPrompt]


class Writer(Protocol):
    """What writes replies: a `Decoder`, or what stands for one."""

    max_new_tokens: int
    batch_size: int
    stop_ids: tuple[int, ...]

    def decode(
        self, groups: Iterable[Group], on_reply: OnReply | None = None, *, ahead: int | None = None
    ) -> list[list[Reply]]:
        """See `Decoder.decode`."""
        ...

    def describe(self) -> dict[str, Any]:
        """For the manifest."""
        ...


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


def open_replies(
    folder: Path | str, name: str, decoder: Writer, context: Mapping[str, Any] | None = None
) -> ReplyStore:
    """The store of this model's replies, beside those of other models.

    Args:
        folder: where finished work is kept (`paths.cells_dir`).
        name: the model's.
        decoder: for what its replies depend on.
        context: that as JSON data; None asks a `Decoder` (`reply_context`).

    Raises:
        StoreError: the folder cannot be written.
    """
    if context is None:
        assert isinstance(decoder, Decoder)
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
    decoder: Writer,
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
    total = len(groups) if isinstance(groups, Sized) else None
    with ended_by_sigterm(), progress(total=total, description=description, enabled=shown) as bar:
        run = _Run(decoder, keeper, bar)
        try:
            run.generate(groups)
        except BaseException as error:
            _keep_what_ended(keeper, error)
            done = f"{run.done} of {'an unknown number of' if total is None else total} items are done"
            kept = "nothing is kept" if keeper.store is None else "the same command goes on from what has ended"
            log.warning("%s was interrupted: %s; %s", description, done, kept)
            raise
        keeper.flush()
    return run.replies()


def _blocks(groups: Iterable[Group], prompts: int) -> Iterator[list[Group]]:
    """Groups in order, so many together that they have at least so many prompts."""
    left = iter(groups)
    while block := list(islice(left, 1)):
        size = len(block[0])
        while size < prompts and len(block) < _MOST_ITEMS and (more := list(islice(left, 1))):
            block += more
            size += len(more[0])
        yield block


class _Run:
    """Groups that were taken so far, and what is known of them."""

    def __init__(self, decoder: Writer, keeper: _Keeper, bar: Any) -> None:
        self.decoder, self.keeper, self.bar = decoder, keeper, bar
        self.done = 0
        """Groups of which every reply is there. Counted here, because a bar that is switched off does not count."""
        self._replies: list[list[Reply | None]] = []
        self._asked: list[int] = []
        """Groups that the decoder was given, by number."""
        self._left: list[int] = []
        """Prompts of each of them that have no reply yet."""

    def generate(self, groups: Iterable[Group]) -> None:
        """Ask for what is missing, one stream from the first group to the last."""

        def ended(place: int, reply: Reply) -> None:
            self._left[place] -= 1
            self._finish(not self._left[place])
            self.keeper.keep(reply)

        ahead = _BATCHES * self.decoder.batch_size
        fresh = self.decoder.decode(self._missing(groups, ahead), ended, ahead=ahead)
        for number, own in zip(self._asked, fresh, strict=True):
            rest = iter(own)
            self._replies[number] = [reply or next(rest) for reply in self._replies[number]]

    def _missing(self, groups: Iterable[Group], prompts: int) -> Iterator[Group]:
        """Per group the prompts without a finished reply, where there are some; looked up so many at a time."""
        for block in _blocks(groups, prompts):
            for group, found in zip(block, self.keeper.known(block), strict=True):
                self._replies.append(found)
                missing = [prepared for prepared, reply in zip(group, found, strict=True) if reply is None]
                if missing:
                    self._asked.append(len(self._replies) - 1)
                    self._left.append(len(missing))
                    yield missing
                else:
                    self._finish(1)

    def replies(self) -> list[list[Reply]]:
        return [[reply for reply in group if reply is not None] for group in self._replies]

    def _finish(self, groups: int) -> None:
        self.done += groups
        self.bar.update(groups)


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
