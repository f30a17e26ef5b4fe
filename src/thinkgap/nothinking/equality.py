"""Whether open answers are equal: by their forms where these tell, else by math-verify under a hard limit of time.

math-verify's own limits are alarms, which work in the main thread only, and a process pool of `concurrent.futures`
cannot end a task that hangs. So each worker is a process with a pipe: one that does not answer in time is killed and
replaced. Knows nothing of questions or responses.
"""

from __future__ import annotations

import logging
import multiprocessing
import queue
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import TracebackType

from thinkgap.errors import ConfigError
from thinkgap.nothinking.exact import exactly_equal
from thinkgap.nothinking.math_worker import READY, serve

log = logging.getLogger(__name__)

_START_SECONDS = 120.0
"""For importing sympy on a machine that is busy."""
_LONGEST = 2000
"""Longer answers are not compared by algebra: they are no answer but a text."""


class MathEquality:
    """Compares open answers; `equality(gold, answer)` and `equality.many(pairs)`, from any thread.

    Processes start when algebra is first needed, and end with `close` or the `with` block. Results are kept.

    Args:
        seconds: for one pair, after which it is undecided.
        workers: processes at most.

    Raises:
        ConfigError: no time or no workers.
    """

    def __init__(self, *, seconds: float = 5.0, workers: int = 1) -> None:
        if not seconds > 0 or workers < 1:
            raise ConfigError(f"comparing answers takes time and workers, not seconds={seconds}, workers={workers}")
        self.seconds, self.workers = seconds, workers
        self._known: dict[tuple[str, str], bool | None] = {}
        self._idle: queue.LifoQueue[_Worker] = queue.LifoQueue()
        for _ in range(workers):
            self._idle.put(_Worker(seconds))

    def __call__(self, gold: str, answer: str) -> bool | None:
        """Whether `answer` equals the reference answer `gold`; None if that was not decided.

        Undecided is what took too long or too much memory, and a reference answer that algebra cannot read.

        Raises:
            ConfigError: math-verify is not installed, or its process does not start.
        """
        equal = exactly_equal(gold, answer)
        if equal is not None:
            return equal
        if not gold.strip() or len(gold) > _LONGEST:
            return None
        if len(answer) > _LONGEST:
            return False
        if (gold, answer) not in self._known:
            worker = self._idle.get()
            try:
                self._known[gold, answer] = worker.ask(gold, answer)
            finally:
                self._idle.put(worker)
        return self._known[gold, answer]

    def many(self, pairs: Sequence[tuple[str, str]]) -> list[bool | None]:
        """`self(gold, answer)` for each pair, all workers at work."""
        unique = list(dict.fromkeys(pairs))
        with ThreadPoolExecutor(self.workers) as threads:
            found = dict(zip(unique, threads.map(lambda pair: self(*pair), unique), strict=True))
        return [found[pair] for pair in pairs]

    def close(self) -> None:
        """End the processes; a later comparison starts them again."""
        for worker in [self._idle.get() for _ in range(self.workers)]:
            worker.stop()
            self._idle.put(worker)

    def __enter__(self) -> MathEquality:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Worker:
    """One process, started when it is asked; used by one thread at a time."""

    _starting = threading.Lock()
    """`multiprocessing` keeps a list of its children that is not made for several threads."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None

    def ask(self, gold: str, answer: str) -> bool | None:
        """The worker's answer; None if it hangs, and is killed, or dies."""
        if self._process is not None and not self._process.is_alive():
            self.stop()
        pipe = self._pipe or self._started()
        try:
            pipe.send((gold, answer))
            if pipe.poll(self._seconds):
                return pipe.recv()
            log.info("comparing %r with %r took more than %g s: undecided", answer, gold, self._seconds)
        except (EOFError, OSError):
            log.info("comparing %r with %r ended its process: undecided", answer, gold)
        except BaseException:
            # An answer that is still to come would be taken for that of the next pair.
            self.stop()
            raise
        self.stop()
        return None

    def stop(self) -> None:
        """Kill the process, whatever it does."""
        with self._starting:
            if self._process is not None:
                self._process.kill()
                self._process.join()
                self._process.close()
            if self._pipe is not None:
                self._pipe.close()
            self._process = self._pipe = None

    def _started(self) -> Connection:
        # Not by fork: other threads may hold locks, and a model may be in memory.
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        with self._starting:
            self._process = context.Process(target=serve, args=(theirs, 2 * self._seconds + 2), daemon=True)
            self._process.start()
            self._pipe = ours
        theirs.close()
        try:
            said = ours.recv() if ours.poll(_START_SECONDS) else f"it did not start within {_START_SECONDS:g} s"
        except EOFError:
            said = "its process ended while it started"
        if said != READY:
            self.stop()
            raise ConfigError(
                f"open answers cannot be compared by math-verify ({said}): install it with "
                "`pip install -c constraints.txt math-verify`; a script that is run directly needs "
                "`if __name__ == '__main__':` around what it does"
            )
        return ours
