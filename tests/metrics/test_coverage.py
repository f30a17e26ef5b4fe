"""Intervals of few groups: seeded simulations of their coverage, and clustered against independent width."""

from __future__ import annotations

import numpy as np
import pytest

from thinkgap.metrics import mean, paired_difference, rate

SIZES = {
    "5 even groups": [8] * 5,
    "10 even groups": [8] * 10,
    "5 uneven groups": [1, 4, 7, 2, 5],
    "10 uneven groups": [1, 4, 7, 2, 5, 8, 3, 6, 1, 4],
}


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_coverage_with_few_groups(sizes: list[int]):
    # Every group has its own probability, from a beta distribution of mean 0.7: rows of a group correlate by
    # 1 / (1.4 + 0.6 + 1) = 1/3, under both conditions, whose true difference is 0.
    rng = np.random.default_rng(5)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    lean = rng.beta(1.4, 0.6, (2, 1000, len(sizes)))[:, :, groups]
    scores = (rng.random(lean.shape) < lean).astype(float)
    shares = [rate(run, groups) for run in scores[0]]
    differences = [paired_difference(a, b, groups).difference for a, b in zip(*scores, strict=True)]
    assert np.mean([found.low <= 0.7 <= found.high for found in shares]) >= 0.92
    # An interval that is missing does not cover.
    assert np.mean([found.low <= 0 <= found.high for found in differences]) >= 0.92


@pytest.mark.parametrize("seed", range(200))
def test_clustered_intervals_are_never_narrower(seed: int):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 40))
    groups = rng.integers(0, rng.integers(2, n), n)
    groups[:2] = 0, 1
    a, b = (rng.random((2, n)) < rng.random()).astype(float)
    if seed % 2:
        # Rows of a group that disagree as much as they can.
        order = np.argsort(groups)
        a[order], b[order] = np.arange(n) % 2, np.arange(n) // 2 % 2
    for wide, narrow in (
        (rate(a, groups), rate(a)),
        (mean(a, groups), mean(a)),
        (paired_difference(a, b, groups).difference, paired_difference(a, b).difference),
    ):
        # Both are missing where all values are equal.
        assert np.isnan(wide.low) == np.isnan(narrow.low)
        assert not wide.high - wide.low < narrow.high - narrow.low - 1e-12
