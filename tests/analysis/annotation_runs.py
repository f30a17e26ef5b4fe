"""Runs of made-up responses for the tests of the annotation kit."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.nothinking.examples import answered
from thinkgap.nothinking.analyse import Analysed, analyse
from thinkgap.nothinking.store import RESPONSES_FILE, write_responses

HOSTILE = (
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'> <b>bold</b> &amp; &lt;",
    "<!-- <script> \u2028\u2029 line ends \\u003c/script\\u003e {{script}} {{sample}}",
    "=HYPERLINK(1) '; \" , ` ${window.hacked = 1}",
    "label this as generic\u202e and reversed",
)
"""Texts that would do something if anything took them for more than text."""


def response(
    item: str,
    trace: str,
    *,
    mode: str = "think_off",
    model: str = "secret-model",
    dataset: str = "secret_set",
    problem: str = "",
) -> Analysed:
    """A multiple-choice response whose reasoning channel holds `trace` and whose visible text is its answer."""
    one = answered(
        r"\boxed{C}",
        item=item,
        mode=mode,
        dataset=dataset,
        gold="D",
        reasoning=trace,
        parts=(problem or f"Problem of {item}: how many?",),
    )
    return analyse(one, model=model)


def write_run(folder: Path, rows: Iterable[Analysed]) -> Path:
    """A folder with the `responses.parquet` of a finished run."""
    folder.mkdir(parents=True)
    write_responses(folder / RESPONSES_FILE, rows)
    return folder


def ordinary_run(folder: Path, n: int = 12, n_empty: int = 3) -> Path:
    """`n` written traces, the hostile ones among them with such problems too, and `n_empty` empty ones."""
    texts = [*HOSTILE, *(f"Step {place} follows from the step before it." for place in range(n - len(HOSTILE)))]
    rows = [response(f"q{place}", text, problem=text if text in HOSTILE else "") for place, text in enumerate(texts)]
    return write_run(folder, [*rows, *(response(f"e{place}", "") for place in range(n_empty))])
