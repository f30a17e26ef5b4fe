"""Verdicts: every rule by hand, and the figures they are given."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.store.examples import record
from thinkgap.metrics import Estimate, PairedDifference
from thinkgap.readouts.frames import frame_of
from thinkgap.readouts.verdict import Evidence, Thresholds, Verdict, verdict_of, verdict_sheet, verdicts
from thinkgap.store.records import to_table


def share(value: float, half: float = 0.02) -> Estimate:
    return Estimate(value, value - half, value + half, 100)


def gap(value: float, half: float = 0.02) -> PairedDifference:
    return PairedDifference(share(value, half), 0.01, 10, 20)


def evidence(requests: str = "rationale", **changes: Any) -> Evidence:
    """A condition that nothing speaks against."""
    figures: dict[str, Any] = {
        "native": share(0.8),
        "first_slot": share(0.3),
        "excess": share(0.0),
        "label_mass": share(0.9),
    }
    return Evidence("let", requests, **figures | changes)


def judged(requests: str = "rationale", **changes: Any) -> Verdict:
    return verdict_of(evidence(requests, **changes), Thresholds())


def test_the_published_case() -> None:
    """Qwen2.5-VL-7B on ScienceQA: 45.5 read, 75.2 generated, first slot 94 where 40 are right (prefix study)."""
    found = judged(
        native=Estimate(0.455, 0.440, 0.470, 4241),
        excess=share(0.54),
        label_mass=share(1.5e-9),
        generated=Estimate(0.752, 0.739, 0.765, 4241),
        gap=gap(0.297),
    )
    assert str(found) == (
        "let: rationale requested, label read: mismatch; native 45.5 [44.0, 47.0], generated 75.2 [73.9, 76.5]; labels "
        "hold 1.5e-09 of the next token's probability; the first slot is read 54.0 points more often than it is right; "
        "generated answers are right 29.7 points more often; do not report the native figure as the model's accuracy"
    )


@pytest.mark.parametrize(
    ("requests", "changes", "match", "n_findings", "advice"),
    [
        ("label", {}, True, 0, "the native figure reads what the prompt requests"),
        ("answer_only", {}, True, 0, "the native figure reads"),
        ("label", {"excess": share(0.2)}, True, 1, "the label is what was requested, but"),
        ("label", {"label_mass": share(0.49)}, False, 1, "do not report"),
        ("label", {"label_mass": share(0.5)}, True, 0, "the native figure reads"),
        ("rationale", {}, False, 0, "what the model would have answered is not measured"),
        ("rationale", {"generated": share(0.8), "gap": gap(0.0)}, False, 0, "no figure speaks against"),
        ("rationale", {"generated": share(0.9), "gap": gap(0.1)}, False, 1, "do not report"),
        ("rationale", {"generated": share(0.7), "gap": gap(-0.1)}, False, 1, "do not report"),
        # Large, but the interval holds zero; clear, but small.
        ("rationale", {"generated": share(0.9), "gap": gap(0.1, 0.11)}, False, 0, "no figure speaks against"),
        ("rationale", {"generated": share(0.84), "gap": gap(0.04, 0.01)}, False, 0, "no figure speaks against"),
        ("rationale", {"excess": share(0.2, 0.3)}, False, 0, "what the model would"),
        # The first slot read less often than it is right is no preference for it.
        ("label", {"excess": share(-0.3)}, True, 0, "the native figure reads"),
        ("rationale", {"aligned": share(0.9), "aligned_gap": gap(0.1)}, False, 1, "do not report"),
        # A label after a label is no better reading of it.
        ("label", {"aligned": share(0.5), "aligned_gap": gap(-0.3)}, True, 0, "the native figure reads"),
    ],
)
def test_rules(requests: str, changes: dict[str, Any], match: bool, n_findings: int, advice: str) -> None:
    found = judged(requests, **changes)
    assert (found.match, len(found.findings)) == (match, n_findings)
    assert found.advice.startswith(advice)


@pytest.mark.parametrize(("n", "clear"), [(6, True), (5, False), (1, False)])
def test_without_spread_enough_rows_make_a_figure_clear(n: int, clear: bool) -> None:
    """All replies right, all labels wrong and in a slot that is never right: every difference is 1, no interval.

    McNemar's p for b = 0, c = n is 2 / 2^n: 1/32 for six rows, 1/16 for five.
    """
    alike = Estimate(1.0, math.nan, math.nan, n)
    sure = PairedDifference(alike, min(1.0, 2 / 2**n), 0, n)
    found = judged(generated=share(1.0), gap=sure, excess=alike).findings
    assert found == (
        ("the first slot is read 100.0 points more often than it is right",
         "generated answers are right 100.0 points more often") if clear else ()
    )  # fmt: skip


def test_replies_without_an_answer_are_told_beside_their_accuracy() -> None:
    """Replies that were cut before they state an answer are wrong, but not because the model is."""
    found = judged(generated=share(0.1), gap=gap(-0.7), unanswered=90, aligned=share(0.2), aligned_gap=gap(-0.6))
    assert found.findings == (
        "generated answers are right 70.0 points less often (90 of 100 replies state none)",
        "labels read after the reply are right 60.0 points less often",
    )
    assert "state none" not in str(judged(generated=share(0.9), gap=gap(0.3), unanswered=3))


def test_one_group_makes_no_figure_clear() -> None:
    """Rows of one passage say nothing of the spread over passages: no interval, whatever the difference."""
    apart = PairedDifference(Estimate(0.9, math.nan, math.nan, 10), 0.004, 0, 9)
    assert judged(generated=share(0.9), gap=apart).findings == ()


def test_thresholds_are_settings() -> None:
    found = verdict_of(evidence("label", label_mass=share(0.3)), Thresholds(label_mass=0.2))
    assert found.match


def test_figures_are_those_of_the_records() -> None:
    """Four items, gold in slot 1. Read: slots 0, 0, 0, 1; generated: 1, 1, none, 1; permutations do not count."""
    rows = []
    for i, (native, reply) in enumerate(((0, 1), (0, 1), (0, -1), (1, 1))):
        rows.append(record(f"q{i}", "let", pred_slot=native, label_mass=0.1 * (i + 1)))
        rows.append(record(f"q{i}", "let", presentation="permutation_1", pred_slot=1))
        rows.append(record(f"q{i}", "let", readout="generation", pred_slot=reply, label_mass=math.nan))
    (found,) = verdicts(frame_of(to_table(rows)), ["direct", "let"], {"let": "rationale"}, Thresholds())
    figures = found.evidence
    assert (figures.native.value, figures.native.n) == (0.25, 4)
    assert figures.first_slot.value == 0.75
    assert figures.excess.value == 0.75
    assert figures.label_mass.value == pytest.approx(0.25)
    assert figures.generated is not None
    assert figures.generated.value == 0.75
    assert figures.gap is not None
    assert (figures.gap.difference.value, figures.gap.b, figures.gap.c) == (0.5, 0, 2)
    assert (figures.aligned, figures.unanswered) == (None, 1)
    sheet = verdict_sheet([found])
    assert sheet.rows[0][:3] == ("let", "rationale", "mismatch")
