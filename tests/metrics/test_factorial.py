"""The additive fit of slot, letter and content: against least squares, by hand, and on scripted models."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from numpy.typing import ArrayLike

from thinkgap.metrics.bootstrap import bootstrap, ratio
from thinkgap.metrics.factorial import FACTORS, fit_item, fit_items


def design(k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Slot, letter and content of every entry, [k * k, k]: contents moved up by a, letters by b."""
    slot = np.broadcast_to(np.arange(k), (k * k, k))
    a, b = np.divmod(np.arange(k * k), k)
    return slot, (slot + b[:, None]) % k, (slot + a[:, None]) % k


def scripted(k: int, *, noise: float = 0.0, seed: int = 0, **effects: ArrayLike) -> np.ndarray:
    """Log-probabilities of a model with the given effects on its logits, and a label mass of its own per prompt."""
    rng = np.random.default_rng(seed)
    logits = noise * rng.normal(size=(k * k, k))
    for name, cells in zip(FACTORS[:3], design(k), strict=True):
        logits += np.asarray(effects.get(name, np.zeros(k)), float)[cells]
    logprobs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return logprobs + np.log(rng.uniform(0.01, 0.9, (k * k, 1)))


def fit(logprobs: np.ndarray, order: np.ndarray | None = None):
    k = logprobs.shape[1]
    _, letters, contents = design(k)
    order = np.arange(k * k) if order is None else order
    return fit_item(logprobs[order], letters[order], contents[order])


@pytest.mark.parametrize("k", [2, 3, 5])
def test_equals_least_squares_with_dummy_variables(k: int) -> None:
    rng = np.random.default_rng(k)
    logprobs = np.log(rng.dirichlet(np.ones(k + 1), size=k * k)[:, :k])
    found = fit(logprobs, rng.permutation(k * k))
    y = logprobs - logprobs.mean(axis=1, keepdims=True)
    slot, letter, content = (cells.ravel() for cells in design(k))
    frame = pd.DataFrame({"y": y.ravel(), "slot": slot, "letter": letter, "content": content})
    full = smf.ols("y ~ C(slot, Sum) + C(letter, Sum) + C(content, Sum)", frame).fit()
    for name in FACTORS[:3]:
        # Of sum-to-zero coding, the last level is minus the sum of the others.
        own = full.params[[key for key in full.params.index if key.startswith(f"C({name}")]].to_numpy()
        assert getattr(found, name) == pytest.approx([*own, -own.sum()], abs=1e-10)
        others = " + ".join(f"C({other}, Sum)" for other in FACTORS[:3] if other != name)
        lost = smf.ols(f"y ~ {others}", frame).fit().ssr - full.ssr
        assert found.squares[FACTORS.index(name)] == pytest.approx(lost, abs=1e-10)
    assert found.squares[3] == pytest.approx(full.ssr, abs=1e-10)
    assert found.squares.sum() == pytest.approx(float((y**2).sum()), abs=1e-10)


def test_two_options_by_hand() -> None:
    """Log-odds of slot 1 against slot 2 in the presentations (a, b) = 00, 01, 10, 11: 4, 2, 0, 2.

    y is half of that in slot 1 and its negative in slot 2: (2, -2), (1, -1), (0, 0), (1, -1).
    Slot 1: mean 4/4 = 1. Letter 1 stands in slot 1 at b = 0 and in slot 2 at b = 1: (2 - 1 + 0 - 1) / 4 = 0.
    Content 1 stands in slot 1 at a = 0 and in slot 2 at a = 1: (2 + 1 + 0 - 1) / 4 = 1/2.
    SS: slot 4 * (1 + 1) = 8, letter 0, content 4 * (1/4 + 1/4) = 2, all 2 * (4 + 1 + 0 + 1) = 12, so rest 2.
    """
    found = fit(np.array([[4.0, 0.0], [2.0, 0.0], [0.0, 0.0], [2.0, 0.0]]))
    assert found.slot == pytest.approx([1, -1])
    assert found.letter == pytest.approx([0, 0])
    assert found.content == pytest.approx([0.5, -0.5])
    assert found.squares == pytest.approx([8, 0, 2, 2])
    pooled = fit_items([found])
    assert [pooled.shares[name].value for name in FACTORS] == pytest.approx([8 / 12, 0, 2 / 12, 2 / 12])
    assert (pooled.slot_range.value, pooled.letter_range.value) == pytest.approx((2, 0))
    assert math.isnan(pooled.shares["slot"].low), "one group says nothing about spread"


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("factor", FACTORS[:3])
def test_a_model_that_follows_one_factor_gives_it_the_whole_share(k: int, factor: str) -> None:
    effects = {factor: np.eye(k)[-1] * 5}
    shares = fit_items([fit(scripted(k, seed=seed, **effects)) for seed in range(3)]).shares
    for name in FACTORS:
        assert shares[name].value == pytest.approx(float(name == factor), abs=1e-12)


