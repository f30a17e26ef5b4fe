"""Runs that are killed or interrupted: what was answered is kept, and the next run asks only for the rest."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from tests.backends.served.loopback import Answer, Loopback, chat, model, question
from tests.conftest import ROOT
from thinkgap.backends.served import ResponseStore, ask

N = 40
RUN = """
import logging, sys
from tests.backends.served.loopback import model, question
from thinkgap.backends.served import ResponseStore, ask
url, folder, n = sys.argv[1:]
logging.basicConfig(level=logging.INFO)
cfg = model(url, concurrency=2)
with ResponseStore.open(folder, "m") as store:
    ask(cfg, [question(cfg, str(n)) for n in range(int(n))], store)
print("done")
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_next_run_asks_only_what_is_missing(number: signal.Signals, tmp_path: Path) -> None:
    with Loopback(lambda body, _: Answer(chat(body["messages"][0]["content"]), delay=0.05)) as server:
        command = [sys.executable, "-c", RUN, server.url, str(tmp_path), str(N)]
        # A job in a shell's background ignores SIGINT, and so would what it starts.
        listening = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        process = subprocess.Popen(
            command, cwd=ROOT, preexec_fn=listening, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        deadline = time.monotonic() + 120
        while len(server.calls) < 12 and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(number)
        output, errors = process.communicate(timeout=60)
        assert process.returncode != 0
        assert "done" not in output
        with ResponseStore.open(tmp_path, "m") as store:
            kept = len(store)
            # Twelve calls had come, and two of them at most were still open.
            assert 10 <= kept < N
            if number != signal.SIGKILL:
                assert f"interrupted: {kept} replies are in {store.path}" in errors
                assert "never retrieved" not in errors
            before = len(server.calls)
            assert before - kept <= 2, "every other call that was made is stored"
            cfg = model(server.url)
            requests = [question(cfg, str(n)) for n in range(N)]
            answers = ask(cfg, requests, store)
            assert len(server.calls) - before == N - kept
            assert (answers.counts.stored, answers.counts.answered) == (kept, N - kept)
            responses = [answers[request].response for request in requests]
            assert [response and response.content for response in responses] == [str(n) for n in range(N)]
