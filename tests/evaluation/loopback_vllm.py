"""A stand-in for a vLLM server on loopback: its completions route with chosen ids, its list of models, its version.

It answers as vLLM 0.32 does, floor of log-probabilities included; transformers computes them.
`tests/scale/test_vllm.py` asks vLLM's own server.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@dataclass
class Served:
    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    """Bodies of the requests."""


@contextlib.contextmanager
def served_vllm(folder: Path, name: str, key: str = "", tells: bool = True) -> Iterator[Served]:
    """Serve the checkpoint in `folder` as `name`; without `tells` the chosen ids are ignored."""
    import torch
    from transformers import AutoModelForCausalLM

    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    served, lock = Served(), threading.Lock()

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        wanted = body["logprob_token_ids"] if tells else []
        assert (body["return_tokens_as_token_ids"], body["temperature"]) == (True, 0)
        assert body["logprobs"] is not None
        with lock, torch.inference_mode():
            logprobs = torch.log_softmax(model(torch.tensor([body["prompt"]])).logits[0, -1], dim=-1)
        top = int(logprobs.argmax())
        told = {f"token_id:{token}": max(float(logprobs[token]), -9999.0) for token in dict.fromkeys([top, *wanted])}
        said = {"tokens": [f"token_id:{top}"], "token_logprobs": [float(logprobs[top])], "top_logprobs": [told]}
        choice = {"index": 0, "text": "", "finish_reason": "length", "logprobs": said}
        return {"id": "1", "object": "text_completion", "created": 0, "model": name, "choices": [choice]}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            listed = {"object": "list", "data": [{"id": name, "object": "model", "created": 0, "owned_by": "vllm"}]}
            self._send({"version": "0.0-made-up"} if self.path == "/version" else listed)

        def do_POST(self) -> None:
            assert self.path == "/v1/completions"
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            served.asked.append(body)
            self._send(answer(body))

        def _send(self, said: dict[str, Any]) -> None:
            if key and self.headers["Authorization"] != f"Bearer {key}":
                self.send_response(401)
                self.end_headers()
                return
            text = json.dumps(said).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: Any) -> None:
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_port}/v1"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
