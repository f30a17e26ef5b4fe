"""The store of finished replies: what a model wrote after a prompt, found again by the content of the prompt.

A folder belongs to one context (model, precision, library versions: the caller's choice); within it, a reply is
addressed by `reply_key`. The length cap is not in the key, because a greedy reply up to one cap tells that up to many
others (`up_to`). Several processes may write into one folder. Knows no model, data set or record.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from thinkgap.errors import StoreError
from thinkgap.scoring.reply import Finish, Reply
from thinkgap.store.atomic import disk_errors
from thinkgap.store.cell_rows import where
from thinkgap.store.fingerprint import FINGERPRINT_FILE, JSON, check_fingerprint
from thinkgap.store.shards import (
    CellContents,
    context_digest,
    open_folder,
    read_shard,
    remove_shard,
    tell_foreign,
    write_shard,
)
from thinkgap.types import Prompt

log = logging.getLogger(__name__)

SCHEMA = pa.schema(
    [
        pa.field("key", pa.string()),
        pa.field("prompt_sha256", pa.string()),
        pa.field("item_id", pa.string()),
        pa.field("presentation", pa.string()),
        pa.field("condition", pa.string()),
        pa.field("token_ids", pa.list_(pa.int32())),
        pa.field("finish", pa.string()),
        pa.field("label_logprobs", pa.list_(pa.float64())),
        pa.field("first_token_id", pa.int32()),
    ]
)
_REPLY = ["token_ids", "finish", "label_logprobs", "first_token_id"]
_WAY_OUT = "give this run another folder for its replies (paths.cells_dir=...), or delete this one"


def reply_key(prompt: Prompt, stop_ids: Sequence[int]) -> str:
    """Digest of what a reply depends on beside context and cap: tokens and images, label ids, stop tokens.

    Raises:
        ValueError: A prompt without a digest.
    """
    if not prompt.sha256:
        raise ValueError(f"the prompt of {where(prompt)} has no sha256: build it with PromptBuilder")
    return hashlib.sha256(json.dumps([prompt.sha256, prompt.label_ids, sorted(stop_ids)]).encode()).hexdigest()


def up_to(token_ids: Sequence[int], finish: Finish, cap: int) -> tuple[tuple[int, ...], Finish] | None:
    """What a greedy reply is under another length cap; None if it was cut too early to tell.

    A cap of n allows n tokens, the stop token among them: a reply of n tokens that came to its stop token after them
    is cut under a cap of n or less.
    """
    if len(token_ids) >= cap:
        return tuple(token_ids[:cap]), "length"
    return (tuple(token_ids), "stop") if finish == "stop" else None


@dataclass(frozen=True)
class _Known:
    """Where a reply is, and for which caps it can be used."""

    path: Path
    row: int
    length: int
    stopped: bool

    def serves(self, cap: int) -> bool:
        return self.stopped or self.length >= cap

    @property
    def worth(self) -> tuple[bool, int]:
        """What serves more caps is larger."""
        return self.stopped, self.length


class ReplyStore:
    """A folder of replies, opened for one run; only the index is held in memory.

    Open it with `ReplyStore.open`.
    """

    def __init__(self, folder: Path, context: Mapping[str, JSON], max_new_tokens: int, stop_ids: Sequence[int]) -> None:
        self.folder, self.max_new_tokens, self.stop_ids = folder, max_new_tokens, tuple(stop_ids)
        self._given, self._context = context, context_digest(context, SCHEMA)
        self._index: dict[str, _Known] = {}

    @classmethod
    def open(
        cls, folder: Path | str, context: Mapping[str, JSON], *, max_new_tokens: int, stop_ids: Sequence[int]
    ) -> ReplyStore:
        """Open `folder`, or begin it, and index its replies.

        Shards that are damaged are removed with a warning, and so are what killed writers left an hour ago or earlier.

        Args:
            folder: The folder.
            context: All that a reply depends on beside prompt, stop tokens and cap.
            max_new_tokens: The length cap of this run.
            stop_ids: The stop tokens of this run.

        Raises:
            StoreError: The folder belongs to another context (the message names each differing field), or it cannot
                be written.
        """
        path = Path(folder)
        shards = open_folder(path, context, "replies", _WAY_OUT)
        store = cls(path, context, max_new_tokens, stop_ids)
        tell_foreign(path, sum(not store._add(shard) for shard in shards))
        return store

    def __len__(self) -> int:
        """Replies that are there, whatever their stop tokens and caps."""
        return len(self._index)

    def __contains__(self, prompt: Prompt) -> bool:
        return self._known(prompt) is not None

    def get(self, prompts: Sequence[Prompt]) -> list[Reply | None]:
        """The replies to `prompts` under this run's cap, in their order; None where there is none yet."""
        found: list[Reply | None] = [None] * len(prompts)
        places: dict[Path, list[tuple[int, int]]] = {}
        for position, prompt in enumerate(prompts):
            if (known := self._known(prompt)) is not None:
                places.setdefault(known.path, []).append((known.row, position))
        for path, pairs in places.items():
            try:
                rows = self._rows(path, [row for row, _ in pairs])
            except StoreError as error:
                self._drop(path, error)
                continue
            for row, (_, position) in zip(rows, pairs, strict=True):
                cut = up_to(row["token_ids"], row["finish"], self.max_new_tokens)
                assert cut is not None, "the index says that the reply is long enough"
                found[position] = Reply(prompts[position], *cut, tuple(row["label_logprobs"]), row["first_token_id"])
        return found

    def write(self, replies: Sequence[Reply]) -> Path | None:
        """Write those of `replies` that say more than what is there as one shard, there whole or not at all.

        Returns:
            The shard's file; None if all were there.

        Raises:
            StoreError: The disk is full (earlier shards are intact), or a value that cannot be stored.
            ValueError: A reply that this run's cap does not give.
        """
        new: dict[str, Reply] = {}
        for reply in replies:
            if up_to(reply.token_ids, reply.finish, self.max_new_tokens) != (reply.token_ids, reply.finish):
                raise ValueError(
                    f"{where(reply.prompt)}: a reply of {len(reply.token_ids)} tokens that ended by {reply.finish} is "
                    f"none under a cap of {self.max_new_tokens}"
                )
            if reply.prompt not in self:
                new.setdefault(reply_key(reply.prompt, self.stop_ids), reply)
        if not new:
            return None
        table = _to_table(new)
        if not (self.folder / FINGERPRINT_FILE).exists():
            # The folder was deleted while this run was at work.
            with disk_errors(self.folder):
                self.folder.mkdir(parents=True, exist_ok=True)
            check_fingerprint(self.folder, self._given, False, "replies", _WAY_OUT)
        path = write_shard(self.folder, table, None, CellContents(), self._context).path
        self._enter(path, table)
        return path

    def _known(self, prompt: Prompt) -> _Known | None:
        known = self._index.get(reply_key(prompt, self.stop_ids))
        return known if known is not None and known.serves(self.max_new_tokens) else None

    def _add(self, path: Path) -> bool:
        """Index a shard's replies; False if they are of another context."""
        try:
            found = read_shard(path, self._context, ["key", "token_ids", "finish"])
        except StoreError as error:
            self._drop(path, error)
            return True
        if found is not None:
            self._enter(path, found[1])
        return found is not None

    def _enter(self, path: Path, table: pa.Table) -> None:
        lengths = table.column("token_ids").combine_chunks().value_lengths().to_pylist()
        keys, ends = table.column("key").to_pylist(), table.column("finish").to_pylist()
        for row, (key, length, finish) in enumerate(zip(keys, lengths, ends, strict=True)):
            known = _Known(path, row, length, finish == "stop")
            # A run with a larger cap has written a longer one beside the one that was cut.
            if key not in self._index or known.worth > self._index[key].worth:
                self._index[key] = known

    def _drop(self, path: Path, error: StoreError) -> None:
        log.warning("%s: shard removed, its replies are generated again", error)
        with disk_errors(self.folder):
            remove_shard(path)
        self._index = {key: known for key, known in self._index.items() if known.path != path}

    def _rows(self, path: Path, rows: Sequence[int]) -> list[dict[str, Any]]:
        found = read_shard(path, self._context, _REPLY)
        assert found is not None, "a shard of this context became one of another under a name that tells its content"
        return found[1].take(list(rows)).to_pylist()


def _to_table(replies: Mapping[str, Reply]) -> pa.Table:
    """Replies by key as a table with `SCHEMA`."""
    rows = [
        {
            "key": key,
            "prompt_sha256": reply.prompt.sha256,
            "item_id": reply.prompt.presentation.item.id,
            "presentation": reply.prompt.presentation.name,
            "condition": reply.prompt.condition.name,
            **{name: getattr(reply, name) for name in _REPLY},
        }
        for key, reply in replies.items()
    ]
    try:
        return pa.Table.from_pylist(rows, schema=SCHEMA)
    except (pa.ArrowException, UnicodeEncodeError, OverflowError) as error:
        raise StoreError(f"replies cannot be stored: {error}") from None
