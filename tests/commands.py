"""Commands run as users run them, without each importing the libraries anew.

The standard library's fork server imports once what the commands import, and runs nothing of it; each command is a fork
of it, with its own folder, environment, output, signals and exit status. What belongs to a first import (its seconds,
the warnings of libraries) is not seen this way: tests of that start Python itself.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import runpy
import signal
import sys
import tempfile
from collections.abc import Mapping
from multiprocessing.process import BaseProcess
from pathlib import Path
from subprocess import CompletedProcess

from tests.conftest import ROOT

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    ["thinkgap.evaluation.native", "thinkgap.backends.load", "thinkgap.tracking.wandb_run", "hydra.main", "wandb"]
)


def user_environment(**further: str) -> dict[str, str]:
    """What a user's shell has: no key of W&B, none of the variables that a launcher sets."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WANDB", "LOCAL_", "RANK"))}
    return kept | further


class Command:
    """A script of the repository (`evaluate.py`) or a module (`thinkgap.demo.train`) that was started."""

    def __init__(self, script: str, *arguments: str, cwd: Path, environment: Mapping[str, str] | None = None) -> None:
        self._output = tempfile.TemporaryDirectory()
        self.arguments = [script, *arguments]
        files = [str(Path(self._output.name) / name) for name in ("stdout", "stderr")]
        variables = dict(user_environment() if environment is None else environment)
        self.process: BaseProcess = _CONTEXT.Process(target=_run, args=(self.arguments, str(cwd), variables, files))
        self.process.start()

    @property
    def runs(self) -> bool:
        """Whether it has not ended yet."""
        return self.process.is_alive()

    def send_signal(self, number: signal.Signals) -> None:
        """As `kill` does, unless it has ended."""
        if self.runs:
            assert self.process.pid is not None
            os.kill(self.process.pid, number)

    def finished(self, timeout: float = 300) -> CompletedProcess[str]:
        """Wait for its end, at most `timeout` seconds."""
        self.process.join(timeout)
        late = self.process.exitcode is None
        self.process.kill()
        stdout, stderr = ((Path(self._output.name) / name).read_text() for name in ("stdout", "stderr"))
        self._output.cleanup()
        assert not late, f"{self.arguments} took longer than {timeout} s:\n{stdout}\n{stderr}"
        assert self.process.exitcode is not None
        return CompletedProcess(self.arguments, self.process.exitcode, stdout, stderr)


def run_command(
    script: str, *arguments: str, cwd: Path, environment: Mapping[str, str] | None = None, timeout: float = 300
) -> CompletedProcess[str]:
    """Run a script or a module to its end, in `cwd`; without `environment`, in that of a user."""
    return Command(script, *arguments, cwd=cwd, environment=environment).finished(timeout)


def _run(arguments: list[str], cwd: str, environment: dict[str, str], files: list[str]) -> None:
    """In the fork: what Python does with `python SCRIPT ARGUMENTS`, or `python -m MODULE ARGUMENTS`."""
    for stream, file in zip((1, 2), files, strict=True):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), stream)
    # What imports have registered is the fork server's: W&B's folder for media would go with the first command.
    atexit._clear()
    # A job in a shell's background ignores SIGINT, and so would what it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    if "OMP_NUM_THREADS" in environment:
        import torch

        torch.set_num_threads(int(environment["OMP_NUM_THREADS"]))
    script = arguments[0]
    try:
        if script.endswith(".py"):
            path = ROOT / script
            sys.argv = [str(path), *arguments[1:]]
            sys.path.insert(0, str(path.parent))
            runpy.run_path(str(path), run_name="__main__")
        else:
            sys.argv = arguments
            runpy.run_module(script, run_name="__main__", alter_sys=True)
    finally:
        # A process of `multiprocessing` leaves them out; W&B writes its last records in one.
        atexit._run_exitfuncs()
