"""A real HTTP server on this machine that answers by script, for tests of served models."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from thinkgap.backends.served import ServedRequest, build_request
from thinkgap.schema import BackendKind, ModelConfig, ServedConfig, ThinkingSwitch
from thinkgap.types import Thinking

KEY = "sk-made-up-0123456789abcdef"
KEY_ENV = "LOOPBACK_API_KEY"


@dataclass(frozen=True)
class Answer:
    """What the server does with one call."""

    body: Mapping[str, Any] | bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    close: bool = False
    """Close the connection without a word."""
    drip: float = 0.0
    """Seconds for which a blank comes every 0.05 s before the body."""


Script = Callable[[dict[str, Any], int], Answer]
"""(body of the call, how often this body came before) -> what to do."""


def chat(content: Any = "B", **message: Any) -> dict[str, Any]:
    """An ordinary reply of chat completions."""
    return {
        "id": "one",
        "object": "chat.completion",
        "model": "served-id",
        "choices": [
            {
                "index": 0,
                "finish_reason": message.pop("finish_reason", "stop"),
                "message": {"role": "assistant", "content": content, **message},
            }
        ],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    loopback: Loopback

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.loopback.ports.add(self.client_address[1])
        answer = self.loopback.take(self.path, dict(self.headers), body)
        try:
            self._give(answer)
        except OSError:
            # The other side had enough of waiting.
            self.close_connection = True
        finally:
            self.loopback.end()

    def _give(self, answer: Answer) -> None:
        time.sleep(answer.delay)
        if answer.close:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        blanks = round(answer.drip / 0.05)
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(blanks + len(body)))
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        for _ in range(blanks):
            self.wfile.write(b" ")
            self.wfile.flush()
            time.sleep(0.05)
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


class Loopback:
    """The server; a context manager."""

    def __init__(self, script: Script) -> None:
        self.calls: list[dict[str, Any]] = []
        """Bodies, in the order in which they came."""
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        self.ports: set[int] = set()
        """The callers' ports: one for each connection."""
        self.open, self.most_open = 0, 0
        self._script, self._lock, self._seen = script, threading.Lock(), Counter[str]()

        class Handler(_Handler):
            loopback = self

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def take(self, path: str, headers: Mapping[str, str], body: dict[str, Any]) -> Answer:
        """Note a call, and say what to do with it."""
        with self._lock:
            before = self._seen[json.dumps(body)]
            self._seen[json.dumps(body)] += 1
            self.calls.append(body)
            self.paths.append(path)
            self.headers.append({name.lower(): value for name, value in headers.items()})
            self.times.append(time.monotonic())
            self.open += 1
            self.most_open = max(self.most_open, self.open)
        return self._script(body, before)

    def end(self) -> None:
        """Note that a call is done."""
        with self._lock:
            self.open -= 1

    @property
    def url(self) -> str:
        """Root of its API."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Loopback:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def model(base_url: str, **served: Any) -> ModelConfig:
    """A served model with both states of thinking."""
    return ModelConfig(
        name="loopback",
        path="some/model",
        backend=BackendKind.api,
        thinking=ThinkingSwitch({"reasoning": {"effort": "high"}}, {"reasoning": {"effort": "none"}}),
        served=ServedConfig(base_url=base_url, api_key_env=KEY_ENV, **served),
    )


def question(cfg: ModelConfig, text: str = "2 + 2?") -> ServedRequest:
    """A request of one turn, thinking disabled."""
    return build_request(cfg, [{"role": "user", "content": text}], Thinking.disabled, max_new_tokens=16)
