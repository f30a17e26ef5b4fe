"""Long-lived worker processes that answer one command at a time, so that two programs can be timed in turns.

A command and its answer are one line of JSON each. Standard library only: one of the workers runs in an environment
that has nothing of ours.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

Command = Callable[..., Mapping[str, Any]]


class Worker:
    """A worker process as its parent sees it; everything it prints beside its answers goes to `log`."""

    def __init__(self, command: Sequence[str], log: Path, environment: Mapping[str, str], folder: Path) -> None:
        self._log = log
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=environment, cwd=folder
            )

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Have one command done.

        Raises:
            RuntimeError: the worker died; with the end of what it printed.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = b""
        try:
            self._process.stdin.write(json.dumps([command, arguments]).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            pass
        if not line:
            end = self._log.read_text(errors="replace")[-2000:]
            raise RuntimeError(f"a benchmark worker died at {command!r} (exit {self._process.wait()}):\n{end}")
        return json.loads(line)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def answers_only() -> TextIO:
    """The stream for answers; from here on, what libraries print goes to the log."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


def serve(commands: Mapping[str, Command], answers: TextIO) -> None:
    """Do commands until the parent closes the pipe."""
    for line in sys.stdin:
        name, arguments = json.loads(line)
        answers.write(json.dumps(commands[name](**arguments)) + "\n")
        answers.flush()