def test_known_effects_of_a_mixture_are_recovered() -> None:
    """Effects (sum zero) in y are those of the logits; SS = k^2 * sum of squares, here 16 * (14, 6, 2)."""
    slot, letter, content = [3, 0, -1, -2], [-1, -1, 2, 0], [0, 1, -1, 0]
    found = fit_items([fit(scripted(4, slot=slot, letter=letter, content=content, seed=seed)) for seed in range(4)])
    assert [one.value for one in found.slot] == pytest.approx(slot)
    assert [one.value for one in found.letter] == pytest.approx(letter)
    assert [one.value for one in found.content] == pytest.approx(content, abs=1e-12)
    assert [found.shares[name].value for name in FACTORS] == pytest.approx([14 / 22, 6 / 22, 2 / 22, 0], abs=1e-12)
    assert (found.slot_range.value, found.letter_range.value) == pytest.approx((5, 3))


def test_noise_alone_gives_each_factor_its_degrees_of_freedom() -> None:
    """Of k^2 (k - 1) in all, k - 1 each: 1 / k^2."""
    found = fit_items([fit(scripted(3, noise=1.0, seed=seed)) for seed in range(400)])
    for name in FACTORS[:3]:
        assert found.shares[name].value == pytest.approx(1 / 9, abs=0.02)
        assert found.shares[name].low < 1 / 9 < found.shares[name].high
    assert found.shares["rest"].value == pytest.approx(6 / 9, abs=0.03)


def test_intervals_are_clustered_by_group() -> None:
    fits = [fit(scripted(2, slot=[seed % 5, 0], noise=0.3, seed=seed)) for seed in range(20)]
    alone, grouped = fit_items(fits, draws=500), fit_items(fits * 2, list(range(20)) * 2, draws=500)
    for name in FACTORS:
        assert grouped.shares[name].value == pytest.approx(alone.shares[name].value)
        assert grouped.shares[name].low == pytest.approx(alone.shares[name].low), "copies add nothing"
        assert (alone.shares[name].n, grouped.shares[name].n) == (20, 40)
    assert grouped.slot[0].low == pytest.approx(alone.slot[0].low, rel=1e-6)
    assert grouped.slot_range.high == pytest.approx(alone.slot_range.high)


def test_intervals_of_shares_and_ranges_are_bootstrapped() -> None:
    """As of the ratio of two plain sums, and of the difference of two means, where one slot leads in every draw."""
    fits = [fit(scripted(2, slot=[1 + seed % 5, 0], noise=0.3, seed=seed)) for seed in range(20)]
    found = fit_items(fits, draws=500, seed=7)
    squares = np.array([[one.squares[0], one.squares.sum()] for one in fits])
    share = bootstrap(squares, None, ratio(0, 1), 500, 7)
    assert found.shares["slot"].value == pytest.approx(share.value)
    assert (found.shares["slot"].low, found.shares["slot"].high) == pytest.approx((share.low, share.high))
    steps = np.array([[one.slot[0] - one.slot[1], 1.0] for one in fits])
    by_difference = bootstrap(steps, None, ratio(0, 1), 500, 7)
    assert (found.slot_range.low, found.slot_range.high) == pytest.approx((by_difference.low, by_difference.high))
    assert found.slot_range.value == pytest.approx(steps[:, 0].mean())


def test_without_any_difference_there_is_no_share() -> None:
    shares = fit_items([fit(np.full((4, 2), -1.0))] * 3).shares
    assert all(math.isnan(shares[name].value) for name in FACTORS)


@pytest.mark.parametrize("fault", ["repeated", "coupled", "shape", "infinite"])
def test_what_is_no_balanced_design_is_refused(fault: str) -> None:
    logprobs = scripted(3, noise=1.0)
    _, letters, contents = (cells.copy() for cells in design(3))
    if fault == "repeated":
        letters[1], contents[1] = letters[0], contents[0]
    elif fault == "coupled":
        contents = letters  # letters never leave their contents
    elif fault == "shape":
        logprobs = logprobs[:-1]
    else:
        logprobs[2, 1] = -math.inf
    with pytest.raises(ValueError, match=r"every slot under every letter|not \[k|finite"):
        fit_item(logprobs, letters, contents)
    with pytest.raises(ValueError, match="no items"):
        fit_items([])
