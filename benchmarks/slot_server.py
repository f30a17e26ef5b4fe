"""A chat-completions server with a known limit: every reply takes the same time, and so many are under way at once.

`python -m benchmarks.slot_server SLOTS SECONDS WORDS` prints its port and serves until its standard input ends.
Requests beyond the slots wait for their turn, so it gives SLOTS / SECONDS replies a second and never more. It uses
nothing but asyncio, and knows neither model nor prompt.
"""

from __future__ import annotations

import asyncio
import json
import sys

LIMIT = 1 << 20
"""Bytes of a request's head or body."""


def reply(words: int) -> bytes:
    """The whole HTTP reply to every request."""
    body = json.dumps(
        {
            "id": "one",
            "object": "chat.completion",
            "model": "slots",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": "word " * words + r"\boxed{B}"},
                }
            ],
            "usage": {"prompt_tokens": words, "completion_tokens": words, "total_tokens": 2 * words},
        }
    ).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def content_length(head: bytes) -> int:
    """What an HTTP head says of the length of what follows; 0 if it says nothing."""
    for line in head.lower().split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name == b"content-length":
            return int(value)
    return 0


async def serve(slots: int, seconds: float, words: int) -> None:
    """Serve until standard input ends."""
    free, answer = asyncio.Semaphore(slots), reply(words)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(content_length(head))
                async with free:
                    await asyncio.sleep(seconds)
                writer.write(answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0, limit=LIMIT, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])))
