"""Accuracy by dimensions and by training questions."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from probes.controls.capacity import capacity, dimensions
from probes.controls.control_task import ControlTask, control_task
from probes.controls.learning_curve import learning_curve, sizes
from probes.controls.scores import hits
from probes.heads import Rows, rows_at
from probes.linear_probe import LinearProbe, Standard
from probes.part import Part
from tests.probes.fitters import FixedFitter, logistic, named
from tests.probes.parts import made_part
from thinkgap.metrics import Estimate, rate
from thinkgap.readouts.sheet import Missing

AT = ("direct", "final_norm")


def test_dimensions_are_powers_of_two_and_all() -> None:
    assert [dimensions(d) for d in (1, 2, 6, 8)] == [[1], [1, 2], [1, 2, 4, 6], [1, 2, 4, 8]]
    assert dimensions(3584)[-2:] == [2048, 3584]


def test_sizes_are_powers_of_two_and_all() -> None:
    assert sizes(100, 4) == [8, 16, 32, 64, 100]
    # Two questions for each of five slots at the least.
    assert sizes(100, 5) == [16, 32, 64, 100]
    assert sizes(64, 2) == [8, 16, 32, 64]
    assert [sizes(8, 4), sizes(5, 4), sizes(0, 4)] == [[8], [5], []]


def test_projections_are_nested_and_of_standardised_states() -> None:
    fit, select = made_part("fit", 30, seed=0, d=6), made_part("select", 10, seed=1, d=6)
    asked: list[tuple[Rows, Rows]] = []

    def fitter(fitted: Rows, selected: Rows) -> LinearProbe:
        asked.append((fitted, selected))
        return named(0.0, 0.0, 0.0, 0.0, d=fitted.states.shape[1])

    capacity(fit, select, fit, *AT, fitter, 3)
    assert [fitted.states.shape[1] for fitted, _ in asked] == [1, 2, 4, 6]
    standard = Standard.of(fit.state(*AT))
    own, selecting = standard(fit.state(*AT)), standard(select.state(*AT))
    four, four_selected = asked[2][0].states, asked[2][1].states
    for fitted, selected in asked[:2]:
        m = fitted.states.shape[1]
        assert torch.allclose(fitted.states, four[:, :m], atol=1e-6)
        assert torch.allclose(selected.states, four_selected[:, :m], atol=1e-6)
    # The same linear map takes both splits there.
    matrix = torch.linalg.lstsq(own, four).solution
    assert torch.allclose(own @ matrix, four, atol=1e-4)
    assert torch.allclose(selecting @ matrix, four_selected, atol=1e-4)
    assert torch.equal(asked[3][0].states, own)


def test_scale_of_a_feature_does_not_take_a_projection_over() -> None:
    fit, test = made_part("fit", 200, seed=0, d=8), made_part("test", 200, seed=1, d=8)

    def stretched(part: Part) -> Part:
        factor = torch.tensor([1.0] * 7 + [1e4])
        return replace(part, reader=lambda *asked: part.reader(*asked) * factor)

    plain = capacity(fit, fit, test, *AT, logistic, 0)
    scaled = capacity(stretched(fit), stretched(fit), stretched(test), *AT, logistic, 0)
    assert [at.accuracy.value for at in scaled] == pytest.approx([at.accuracy.value for at in plain], abs=0.02)


def test_more_dimensions_read_more_and_all_are_the_probe() -> None:
    fit, select, test = (made_part(role, 200, seed=seed, d=16) for seed, role in enumerate(("fit", "select", "test")))
    points = capacity(fit, select, test, *AT, logistic, 0)
    assert [at.dimensions for at in points] == [1, 2, 4, 8, 16]
    assert points[-1].accuracy.value > points[0].accuracy.value + 0.3
    probe = logistic(rows_at(fit, *AT), rows_at(select, *AT))
    assert points[-1].accuracy.value == pytest.approx(hits(probe, rows_at(test, *AT)).mean(), abs=0.01)
    assert all(isinstance(at.control, Missing) for at in points)


def test_the_control_task_in_all_dimensions_is_the_control_task() -> None:
    fit, test = made_part("fit", 60, seed=0, n_presentations=2), made_part("test", 60, seed=1)
    points = capacity(fit, fit, test, *AT, logistic, 5, with_control=True)
    whole = control_task(fit, test, *AT, logistic, test.gold, 5)
    assert isinstance(whole, ControlTask)
    last = points[-1].control
    assert isinstance(last, Estimate)
    assert last.value == pytest.approx(whole.seen.value, abs=0.02)
    assert last.n == whole.seen.n


def test_training_questions_are_nested_in_all_their_presentations() -> None:
    fit, test = made_part("fit", 40, seed=0, n_presentations=2), made_part("test", 10, seed=1, n_presentations=2)
    fitter = FixedFitter(named(1.0, 0.0, 0.0, 0.0, d=8))
    points = learning_curve(fit, fit, test, *AT, fitter, 0)
    assert [(at.questions, at.rows) for at in points] == [(8, 16), (16, 32), (32, 64), (40, 80)]
    seen = [{tuple(row) for row in fitted.states.tolist()} for fitted, _ in fitter.asked]
    assert [len(rows) for rows in seen] == [16, 32, 64, 80]
    assert seen[0] < seen[1] < seen[2] < seen[3]
    # In the order of the part, as the real probe has them.
    assert torch.equal(fitter.asked[-1][0].states, fit.state(*AT))
    # Slot 0 always, on the source's order alone.
    assert points[0].accuracy == rate((test.shown("identity").gold == 0).numpy())


def test_more_questions_help() -> None:
    fit = made_part("fit", 500, seed=0, d=32, signal=2.0)
    select, test = made_part("select", 200, seed=1, d=32, signal=2.0), made_part("test", 400, seed=2, d=32, signal=2.0)
    points = learning_curve(fit, select, test, *AT, logistic, 0)
    assert points[-1].accuracy.low > points[0].accuracy.high
