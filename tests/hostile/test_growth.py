"""Texts that anybody may write take time linear in their length: eight times the text, not 64 times the time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from thinkgap.data.jsonlines import json_row
from thinkgap.judging.rules import RulesJudge
from thinkgap.nothinking.exact import exactly_equal
from thinkgap.printable import printable
from thinkgap.readouts.table_text import grid
from thinkgap.responses import extract
from thinkgap.responses.rational import rational, unwrapped
from thinkgap.types import Pair

N = 2_500
FACTOR = 8
LABELS, OPTIONS = ("A", "B", "C", "D"), ("red", "red and blue", "7", "A mammal")
PROBLEM = "Context: The lake is deep.\nQuestion: Is it deeper than 9?\nOptions:\nA. lake\nB. 7"


def least_seconds(work: Callable[[str], object], text: str) -> float:
    """Of two tries, so that another process does not count."""
    tries = []
    for _ in range(2):
        begun = time.process_time()
        work(text)
        tries.append(time.process_time() - begun)
    return min(tries)


def assert_linear(work: Callable[[str], object], made: Callable[[int], str]) -> None:
    short, long = least_seconds(work, made(N)), least_seconds(work, made(FACTOR * N))
    # Quadratic time would be 64 times as long; a third of that leaves room for a busy machine.
    assert long < 0.05 or long < 20 * max(short, 0.001), (short, long)


def fresh(reader: Callable[[str], object]) -> Callable[[str], object]:
    def read(text: str) -> object:
        unwrapped.cache_clear()
        rational.cache_clear()
        return reader(text)

    return read


LAYERS = {
    "braces": ("{", "}"),
    "texts": (r"\text{", "}"),
    "brackets": ("(", ")"),
    "dollars": ("$", "$"),
    "stars": ("**", "**"),
    "quotes": ('"', '"'),
    "open boxes": (r"\boxed{", ""),
    "fractions": (r"\frac{", "}{2}"),
    "stops": ("", ". ,;"),
    "commas": ("", ","),
    "semicolons": (";", ";"),
    "overlines": (r"\overline{", "}"),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_of_open_answers(name: str) -> None:
    before, after = LAYERS[name]

    def made(n: int) -> str:
        layers = n // len(before + after)
        return before * layers + "7" + after * layers

    assert_linear(fresh(lambda text: exactly_equal(text, "7")), made)
    assert_linear(fresh(rational), made)


@pytest.mark.parametrize("name", LAYERS)
def test_layers_in_replies(name: str) -> None:
    before, after = LAYERS[name]

    def made(n: int) -> str:
        # Lines that differ, or the answer of the first would be known for all.
        layers = 1900 // len(before + after)
        lines = range(max(1, n // 1900))
        return "\n".join(f"The answer is {before * layers}{line}{after * layers}" for line in lines)

    assert_linear(lambda text: extract(text, "mcq", labels=LABELS, options=OPTIONS), made)
    assert_linear(lambda text: extract("\\boxed{" + text + "}", "open"), made)


@pytest.mark.parametrize(
    "piece",
    ["A, B or C. ", "because ", "since ", "1. ", "answer ", "\\boxed 7", "\x00", "½"],
)
def test_pieces_of_replies(piece: str) -> None:
    def made(n: int) -> str:
        return piece * (n // len(piece))

    assert_linear(lambda text: extract(text, "mcq", labels=LABELS, options=OPTIONS), made)
    assert_linear(lambda text: RulesJudge().judge([Pair(PROBLEM, text)]), made)


@pytest.mark.parametrize("piece", ["\\", "|", "\\|", "\x1b[31m", "\u202e"])
def test_cells_of_tables(piece: str) -> None:
    assert_linear(lambda text: grid(["a"], [[text], ["b"]], left=1), lambda n: piece * (n // len(piece)))
    assert_linear(printable, lambda n: piece * (n // len(piece)))


def test_many_keys_of_which_the_last_stands_twice() -> None:
    def made(n: int) -> str:
        keys = [f'"{n}": 1' for n in range(n // 8)]
        return "{" + ", ".join([*keys, keys[-1]]) + "}"

    row = json_row(made(400).encode(), 1, Path())
    assert row.problem == "line 1 is not usable JSON: key '49' stands twice"
    assert_linear(lambda text: json_row(text.encode(), 1, Path()), made)


def test_ten_megabytes_are_read() -> None:
    reply = "I look at the picture once more, and it shows 7 apples. " * 180_000 + "The answer is B."
    assert len(reply) > 10_000_000
    assert extract(reply, "mcq", labels=LABELS, options=OPTIONS).answer == "B"


def test_a_hundred_thousand_braces_hide_no_answer() -> None:
    reply = "{" * 100_000 + r"\boxed{B}" + "}" * 100_000
    assert extract(reply, "mcq", labels=LABELS).answer == "B"
    deep = json.dumps({"question": "{" * 100_000, "answer": "7"})
    assert json_row(deep.encode(), 1, Path()).problem == ""
