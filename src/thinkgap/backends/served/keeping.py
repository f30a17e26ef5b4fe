"""Replies on their way to the disk: those that wait are written together, in a thread of their own.

Syncing takes milliseconds for one reply and about as long for many, and meanwhile others can be received. Knows no
server.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Any

from thinkgap.backends.served.cache import Entry, ResponseStore
from thinkgap.backends.served.request import ServedRequest


class Keeper:
    """Puts replies into a store; a context manager, which on leaving has written all that it was given."""

    def __init__(self, store: ResponseStore) -> None:
        self._store = store
        self._waiting: SimpleQueue[tuple[Entry, asyncio.Future[dict[str, Any]]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="replies", daemon=True)

    def __enter__(self) -> Keeper:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._waiting.put(None)
        self._thread.join()

    async def keep(self, request: ServedRequest, reply: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """As `ResponseStore.put`; a reply that was given is written although its worker is cancelled meanwhile.

        Raises:
            StoreError: it could not be written.
        """
        done: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting.put((Entry(request, reply, seconds), done))
        return await done

    def _write(self) -> None:
        while (first := self._waiting.get()) is not None:
            batch, last = [first], False
            while not last:
                try:
                    one = self._waiting.get_nowait()
                except Empty:
                    break
                last = one is None
                batch += [] if one is None else [one]
            self._write_batch([entry for entry, _ in batch], [done for _, done in batch])
            if last:
                return

    def _write_batch(self, entries: Sequence[Entry], waiting: Sequence[asyncio.Future[dict[str, Any]]]) -> None:
        stored: Sequence[dict[str, Any]] = []
        failure: Exception | None = None
        try:
            stored = self._store.put_all(entries)
        except Exception as error:
            failure = error

        def tell() -> None:
            for place, one in enumerate(waiting):
                if one.done():
                    continue  # its worker was cancelled
                if failure is None:
                    one.set_result(stored[place])
                else:
                    one.set_exception(failure)

        waiting[0].get_loop().call_soon_threadsafe(tell)
