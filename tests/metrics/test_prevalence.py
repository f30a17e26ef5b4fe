"""The corrected rate: by hand, clipped, undetermined, its interval against two other ways and by coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from thinkgap.metrics import Estimate
from thinkgap.metrics.prevalence import rogan_gladen


def share(value: float, n: int) -> Estimate:
    return Estimate(value, math.nan, math.nan, n)


def test_by_hand():
    found = rogan_gladen(share(0.4, 1000), share(0.9, 200), share(0.8, 300))
    # (0.4 + 0.8 - 1) / (0.9 + 0.8 - 1) = 2/7.
    assert found.rate.value == pytest.approx(2 / 7)
    assert found.rate.n == 1000
    assert not found.clipped
    # A judge without errors: the rate itself.
    assert rogan_gladen(share(0.4, 10), share(1, 5), share(1, 5)).rate.value == pytest.approx(0.4)


def test_beyond_the_ends_it_is_clipped_and_says_so():
    low = rogan_gladen(share(0.18, 1000), share(0.9, 200), share(0.8, 300))
    assert (low.rate.value, low.rate.low, low.clipped) == (0, 0, True)
    assert 0 < low.rate.high < 0.1
    high = rogan_gladen(share(0.92, 1000), share(0.9, 200), share(0.8, 300))
    assert (high.rate.value, high.rate.high, high.clipped) == (1, 1, True)
    # So far beyond that every draw is: an interval of no width would claim certainty.
    far = rogan_gladen(share(0.01, 1000), share(0.9, 200), share(0.8, 300))
    assert (far.rate.value, far.clipped) == (0, True)
    assert math.isnan(far.rate.low)


@pytest.mark.parametrize(
    ("sensitivity", "specificity"),
    [
        (share(0.5, 10), share(0.5, 10)),  # says nothing
        (share(0.2, 10), share(0.3, 10)),  # worse than nothing
        (share(math.nan, 0), share(0.9, 10)),  # no positive was annotated
        (share(0.9, 10), share(math.nan, 0)),
    ],
)
def test_not_determined(sensitivity: Estimate, specificity: Estimate):
    found = rogan_gladen(share(0.4, 100), sensitivity, specificity)
    assert math.isnan(found.rate.value)
    assert math.isnan(found.rate.low)
    assert found.rate.n == 100
    assert math.isnan(rogan_gladen(share(math.nan, 0), share(0.9, 9), share(0.9, 9)).rate.value)


def test_a_judge_that_may_be_no_better_than_chance_has_no_interval():
    found = rogan_gladen(share(0.5, 100), share(0.6, 10), share(0.6, 10))
    assert found.rate.value == pytest.approx(0.5)
    assert math.isnan(found.rate.low)
    with pytest.raises(ValueError, match="ask for 1 or more"):
        rogan_gladen(share(0.5, 10), share(0.6, 10), share(0.6, 10), 0)


def test_with_known_errors_it_is_the_interval_of_the_rate():
    found = rogan_gladen(share(0.4, 100), share(0.9, 10**9), share(0.8, 10**9), draws=40_000)
    ends = stats.beta(40.5, 60.5).ppf([0.025, 0.975])
    assert (found.rate.low, found.rate.high) == pytest.approx(tuple((ends + 0.8 - 1) / 0.7), abs=0.004)
    # Half as many independent rows.
    wider = rogan_gladen(share(0.4, 100), share(0.9, 10**9), share(0.8, 10**9), draws=40_000, effective=50)
    ends = stats.beta(20.5, 30.5).ppf([0.025, 0.975])
    assert (wider.rate.low, wider.rate.high) == pytest.approx(tuple((ends + 0.8 - 1) / 0.7), abs=0.005)


def test_all_three_uncertainties_count():
    found = rogan_gladen(share(0.5, 2000), share(0.9, 400), share(0.8, 500), draws=40_000).rate
    p, informative = (0.5 + 0.8 - 1) / 0.7, 0.7
    # Delta method.
    variance = (0.25 / 2000 + p**2 * 0.09 / 400 + (1 - p) ** 2 * 0.16 / 500) / informative**2
    assert found.high - found.low == pytest.approx(2 * 1.96 * math.sqrt(variance), rel=0.04)


def test_coverage():
    rng = np.random.default_rng(0)
    truth, sensitivity, specificity, held = 0.2, 0.95, 0.97, 0
    for seed in range(300):
        seen = share(rng.binomial(600, truth * sensitivity + (1 - truth) * (1 - specificity)) / 600, 600)
        hits, spared = share(rng.binomial(80, sensitivity) / 80, 80), share(rng.binomial(320, specificity) / 320, 320)
        found = rogan_gladen(seen, hits, spared, 1000, seed).rate
        held += found.low <= truth <= found.high
    assert held / 300 > 0.92
