"""The labelled traces that ship with the project, and how judges are measured on them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pytest

from tests.conftest import ROOT
from thinkgap.errors import DataError
from thinkgap.judging.__main__ import main
from thinkgap.judging.labelled import LABELS, SPLITS, _parse, labelled_traces, of_split
from thinkgap.judging.measured import (
    check_sheets,
    confusion,
    figures,
    measured_rates,
    repeat_agreement,
    rules_labels,
)
from thinkgap.readouts.sheet import sheet_markdown
from thinkgap.types import TraceLabel

E: TraceLabel = "explicit_reasoning"
P: TraceLabel = "paraphrase_only"
R: TraceLabel = "relevant_non_inferential"


def test_the_traces_are_as_the_note_says() -> None:
    traces = labelled_traces()
    assert len(traces) == 326
    assert {split: len(of_split(split)) for split in SPLITS} == {"dev": 163, "held_out": 163}
    assert {one.label for one in of_split("dev")} == {one.label for one in of_split("held_out")} == set(LABELS)
    assert not {one.problem for one in of_split("dev")} & {one.problem for one in of_split("held_out")}
    for one in traces:
        assert one.id == hashlib.sha256(f"{one.problem}\0{one.trace}".encode()).hexdigest()[:8]
        assert one.trace.strip()
        # A label that one pass did not give has a reason.
        assert one.label in (one.label_first, one.label_second)
        assert one.note or one.label_first == one.label_second
    assert len({one.id for one in traces}) == len(traces)
    assert {one.source.model for one in traces} == {"smollm2", "demo_vlm"}
    # Nothing but generated sets and questions of our own.
    assert {one.source.dataset for one in traces} == {"own_questions", "toy_facts", "number_facts", "digit_scenes"}


ROW = {
    "id": "1",
    "split": "dev",
    "problem": "Q",
    "trace": "T",
    "label": E,
    "label_first": E,
    "label_second": P,
    "source": {"model": "m", "dataset": "d", "mode": "cot"},
    "note": "",
}


def test_a_damaged_line_is_named() -> None:
    assert _parse(json.dumps(ROW), 1).pair.trace == "T"
    with pytest.raises(DataError, match="line 7: label 'explicit' is unknown; did you mean 'explicit_reasoning'"):
        _parse(json.dumps({**ROW, "label": "explicit"}), 7)
    with pytest.raises(DataError, match="line 7: split 'test' is unknown"):
        _parse(json.dumps({**ROW, "split": "test"}), 7)
    for line in ("{", "[]", json.dumps({"id": "1"}), json.dumps({**ROW, "source": {"author": "x"}})):
        with pytest.raises(DataError, match="line 7: no labelled trace"):
            _parse(line, 7)


def _labelled(*labels: TraceLabel):
    one = _parse(json.dumps(ROW), 1)
    return [replace(one, label=label, problem=str(place)) for place, label in enumerate(labels)]


def test_figures_by_hand() -> None:
    labelled = _labelled(E, E, E, P, R, R, R, P)
    said = [E, E, R, P, E, R, P, None]
    found = figures(labelled, said)
    # Explicit: 3 labelled so, 2 of them found; 5 others, 4 of them not called so; called so 3 times, 2 of them rightly.
    assert found["sensitivity"].value == pytest.approx(2 / 3)
    assert found["specificity"].value == pytest.approx(4 / 5)
    assert found["precision"].value == pytest.approx(2 / 3)
    assert found["binary_accuracy"].value == pytest.approx(6 / 8)
    # The same of five labels: traces 1, 2, 4 and 6; no label is not the same.
    assert found["accuracy"].value == pytest.approx(4 / 8)
    assert (found["sensitivity"].n, found["specificity"].n, found["precision"].n) == (3, 5, 3)
    assert found["sensitivity"].low < 2 / 3 < found["sensitivity"].high
    counts = dict(zip(LABELS, confusion(labelled, said), strict=True))
    assert counts[E] == [2, 0, 1, 0, 0, 0]
    assert counts[P] == [0, 1, 0, 0, 0, 1]
    assert counts[R] == [1, 1, 1, 0, 0, 0]
    with pytest.raises(ValueError, match="1 labels of a judge for 2 traces"):
        confusion(_labelled(E, P), [E])


def test_a_judge_that_calls_nothing_explicit_has_no_precision() -> None:
    found = figures(_labelled(E, P), [P, P])
    assert found["precision"].n == 0
    assert found["sensitivity"].value == 0
    assert found["specificity"].value == 1


def test_confusion_of_the_rules() -> None:
    """Pinned in total: whoever changes a rule sees what it does to labels, and says so in the documentation."""
    dev, held_out = of_split("dev"), of_split("held_out")
    assert confusion(dev, rules_labels(dev)) == [
        [69, 0, 1, 0, 0, 0],
        [0, 8, 2, 0, 0, 0],
        [0, 5, 62, 0, 0, 0],
        [0, 0, 1, 12, 0, 0],
        [0, 0, 2, 0, 1, 0],
    ]
    assert confusion(held_out, rules_labels(held_out)) == [
        [67, 0, 4, 0, 0, 0],
        [0, 7, 3, 0, 0, 0],
        [3, 1, 61, 0, 0, 0],
        [0, 0, 1, 12, 0, 0],
        [0, 0, 1, 1, 2, 0],
    ]


def test_rates_for_a_correction_come_from_the_traces() -> None:
    # Held out: 67 of 71 explicit found; 3 of the 92 others called explicit.
    assert measured_rates() == pytest.approx((67 / 71, 89 / 92))
    # Both halves: 67 + 69 of 71 + 70; 3 of 92 + 93.
    assert measured_rates(None) == pytest.approx((136 / 141, 182 / 185))


def test_repeat_agreement() -> None:
    same, kappa = repeat_agreement()
    traces = labelled_traces()
    n = len(traces)
    agreed = sum(one.label_first == one.label_second for one in traces) / n
    chance = sum(
        sum(one.label_first == label for one in traces) / n * sum(one.label_second == label for one in traces) / n
        for label in LABELS
    )
    assert same.value == pytest.approx(agreed)
    assert agreed == pytest.approx(319 / 326)
    assert kappa == pytest.approx((agreed - chance) / (1 - chance))


def test_the_command_prints_what_the_documentation_shows(capsys) -> None:
    assert main(["check"]) == 0
    printed = capsys.readouterr().out
    page = (ROOT / "docs" / "rules_judge.md").read_text(encoding="utf-8")
    for sheet in check_sheets():
        text = sheet_markdown(sheet)
        assert text in printed
        assert text in page, "run: python -m thinkgap.judging check, and put its output into docs/rules_judge.md"


def test_a_missing_file_is_an_error_with_a_way_out(monkeypatch, capsys) -> None:
    monkeypatch.setattr("thinkgap.judging.labelled.FILE", "examples/gone.jsonl")
    labelled_traces.cache_clear()
    try:
        assert main(["check"]) == 2
    finally:
        labelled_traces.cache_clear()
    assert "install thinkgap again" in capsys.readouterr().err
