"""Open answers compared by algebra, in processes that are killed when they hang."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import threading
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any

import pytest

from tests.nothinking.examples import answered
from tests.responses.test_required_readings import CASES
from thinkgap.errors import ConfigError
from thinkgap.nothinking import equality as module
from thinkgap.nothinking.analyse import analyse_all
from thinkgap.nothinking.equality import MathEquality
from thinkgap.nothinking.math_worker import READY, compare, serve

HANGS = ("9^{9^{9^{9}}}", "9^{9^{9^{9}}}+1")
"""Algebra would count to a number of hundreds of millions of digits, in one step that no signal interrupts."""


@pytest.fixture(scope="module")
def equal() -> Iterator[MathEquality]:
    with MathEquality(seconds=20, workers=1) as found:
        yield found


@pytest.mark.parametrize("case", [case for case in CASES if "gold" in case], ids=lambda case: case["id"])
def test_required_equalities(equal: MathEquality, case: dict[str, Any]) -> None:
    assert equal(case["gold"], case["expect"]["answer"]) is case["expect"]["equal"]


@pytest.mark.parametrize(
    ("gold", "answer", "same"),
    [
        # What math-verify by itself calls equal and is not.
        (r"\frac{1}{2004!}", r"\frac{1}{2006!}", False),
        (r"\sqrt{2}", "1.41421356", False),
        ("1.41421356", r"\sqrt{2}", False),
        (r"11\sqrt{2}", "15.5563491861", False),
        (r"\pi", "3.14159265358979", False),
        (r"\begin{pmatrix} \sqrt2 \\ 1 \end{pmatrix}", r"\begin{pmatrix} 1.41421356 \\ 1 \end{pmatrix}", False),
        (r"\{\sqrt{2}, 1\}", r"\{1.41421356, 1\}", False),
        (r"28\%", "28", False),
        ("10_8", "10", False),
        (r"\text{east}", "seat", False),
        ("10^{100}", "10^{100}+1", False),
        # What it rightly tells apart.
        ("2", r"\pm 2", False),
        ("(1,2)", "(2,1)", False),
        ("[2,5]", "(2,5)", False),
        ("1728", "1331 and 1728", False),
        ("5", r"5 \text{ or } 6", False),
        (r"\pi", "I do not know", False),
        # What is equal.
        (r"\frac{\sqrt{3}}{3}", r"\frac{1}{\sqrt{3}}", True),
        (r"\sqrt{2}+\sqrt{3}", r"\sqrt{5+2\sqrt{6}}", True),
        ("0", r"\sqrt{2}+\sqrt{3}-\sqrt{5+2\sqrt{6}}", True),
        ("0", r"\frac{1}{2004!}", False),
        ("120", "5!", True),
        ("2k+2", "2(k+1)", True),
        ("1,-2", "-2, 1", True),
        (r"\{1,2\}", r"\{2,1\}", True),
        (r"1 \pm \sqrt{19}", r"1+\sqrt{19}, 1-\sqrt{19}", True),
        (r"x \in [-2,7]", "[-2,7]", True),
        ("y = 2x + 3", "2x+3", True),
        (r"(0,9) \cup (9,36)", r"(0,36)\setminus\{9\}", True),
        (r"\begin{pmatrix} -1/3 \\ 2/3 \end{pmatrix}", r"\begin{pmatrix} -\frac13 \\ \frac23 \end{pmatrix}", True),
        (r"12\pi", r"12 \pi \text{ cm}", True),
        (r"\infty", r"+\infty", True),
        (r"\infty", r"-\infty", False),
        # Nothing to compare with.
        ("", "5", None),
        (r"\begin{cases}", r"\pi", None),
        ("x" * 3000, "x", None),
        (r"\pi", "x+" * 3000, False),
    ],
)
def test_algebra(equal: MathEquality, gold: str, answer: str, same: bool | None) -> None:
    assert equal(gold, answer) is same


def test_a_hung_comparison_is_killed_and_the_next_one_goes_on() -> None:
    with MathEquality(seconds=2) as equal:
        assert equal("2k", "k+k") is True
        process = equal._idle.queue[0]._process
        start = time.monotonic()
        assert equal(*HANGS) is None
        assert 2 <= time.monotonic() - start < 20
        with pytest.raises(ValueError, match="closed"):
            process.is_alive()  # pyright: ignore[reportOptionalMemberAccess]
        assert equal("3k", "k+2k") is True
        assert equal(*HANGS) is None, "kept, and not tried again"
        assert time.monotonic() - start < 60


def test_a_process_that_died_is_replaced() -> None:
    with MathEquality(seconds=20) as equal:
        assert equal("2k", "k+k") is True
        process = equal._idle.queue[0]._process
        assert process is not None
        process.kill()
        process.join()
        assert equal("3k", "k+2k") is True


def test_many_threads_and_workers() -> None:
    """More threads than workers, none of them the main one; pairs and their reverse give different answers."""
    pairs = [(f"{n}k", f"{n - 1}k+k") for n in range(2, 8)] + [(f"{n}k", f"{n}j") for n in range(2, 8)]
    found: dict[int, list[bool | None]] = {}
    with MathEquality(seconds=20, workers=2) as equal:
        threads = [
            threading.Thread(target=lambda number=number: found.update({number: [equal(*pair) for pair in pairs]}))
            for number in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert equal.many([*pairs, *pairs]) == [*[True] * 6, *[False] * 6] * 2
    assert found == {number: [*[True] * 6, *[False] * 6] for number in range(3)}
    assert all(worker._process is None for worker in equal._idle.queue)


def test_forms_need_no_process() -> None:
    with MathEquality() as equal:
        assert equal.many([("5", "5.0"), ("5", "6"), (r"\text{east}", "seat")]) == [True, False, False]
        assert equal._idle.queue[0]._process is None


def _without_library(connection: Connection, seconds: float) -> None:
    connection.send(f"No module named 'math_verify', {seconds:g}")


def _dead(connection: Connection, seconds: float) -> None:
    raise SystemExit(seconds)


def _asleep(connection: Connection, seconds: float) -> None:
    time.sleep(60 + seconds)


@pytest.mark.parametrize(
    ("serve", "said"),
    [(_without_library, "No module named"), (_dead, "ended while it started"), (_asleep, "did not start")],
)
def test_what_cannot_start_says_so(monkeypatch: pytest.MonkeyPatch, serve: Any, said: str) -> None:
    monkeypatch.setattr(module, "serve", serve)
    monkeypatch.setattr(module, "_START_SECONDS", 0.5 if serve is _asleep else 60)
    with MathEquality() as equal, pytest.raises(ConfigError, match=said):
        equal("2k", "k+k")
    assert equal._idle.queue[0]._process is None


def test_settings_that_cannot_be() -> None:
    for seconds, workers in ((0.0, 1), (-1.0, 1), (5.0, 0)):
        with pytest.raises(ConfigError, match="takes time and workers"):
            MathEquality(seconds=seconds, workers=workers)


@pytest.mark.parametrize("error", [MemoryError, RecursionError, TypeError])
def test_what_algebra_fails_on_is_undecided(monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    import math_verify

    def fails(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(math_verify, "parse", fails)
    assert compare("1", "1") is None


@pytest.mark.skipif(sys.platform != "linux", reason="limits of processor time are the system's")
def test_a_worker_whose_owner_is_gone_ends_by_itself() -> None:
    """Nobody kills it here: one second of processor time is all it has for a pair."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs, 1.0), daemon=True)
    process.start()
    assert ours.poll(120)
    assert ours.recv() == READY
    ours.send(HANGS)
    process.join(60)
    assert process.exitcode == -signal.SIGXCPU


def test_each_pair_is_compared_once() -> None:
    asked: list[list[tuple[str, str]]] = []

    def decide(pairs: Any) -> list[bool | None]:
        asked.append(list(pairs))
        return [None if said == "x" else gold == said for gold, said in pairs]

    responses = [answered(rf"\boxed{{{said}}}", "open", mode=mode) for mode in ("a", "b") for said in ("72", "71", "x")]
    loose = answered("So 72 it is, I think", "open", mode="c")
    rows = analyse_all([*responses, loose, answered(r"\boxed{B}")], decide=decide)
    assert asked == [[("72", "72"), ("72", "71"), ("72", "x")]]
    assert [row.reading.correct for row in rows] == [True, False, None, True, False, None, False, True]
    assert [row.reading.undecided for row in rows] == [False, False, True, False, False, True, False, False]
    assert rows[6].reading.correct_permissive is True
    assert analyse_all(responses)[0].reading.correct is None
