"""Models whose bias is known by construction: each metric of permuted options has a closed form for them.

64 items of k = 4 options in all four rotations, gold content i mod 4: gold stands equally often in each slot.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from thinkgap.metrics import first_slot_rate
from thinkgap.metrics.agreement import (
    all_agree,
    all_correct,
    circular_eval,
    fleiss_kappa,
    modal_share,
    pairwise_agreement,
)
from thinkgap.metrics.permutation import (
    flips_to_first,
    rsd,
    rstd,
    slot_divergence,
    slot_entropy,
    slot_histogram,
)
from thinkgap.metrics.pride import debiased_slots, slot_prior

K, N = 4, 64
CYCLIC = np.broadcast_to((np.arange(K)[:, None] + np.arange(K)) % K, (N, K, K))
"""Content shown in each slot, [items, orders, slots]."""
GOLD = np.arange(N) % K
GOLD_SLOT = np.argmax(GOLD[:, None, None] == CYCLIC, axis=-1)
PRIOR = np.array([0.6, 0.2, 0.15, 0.05])


def contents(slots: np.ndarray, orders: np.ndarray = CYCLIC) -> np.ndarray:
    return np.take_along_axis(orders, slots[..., None], axis=-1)[..., 0]


def readings(signal: float, orders: np.ndarray = CYCLIC) -> np.ndarray:
    """Label log-probabilities of a model that adds `signal` for the right content to the log of the slot's prior."""
    logits = np.log(PRIOR) + signal * (orders == GOLD[:, None, None])
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


@pytest.mark.parametrize(("slot", "first"), [(0, 1.0), (1, 0.0)], ids=["always slot 1", "always letter B"])
def test_one_slot_always(slot: int, first: float):
    predicted = np.full((N, K), slot)
    right = predicted == GOLD_SLOT
    assert right.mean() == 1 / K
    assert first_slot_rate(predicted.ravel()).value == first
    # One recall is 1, the others 0: mean 1/4, variance 1/4 - 1/16 = 3/16.
    assert rstd(predicted, GOLD_SLOT, K) == pytest.approx(math.sqrt(3) / 4)
    assert rsd(predicted, GOLD_SLOT, K) == pytest.approx(math.sqrt(3))
    # Smoothed shares 256.5/258 and, three times, 0.5/258.
    most, least = 256.5 / 258, 0.5 / 258
    entropy = -(most * math.log(most) + 3 * least * math.log(least))
    counts = slot_histogram(predicted, K)
    assert slot_entropy(counts) == pytest.approx(entropy / math.log(4))
    assert slot_divergence(counts) == pytest.approx(math.log(4) - entropy)
    # Every rotation puts another content there: none agree, and kappa is (0 - 1/4) / (1 - 1/4).
    chosen = contents(predicted)
    assert pairwise_agreement(chosen).tolist() == [0] * N
    assert all_agree(chosen).tolist() == [0] * N
    assert modal_share(chosen).tolist() == [1 / K] * N
    assert fleiss_kappa(chosen, K) == pytest.approx(-1 / 3)
    assert not circular_eval(right, CYCLIC).any()
    # From a perfect model, three quarters of the items flip, all to this slot.
    found = flips_to_first(np.ones(N), right[:, 0], predicted[:, 0])
    assert (found.value, found.n) == (first, 48)


def test_perfect():
    right = np.ones((N, K), dtype=bool)
    assert rstd(GOLD_SLOT, GOLD_SLOT, K) == rsd(GOLD_SLOT, GOLD_SLOT, K) == 0
    counts = slot_histogram(GOLD_SLOT, K)
    assert counts.tolist() == [N] * K
    assert slot_entropy(counts) == pytest.approx(1)
    assert slot_divergence(counts) == pytest.approx(0)
    chosen = contents(GOLD_SLOT)
    assert (chosen == GOLD[:, None]).all()
    assert pairwise_agreement(chosen).tolist() == all_agree(chosen).tolist() == modal_share(chosen).tolist() == [1] * N
    assert fleiss_kappa(chosen, K) == pytest.approx(1)
    assert circular_eval(right, CYCLIC).all()
    assert all_correct(right).all()
    assert flips_to_first(right[:, 0], right[:, 0], GOLD_SLOT[:, 0]).n == 0


def test_uniform_guessing():
    # A fixed table: each pair (gold slot, predicted slot) equally often, and each pair of contents over two orders.
    table = np.stack(np.meshgrid(np.arange(K), np.arange(K)), axis=-1).reshape(-1, 2)
    gold, predicted = table.T
    assert first_slot_rate(predicted).value == 1 / K
    assert rstd(predicted, gold, K) == 0
    assert slot_entropy(slot_histogram(predicted, K)) == pytest.approx(1)
    assert pairwise_agreement(table).mean() == 1 / K
    assert fleiss_kappa(table, K) == pytest.approx(0)


def test_drawing_from_a_prior_without_reading_contents():
    # A fixed table of 20 rows with gold in each slot, of which 12, 4, 3 and 1 predict the slots of the prior.
    gold = np.repeat(np.arange(K), 20)
    predicted = np.tile(np.repeat(np.arange(K), [12, 4, 3, 1]), K)
    assert first_slot_rate(predicted).value == pytest.approx(PRIOR[0])
    # Recall of a slot is its prior: deviations from 1/4 of 0.35, -0.05, -0.1, -0.2, squares 0.1750 over 4.
    assert rstd(predicted, gold, K) == pytest.approx(math.sqrt(0.175 / 4))
    assert rsd(predicted, gold, K) == pytest.approx(4 * math.sqrt(0.175 / 4))
    assert np.mean(predicted == gold) == pytest.approx(1 / K)


def test_the_prior_of_a_model_that_reads_no_contents_is_that_prior():
    assert slot_prior(readings(signal=0)) == pytest.approx(PRIOR, abs=1e-12)


@pytest.mark.parametrize("signal", [0.1, 1.0])
def test_signal_times_prior_is_debiased_to_perfection(signal: float):
    given = readings(signal)
    plain = np.argmax(given[:, 0], axis=-1) == GOLD_SLOT[:, 0]
    # 0.6 against at most 0.2 e: the prior wins wherever gold is not in the first slot.
    assert plain.mean() == 1 / K
    prior = slot_prior(given[:8])
    assert prior == pytest.approx(PRIOR, abs=1e-12)
    assert (debiased_slots(given[8:, 0], prior) == GOLD_SLOT[8:, 0]).all()


def test_drawn_orders_cancel_contents_on_average_only():
    orders = np.random.default_rng(0).permuted(np.broadcast_to(np.arange(K), (2000, 5, K)), axis=-1)
    golds = np.arange(2000) % K
    logits = np.log(PRIOR) + 1.0 * (orders == golds[:, None, None])
    assert np.abs(slot_prior(logits[:1]) - PRIOR).max() > 0.02
    assert slot_prior(logits) == pytest.approx(PRIOR, abs=0.01)
