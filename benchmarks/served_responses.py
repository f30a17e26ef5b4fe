"""Served models: requests per second of our client, as a share of what the server itself can give.

`python -m benchmarks.served_responses [--quick] [--requests N] [--concurrency N] [--slots N] [--seconds S]`. A server
in a process of its own (`slot_server`) answers after a fixed time, so many at once. What it can give is measured in the
same minutes by a client of bare asyncio that reads no more than lengths. Ours builds on `openai`, checks and parses
every reply and has it on the disk before its worker goes on. The bound is 90% of the server's limit with 500 requests
open.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.harness import RESULTS, ROOT, Options, finish, interleaved, timing
from benchmarks.slot_server import LIMIT, content_length
from thinkgap.backends.served import ResponseStore, ServedRequest, ask, build_request
from thinkgap.schema import BackendKind, ModelConfig, ServedConfig
from thinkgap.types import Thinking

BOUND = 0.9
"""Share of the server's limit that our client has to reach."""
_WORDS = 200
"""Words of a prompt and of a reply."""
_INSTANT_SLOTS = 10_000


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the server's limit, our client against it, and both against a server that answers at once."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.served_responses", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few requests: shows that it works, not how fast")
    parser.add_argument("--requests", type=int, help="default: 2,000")
    parser.add_argument("--concurrency", type=int, help="requests that are open at a time (default: 500)")
    parser.add_argument("--slots", type=int, default=64, help="requests that the server works on (default: 64)")
    parser.add_argument("--seconds", type=float, help="that a reply takes (default: 0.5)")
    parser.add_argument("--repeats", type=int, help="of which medians are taken (default: 3)")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FOLDER", help="where the JSON goes")
    given = parser.parse_args(arguments)
    options = Options(quick=given.quick, threads=1, repeats=given.repeats, out=given.out)
    number = options.sized(given.requests, 2_000, 40)
    concurrency = options.sized(given.concurrency, 500, 20)
    seconds = given.seconds if given.seconds is not None else (0.02 if given.quick else 0.5)
    slots = min(given.slots, concurrency)
    repeats = options.sized(given.repeats, 3, 1)
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"
    limited = measure(number, concurrency, slots, seconds, repeats)
    instant = measure(number, concurrency, _INSTANT_SLOTS, 0.0, repeats)
    result = {
        "requests": number,
        "concurrency": concurrency,
        "slots": slots,
        "seconds_per_reply": seconds,
        "words": _WORDS,
        "bound": BOUND,
        "server_by_arithmetic_per_s": slots / seconds,
        "limited": limited,
        "instant": instant,
        "share": limited["share"],
    }
    finish("served_responses", options, result, _rows(result))


def measure(number: int, concurrency: int, slots: int, seconds: float, repeats: int) -> dict[str, Any]:
    """Both clients against a server of so many slots and so many seconds a reply, in turns.

    Args:
        number: requests of each side, all different.
        concurrency: requests that are open at a time.
        slots: requests that the server works on at a time.
        seconds: that a reply takes.
        repeats: of which medians are taken.
    """
    with running(slots, seconds) as url:
        cfg = model_of(url, concurrency)
        requests = [request_of(cfg, one) for one in range(number)]
        took = interleaved(
            {
                "raw": lambda: asyncio.run(raw(requests, concurrency)),
                "thinkgap": lambda: _ours(cfg, requests),
            },
            repeats,
        )
    sides = {name: timing(values) for name, values in took.items()}
    rates = {name: number / side["median_s"] for name, side in sides.items()}
    return {"sides": sides, "per_s": rates, "share": rates["thinkgap"] / rates["raw"]}


@contextmanager
def running(slots: int, seconds: float) -> Iterator[str]:
    """The server in a process of its own; the root of its API."""
    command = [sys.executable, "-m", "benchmarks.slot_server", str(slots), str(seconds), str(_WORDS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.stdin.close()
            process.terminate()


async def raw(requests: Sequence[ServedRequest], concurrency: int) -> float:
    """Seconds that the same bodies take over connections that stay open; of a reply only its length is read."""
    bodies = [json.dumps(one.body()).encode() for one in requests]
    place = urlsplit(requests[0].url)
    left = iter(bodies)

    async def work() -> None:
        reader, writer = await asyncio.open_connection(place.hostname, place.port, limit=LIMIT)
        for body in left:
            head = f"POST {place.path} HTTP/1.1\r\nhost: {place.netloc}\r\ncontent-length: {len(body)}\r\n\r\n"
            writer.write(head.encode() + body)
            await writer.drain()
            answer = await reader.readuntil(b"\r\n\r\n")
            assert b" 200 " in answer.partition(b"\r\n")[0]
            await reader.readexactly(content_length(answer))
        writer.close()

    started = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(min(concurrency, len(bodies)))))
    return time.perf_counter() - started


def _ours(cfg: ModelConfig, requests: Sequence[ServedRequest]) -> float:
    with tempfile.TemporaryDirectory() as folder, ResponseStore.open(folder, cfg.name) as store:
        started = time.perf_counter()
        answers = ask(cfg, requests, store, show_progress=False)
        took = time.perf_counter() - started
        assert (answers.counts.answered, answers.counts.errors, len(store)) == (len(requests), 0, len(requests))
    return took


def model_of(url: str, concurrency: int) -> ModelConfig:
    """The server at `url` as a model."""
    served = ServedConfig(base_url=url, thinks=False, concurrency=concurrency, max_retries=0)
    return ModelConfig(name="slots", path="slots", backend=BackendKind.api, served=served)


def request_of(cfg: ModelConfig, number: int) -> ServedRequest:
    """A request unlike those of other numbers."""
    text = f"Question {number}: " + "word " * _WORDS
    return build_request(cfg, [{"role": "user", "content": text}], Thinking.disabled, max_new_tokens=8192)


def _rows(result: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"server": server, "client": name, "s": side["median_s"], "requests/s": result[server]["per_s"][name]}
        for server in ("limited", "instant")
        for name, side in result[server]["sides"].items()
    ]


if __name__ == "__main__":
    main()
