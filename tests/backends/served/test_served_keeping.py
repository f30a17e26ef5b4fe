"""Replies are written together, and each is on the disk before its worker goes on."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.backends.served.loopback import Answer, Loopback, chat, model, question
from thinkgap.backends.served import ResponseStore, ask
from thinkgap.backends.served.cache import Entry
from thinkgap.backends.served.keeping import Keeper
from thinkgap.backends.served.transport import TimedClient
from thinkgap.errors import StoreError

CFG = model("http://nowhere.invalid/v1")
REQUESTS = [question(CFG, str(number)) for number in range(50)]


def on_disk(store: ResponseStore) -> set[str]:
    """Keys that another connection sees."""
    with sqlite3.connect(store.path) as other:
        found = {key for (key,) in other.execute("SELECT key FROM replies")}
    other.close()
    return found


def test_what_waits_is_written_together_and_is_there_when_keep_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    begun, go_on = threading.Event(), threading.Event()
    with ResponseStore.open(tmp_path, "m") as store:
        put_all = store.put_all

        def slow(entries: Sequence[Entry]) -> list[dict[str, Any]]:
            sizes.append(len(entries))
            begun.set()
            assert go_on.wait(30)
            return put_all(entries)

        monkeypatch.setattr(store, "put_all", slow)

        async def one(keeper: Keeper, number: int) -> None:
            reply = chat(str(number))
            assert await keeper.keep(REQUESTS[number], reply, 1.0) == reply
            assert REQUESTS[number].key in on_disk(store)

        async def all_of_them() -> None:
            with Keeper(store) as keeper:
                first = asyncio.create_task(one(keeper, 0))
                await asyncio.to_thread(begun.wait, 30)
                others = [asyncio.create_task(one(keeper, number)) for number in range(1, 50)]
                await asyncio.sleep(0)  # they are in the queue now
                go_on.set()
                await asyncio.gather(first, *others)

        asyncio.run(all_of_them())
        assert sizes == [1, 49]
        assert len(store) == 50


def test_what_cannot_be_written_is_told_to_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: Sequence[Entry]) -> list[dict[str, Any]]:
        raise StoreError("no space left")

    async def two(store: ResponseStore) -> list[Any]:
        with Keeper(store) as keeper:
            kept = (keeper.keep(one, chat(), 1.0) for one in REQUESTS[:2])
            return await asyncio.gather(*kept, return_exceptions=True)

    with ResponseStore.open(tmp_path, "m") as store:
        monkeypatch.setattr(store, "put_all", full)
        assert [str(error) for error in asyncio.run(two(store))] == ["no space left"] * 2


def test_a_reply_whose_worker_is_cancelled_is_written(tmp_path: Path) -> None:
    async def cancelled(store: ResponseStore) -> None:
        with Keeper(store) as keeper:
            task = asyncio.create_task(keeper.keep(REQUESTS[0], chat(), 1.0))
            await asyncio.sleep(0)
            task.cancel()

    with ResponseStore.open(tmp_path, "m") as store:
        asyncio.run(cancelled(store))
        assert on_disk(store) == {REQUESTS[0].key}


def test_replies_are_stored_together_or_not_at_all(tmp_path: Path) -> None:
    with ResponseStore.open(tmp_path, "m") as store:
        with pytest.raises(TypeError):
            store.put_all([Entry(REQUESTS[0], chat(), 0.0), Entry(REQUESTS[1], {"no": {1, 2}}, 0.0)])
        assert on_disk(store) == set()
        both = [Entry(REQUESTS[0], chat("first"), 0.0), Entry(REQUESTS[1], chat("other"), 0.0)]
        assert store.put_all([*both, Entry(REQUESTS[0], chat("again"), 0.0)]) == [
            chat("first"),
            chat("other"),
            chat("first"),
        ]
        assert len(store) == 2


def test_connections_are_shared_out_over_pools_and_used_again(tmp_path: Path) -> None:
    """Nobody is answered before 70 requests are open, three times over."""
    together = threading.Barrier(70)

    def script(*_: object) -> Answer:
        together.wait(60)
        return Answer(chat())

    with Loopback(script) as server, ResponseStore.open(tmp_path, "m") as store:
        cfg = model(server.url, concurrency=70)
        assert ask(cfg, [question(cfg, str(n)) for n in range(210)], store).counts.answered == 210
        assert len(server.calls) == 210
        assert (len(server.ports), server.most_open) == (70, 70)


def test_pools_have_few_open_requests_each() -> None:
    async def count() -> list[int]:
        client = TimedClient(model("http://nowhere.invalid/v1", concurrency=70).served)
        sizes = len(client._pools)
        await client.aclose()
        return [sizes, sum(pool.is_closed for pool in client._pools)]

    assert asyncio.run(count()) == [3, 3]
