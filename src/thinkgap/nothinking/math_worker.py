"""A process that compares answers by math-verify, one pair after the other, for `nothinking.equality`.

It has no clock of its own: whoever asks kills it if it takes too long. It limits its own memory, and its processor time
too, so that it ends by itself if nobody is left to kill it.
"""

from __future__ import annotations

import contextlib
import logging
import math
import re
import signal
import time
from multiprocessing.connection import Connection
from typing import Any

READY = "ready"
_MEMORY = 1 << 30
"""Bytes of address space beyond what the process has once it is ready."""
_PRECISION = 60
_CLOSE = 40
"""Digits in which two constants agree if they are equal; far beyond what `verify` looks at (6 or 15)."""
_DOLLAR = re.compile(r"(?<!\\)\$")


def serve(connection: Connection, seconds: float) -> None:
    """Answer pairs (reference answer, answer) with True, False or None until the other end closes.

    Args:
        connection: first says `READY`, or why it cannot be.
        seconds: after how much processor time a pair ends this process, some more than its owner waits.
    """
    # An interrupt from the keyboard goes to all processes; the owner decides what becomes of this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # It warns that nobody limits its time.
    logging.getLogger("math_verify").setLevel(logging.ERROR)
    try:
        # Grammars are read on first use, which is slow: before any clock runs.
        compare(r"\frac{1}{2}", "(1, 2)")
    except ImportError as error:
        connection.send(str(error))
        return
    _limit_memory()
    connection.send(READY)
    with contextlib.suppress(EOFError, OSError):
        while True:
            gold, answer = connection.recv()
            _limit_time(seconds)
            connection.send(compare(gold, answer))


def compare(gold: str, answer: str) -> bool | None:
    """Whether algebra finds two answers equal; None if the reference answer is no mathematics, or algebra fails.

    Two constants are equal if they agree in 40 digits: `verify` by itself rounds, and calls sqrt(2) and 1.41421356
    equal, or 1/2004! and 1/2006!. For the same reason decimals count as the rationals that they are.
    """
    import sympy
    from math_verify import parse, verify

    try:
        first, second = (
            parse(f"${_DOLLAR.sub(' ', text)}$", parsing_timeout=None)  # pyright: ignore[reportArgumentType]
            for text in (gold, answer)
        )
        ours, theirs = _expression(first), _expression(second)
        if ours is None:
            return None
        if theirs is None:
            return False
        if isinstance(ours, sympy.Expr) and isinstance(theirs, sympy.Expr) and ours.is_number and theirs.is_number:
            return _constants_equal(ours, theirs)
        return verify([ours], [theirs], timeout_seconds=None)
    except Exception:  # sympy may raise anything on what a model wrote, and nothing is known then
        return None


def _expression(parsed: list[Any]) -> Any | None:
    """The first thing in `parsed` that is mathematics and not a text, its decimals as rationals."""
    import sympy

    found = next((one for one in parsed if not isinstance(one, str)), None)
    if isinstance(found, sympy.Basic):
        return found.xreplace({one: sympy.Rational(str(one)) for one in found.atoms(sympy.Float)})
    if isinstance(found, sympy.MatrixBase):
        return found.applyfunc(_expression_of)
    return found


def _expression_of(entry: Any) -> Any:
    return _expression([entry])


def _constants_equal(first: Any, second: Any) -> bool:
    import sympy

    if first == second:
        return True
    one, other = first.evalf(_PRECISION), second.evalf(_PRECISION)
    if not (one.is_finite and other.is_finite):
        return bool(one == other)
    difference, size = abs(one - other), max(abs(one), abs(other))
    if difference <= size * sympy.Float(10, _PRECISION) ** -_CLOSE:
        # Large integers agree in many digits; whether rationals are equal can be told.
        return not (first.is_rational and second.is_rational) or bool(first.doit() == second.doit())
    # What is 0 after all may have come out as next to nothing.
    tiny = sympy.Float(10, _PRECISION) ** -_PRECISION
    return bool(min(abs(one), abs(other)) < tiny and sympy.simplify(first - second) == 0)


def _limit_memory() -> None:
    with contextlib.suppress(ImportError, OSError, ValueError, StopIteration):
        import resource
        from pathlib import Path

        lines = Path("/proc/self/status").read_text().splitlines()
        used = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmSize:"))
        resource.setrlimit(resource.RLIMIT_AS, (used + _MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _limit_time(seconds: float) -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        limit = math.ceil(time.process_time() + seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.getrlimit(resource.RLIMIT_CPU)[1]))
