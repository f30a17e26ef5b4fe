"""Level 1 of the no-thinking study: responses per second and core, for each step and as a whole, without algebra.

`python -m benchmarks.responses [--quick] [--responses N] [--words N] [--repeats N]`. Made-up responses of three answer
spaces, a box in half of them; a tenth copy their question, and a sixth hold no answer. The bound is 3,000 responses of
200 words per second.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness import RESULTS, Options, finish, interleaved, timing
from thinkgap.nothinking.analyse import Analysed, analyse_all
from thinkgap.nothinking.audits import copied, is_answer_first
from thinkgap.nothinking.etr import empty_thinking, trace_length
from thinkgap.nothinking.reading import read
from thinkgap.nothinking.store import to_table
from thinkgap.nothinking.tables import audit_sheets, response_sheets
from thinkgap.responses import extract
from thinkgap.types import Answered, Question, Response, Thinking

BOUND = 3_000
"""Responses of 200 words per second on one core, which `analyse_all` has to reach."""
_WORDS = re.findall(
    "[a-z]+",
    "the of a to and in that it is so because since then if we first next each option water ice floats density mass "
    "force field rate passage author claims number total cost units remaining therefore compare exclude consider step",
)
_MODES = ("think_off", "soft", "strict")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure all steps."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.responses", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few responses: shows that it works, not how fast")
    parser.add_argument("--responses", type=int, help="default: 6,000")
    parser.add_argument("--words", type=int, default=200, help="words of a response (default: 200)")
    parser.add_argument("--repeats", type=int, help="of which medians are taken (default: 5)")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FOLDER", help="where the JSON goes")
    given = parser.parse_args(arguments)
    options = Options(quick=given.quick, threads=1, repeats=given.repeats, out=given.out)
    number = options.sized(given.responses, 6_000, 60)
    result = measure(made_up(number, given.words), options.sized(given.repeats, 5, 1))
    finish("responses", options, {"words": given.words, "bound_per_s": BOUND, **result}, _rows(result))


def measure(responses: Sequence[Answered], repeats: int) -> dict[str, Any]:
    """Seconds of processor time of each step over all `responses`."""
    rows = analyse_all(responses)
    frame = to_table(rows).to_pandas()
    steps: dict[str, Callable[[], Any]] = {
        "extract": lambda: [_extract(one) for one in responses],
        "read": lambda: [read(one) for one in responses],
        "empty thinking": lambda: [empty_thinking(row.reading) for row in rows],
        "trace length": lambda: [trace_length(row.reading) for row in rows],
        "audits": lambda: [_audited(row) for row in rows],
        "analyse_all": lambda: analyse_all(responses),
        "to_table": lambda: to_table(rows),
        "sheets": lambda: [*response_sheets(frame), *audit_sheets(frame)],
    }
    seconds = interleaved({name: _processor_time(work) for name, work in steps.items()}, repeats)
    return {
        "responses": len(responses),
        "mean_words": sum(len(one.response.content.split()) for one in responses) / len(responses),
        "answered": sum(row.reading.answer is not None for row in rows),
        "copies": sum(row.copy is not None and row.copy.is_copy() for row in rows),
        "steps": {name: timing(values) for name, values in seconds.items()},
        "per_s": len(responses) / timing(seconds["analyse_all"])["median_s"],
    }


def made_up(number: int, words: int) -> list[Answered]:
    """Responses to questions of three answer spaces, each question under three modes."""
    rng = random.Random(0)
    return [_made_up(rng, one // len(_MODES), _MODES[one % len(_MODES)], words) for one in range(number)]


def _made_up(rng: random.Random, item: int, mode: str, words: int) -> Answered:
    space = ("mcq", "bool", "open")[item % 3]
    own = random.Random(item)
    context, stem, *options = (_text(own, n) for n in (words // 2, words // 5, 10, 12, 8, 9))
    labels = ("A", "B", "C", "D") if space == "mcq" else ()
    answer = rng.choice({"mcq": ["A", "B", "C", "D"], "bool": ["yes", "no"], "open": ["72", r"\frac{1}{2}"]}[space])
    parts = (context, stem, *options) if labels else (context, stem)
    kind = rng.random()
    if kind < 0.1:
        trace = " ".join((f"{context} {stem} " * 2).split()[:words])
    elif kind < 0.2:
        trace = _text(rng, words).replace(" so ", "\n\n- **so** ")
    else:
        trace = _text(rng, words)
    ends = (f"\n\n$\\boxed{{{answer}}}$.",) * 3 + (f". The answer is {answer}.",) * 2 + (".",)
    said = trace + rng.choice(ends)
    question = Question(
        item_id=f"item-{item}",
        group_id=f"item-{item}",
        dataset=f"made_up_{space}",
        space=space,  # pyright: ignore[reportArgumentType]
        problem=" ".join(parts),
        answer=answer,
        labels=labels,
        options=tuple(options) if labels else (),
        parts=parts,
    )
    return Answered(question, mode, Thinking.disabled, Response(said, finish_reason="stop", model="made up"))


def _text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(_WORDS, k=words))


def _extract(answered: Answered) -> object:
    question = answered.question
    return extract(
        answered.response.content, question.space, labels=question.labels, options=question.options, mode=answered.mode
    )


def _audited(row: Analysed) -> object:
    return is_answer_first(row.reading), copied(row.answered.question.parts, row.reading.trace)


def _processor_time(work: Callable[[], Any]) -> Callable[[], float]:
    """Processor time, which others on the machine do not take."""

    def run() -> float:
        start = time.process_time()
        work()
        return time.process_time() - start

    return run


def _rows(result: dict[str, Any]) -> list[dict[str, Any]]:
    number = result["responses"]
    return [
        {
            "step": name,
            "s": step["median_s"],
            "us per response": 1e6 * step["median_s"] / number,
            "responses/s": number / step["median_s"],
        }
        for name, step in result["steps"].items()
    ]


if __name__ == "__main__":
    main()
