"""Parts of the exact solver against their plain forms: pairs, approximate Hessians, residuals, turned rows."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from probes.exact_hessian import BlockHessian, MeanHessian
from probes.exact_rows import TurnedRows, residuals, upper_gram
from probes.exact_steps import _PAIRS, Pairs, minimise
from tests.probes.exact_data import Data, made


def turned(data: Data, *, bias: bool = True) -> TurnedRows:
    n_slots = int(data.k.max())
    return TurnedRows(data.x, data.gold, torch.arange(n_slots)[:, None] < data.k, n_slots, bias=bias)


def some(rows: TurnedRows, n_fits: int, seed: int = 0) -> Tensor:
    draw = torch.Generator().manual_seed(seed)
    n_slots, n_contrasts = rows.contrasts.shape
    return torch.randn(n_fits, n_contrasts, len(rows.moments), generator=draw) / n_slots


def hessian(rows: TurnedRows, probabilities: Tensor) -> Tensor:
    """mean(A_i kron z_i z_i') `[J * D, J * D]` of `probabilities` `[K, n]`, row by row, in float64."""
    z, basis, total = rows.along.double(), rows.contrasts.double(), 0
    for row, p in enumerate(probabilities.T.double()):
        total = total + torch.kron(basis.T @ (p.diag() - p[:, None] * p) @ basis, z[row][:, None] * z[row]) / len(z)
    assert isinstance(total, Tensor)
    return total


@pytest.mark.parametrize("bias", [True, False])
def test_turned_rows_give_the_logits_and_gradients_of_the_weights_they_stand_for(bias: bool) -> None:
    data = made(n=50, d=6, n_slots=4, sizes=(3, 4))
    rows = turned(data, bias=bias)
    solution = some(rows, 2)
    weight, biases = rows.weights(solution)
    plain = (data.x @ weight + biases[:, None]).mT
    assert torch.allclose(rows.project(solution), plain, atol=1e-5)
    # The gradient turns as the weights do: its product with any direction is the same in both forms.
    wrong = rows.residuals(rows.none + plain)[1]
    other = some(rows, 2, seed=1)
    towards, shift = rows.weights(other)
    straight = ((data.x.T @ wrong.mT / 50) * towards).sum((1, 2)) + (wrong.mean(2) * shift).sum(1)
    assert torch.allclose((rows.gradient(wrong) * other).sum((1, 2)), straight, atol=1e-6)


def test_the_right_slot_keeps_its_digits_where_a_fit_is_sure() -> None:
    logits = torch.tensor([[30.0], [0.0]])[None]
    found = residuals(logits, torch.tensor([[1.0], [0.0]]))[1]
    # 1 / (1 + e^30) = 9.36e-14; in float32, 1 - p is 0.
    assert found[0, :, 0].tolist() == pytest.approx([-9.3576e-14, 9.3576e-14], rel=1e-4)


def test_a_product_with_itself_has_its_upper_half() -> None:
    x = torch.randn(40, 300, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(upper_gram(x).triu(), (x.T @ x).triu(), atol=1e-4)


def test_the_objective_and_the_bend_along_a_line() -> None:
    rows = turned(made(n=80, d=5, sizes=(2, 4)))
    at, step = some(rows, 2), some(rows, 2, seed=1)
    ridge = torch.full((2, 1, 6), 0.3)
    probabilities = rows.residuals(rows.none + rows.project(at))[0]
    flat = step.double().flatten(1)
    for fit in range(2):
        exact = flat[fit] @ hessian(rows, probabilities[fit]) @ flat[fit]
        assert float(rows.bend(probabilities, rows.project(step))[fit]) == pytest.approx(float(exact), rel=1e-4)
    # And the objective is what has this bend: second differences of it.
    near = [rows.objective(ridge, at + length * step) for length in (-0.02, 0.0, 0.02)]
    second = (near[0] - 2 * near[1] + near[2]) / 0.02**2
    bends = rows.bend(probabilities, rows.project(step)).double() + 0.3 * flat.square().sum(1)
    assert torch.allclose(second, bends, rtol=1e-2)


def test_the_mean_hessian_is_exact_where_all_rows_are_in_equal_doubt() -> None:
    rows = turned(made(n=80, d=5))
    ridge = torch.tensor([0.3, 0.01])[:, None, None].expand(2, 1, 6)
    probabilities = torch.full((2, 4, 80), 0.25)
    gradient = some(rows, 2)
    found = MeanHessian(rows)(probabilities, ridge)(gradient)
    for fit in range(2):
        dense = hessian(rows, probabilities[fit]) + float(ridge[fit, 0, 0]) * torch.eye(18)
        assert torch.allclose(
            found[fit].flatten().double(), dense.inverse() @ gradient[fit].flatten().double(), rtol=1e-3
        )


def test_the_block_hessian_has_the_blocks_of_the_exact_one() -> None:
    rows = turned(made(n=80, d=5, sizes=(2, 4)))
    probabilities = rows.residuals(rows.none + 3 * rows.project(some(rows, 1)))[0]
    ridge, gradient = torch.full((1, 1, 6), 0.02), some(rows, 1, seed=1)
    found = BlockHessian(rows, 10)(probabilities, ridge)(gradient)[0]
    vectors = torch.linalg.eigh(rows.curvature(probabilities)[0].double())[1]
    turning = torch.kron(vectors.contiguous(), torch.eye(6).double())
    exact = (turning.T @ hessian(rows, probabilities[0]) @ turning).view(3, 6, 3, 6)
    inverses = torch.stack([(exact[j, :, j] + 0.02 * torch.eye(6)).inverse() for j in range(3)])
    expected = vectors @ (inverses @ (vectors.T @ gradient[0].double())[..., None])[..., 0]
    assert torch.allclose(found.double(), expected, rtol=1e-2, atol=1e-3)


def test_the_block_hessian_serves_another_penalty_and_is_renewed_when_it_is_old() -> None:
    rows = turned(made(n=80, d=5))
    even = torch.full((1, 4, 80), 0.25)
    sure = rows.residuals(20 * rows.project(some(rows, 1)))[0]
    weak, strong, gradient = torch.full((1, 1, 6), 0.01), torch.full((1, 1, 6), 10.0), some(rows, 1)
    held = BlockHessian(rows, 2)
    first = held(even, weak)(gradient)
    assert torch.equal(held(sure, weak)(gradient), first)
    # The third step of a fit is beyond the patience of two.
    assert not torch.allclose(held(sure, weak)(gradient), first, rtol=0.1)
    other = held.restarted()(even, strong)(gradient)
    assert torch.allclose(other, BlockHessian(rows, 2)(sure, strong)(gradient))


def plain_two_loops(pairs: list[tuple[Tensor, Tensor]], gradient: Tensor, scale: Tensor) -> Tensor:
    """Nocedal and Wright, algorithm 7.4, of one fit."""
    left, shares = gradient.clone(), []
    for step, change in reversed(pairs):
        shares.append((step @ left) / (step @ change))
        left = left - shares[-1] * change
    found = left / scale
    for (step, change), share in zip(pairs, reversed(shares), strict=True):
        found = found + step * (share - (change @ found) / (step @ change))
    return found


def test_pairs_are_the_two_loop_recursion() -> None:
    """With more pairs than are held, a pair without curvature, and fits that leave."""
    draw = torch.Generator().manual_seed(0)
    size, scale = 12, torch.linspace(1, 3, 12)
    bend = torch.linspace(0.5, 4, size)
    held, kept = Pairs.none(3, size), [[] for _ in range(3)]
    for number in range(_PAIRS + 7):
        step = torch.randn(3, 2, 6, generator=draw)
        change = step * bend.view(2, 6) + 0.02 * torch.randn(3, 2, 6, generator=draw)
        if number == _PAIRS + 3:
            change[1] = -change[1]
        held.add(step, change)
        if number == _PAIRS:
            kept = [pairs[-(_PAIRS // 2) :] for pairs in kept]
        for fit in range(3):
            if float((step[fit] * change[fit]).sum()) > 0:
                kept[fit].append((step[fit].flatten(), change[fit].flatten()))
    held = held.kept(torch.tensor([False, True, True]))
    gradient = torch.randn(2, 2, 6, generator=draw)
    found = held.times(gradient, lambda given: given / scale.view(2, 6))
    for fit in (1, 2):
        expected = plain_two_loops(kept[fit], gradient[fit - 1].flatten(), scale)
        assert torch.allclose(found[fit - 1].flatten(), expected, rtol=1e-3, atol=1e-4)
    assert len(kept[1]) == len(kept[2]) - 1
    last = torch.stack([sum((step for step, _ in kept[2][-3:]), torch.zeros(size))])
    assert torch.allclose(held.moved(3)[1:], last, atol=1e-5)


def test_a_hessian_that_bends_too_much_does_not_end_a_fit_early() -> None:
    """Its first step is too short to say how far the optimum is; `least` steps correct it."""
    rows = turned(made(n=200, d=8))
    ridge = torch.full((1, 1, 9), 0.01)
    ridge[..., -1] = 0
    settings = {"tolerance": 1.0, "max_iterations": 500}
    best = minimise(rows, ridge, torch.zeros(1, 3, 9), MeanHessian(rows), tolerance=1e-6, max_iterations=500).solution
    start = 2 * best
    early, late = (
        minimise(rows, ridge, start, lambda *_: lambda given: 1e-5 * given, least=least, **settings)
        for least in (0, 10)
    )
    assert early.iterations.tolist() == [0]
    assert late.iterations.tolist() >= [10]
    assert float((late.solution - best).norm() / best.norm()) < 1e-2
    assert float((early.solution - best).norm() / best.norm()) == pytest.approx(1)


@pytest.mark.parametrize("factor", [1e-6, 1e-2, 1e2, 1e6])
def test_a_fit_gets_ahead_with_steps_of_any_length(factor: float) -> None:
    """One step of the method, which starts with the gradient times `factor`, lowers the objective."""
    rows = turned(made(n=200, d=8))
    ridge, start = torch.full((1, 1, 9), 1e-4), some(rows, 1)
    solved = minimise(
        rows, ridge, start, lambda *_: lambda given: factor * given, tolerance=1e-9, max_iterations=1
    )  # fmt: skip
    assert solved.iterations.tolist() == [1]
    assert float(rows.objective(ridge, solved.solution)) < float(rows.objective(ridge, start)) - 1e-3 * min(
        1, 1e4 * factor
    )
