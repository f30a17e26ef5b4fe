"""Two raters: agreement, kappa, recall and errors in common, each by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats import inter_rater

from thinkgap import metrics
from thinkgap.metrics.raters import (
    cohens_kappa,
    common_errors,
    precision,
    raw_agreement,
    recall,
    specificity,
)

# Rows as a table: 4 of (0, 0), 1 of (0, 1), 2 of (1, 0), 3 of (1, 1).
FIRST = [0] * 5 + [1] * 5
SECOND = [0] * 4 + [1] + [0] * 2 + [1] * 3


def test_agreement_and_kappa_by_hand():
    found = raw_agreement(FIRST, SECOND)
    assert (found.value, found.n) == (7 / 10, 10)
    # By chance: 5/10 * 6/10 + 5/10 * 4/10 = 1/2. (7/10 - 1/2) / (1 - 1/2) = 2/5.
    kappa = cohens_kappa(FIRST, SECOND, draws=500)
    assert kappa.value == pytest.approx(2 / 5)
    assert kappa.n == 10
    assert kappa.low < 2 / 5 < kappa.high <= 1


def test_rows_without_both_ratings_are_left_out():
    first, second = [*FIRST, -1, 0, -1], [*SECOND, 0, -1, -1]
    assert raw_agreement(first, second) == raw_agreement(FIRST, SECOND)
    assert cohens_kappa(first, second, draws=100) == cohens_kappa(FIRST, SECOND, draws=100)
    assert raw_agreement([-1], [0]).n == 0
    assert cohens_kappa([-1], [0]).n == 0
    with pytest.raises(ValueError, match="two ratings per row"):
        raw_agreement([0, 1], [0])


def test_one_category_only_has_agreement_and_no_kappa():
    assert raw_agreement([2, 2], [2, 2]).value == 1
    found = cohens_kappa([2, 2], [2, 2])
    assert math.isnan(found.value)
    assert found.n == 2
    # One constant rater agrees with another as chance would: 1/2 - 1/2.
    assert cohens_kappa([0, 0], [0, 1], draws=100).value == 0


def test_kappa_of_many_categories_is_scikit_learns():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 6, 300)
    second = np.where(rng.random(300) < 0.7, first, rng.integers(0, 6, 300))
    found = cohens_kappa(first, second, draws=2000)
    assert found.value == pytest.approx(cohen_kappa_score(first, second))
    # As wide as the asymptotic interval of statsmodels: the draws use a formula of their own.
    table = np.zeros((6, 6))
    np.add.at(table, (first, second), 1)
    asymptotic: Any = inter_rater.cohens_kappa(table)
    assert found.low == pytest.approx(asymptotic.kappa_low, abs=0.01)
    assert found.high == pytest.approx(asymptotic.kappa_upp, abs=0.01)


def test_groups_widen_the_interval_of_kappa():
    rng = np.random.default_rng(1)
    first = rng.integers(0, 2, 250)
    second = np.where(rng.random(250) < 0.8, first, 1 - first)
    alone = cohens_kappa(first, second, draws=1000)
    # Each row four times, in one group: nothing new is known.
    repeated = cohens_kappa(np.repeat(first, 4), np.repeat(second, 4), np.repeat(np.arange(250), 4), draws=1000)
    assert (repeated.value, repeated.low, repeated.high) == pytest.approx((alone.value, alone.low, alone.high))
    assert repeated.n == 1000


def test_agreement_allows_for_groups():
    groups = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    agree = np.asarray(FIRST) == np.asarray(SECOND)
    assert raw_agreement(FIRST, SECOND, groups) == metrics.rate(agree, groups)
    assert raw_agreement([*FIRST, -1], [*SECOND, 0], [*groups, 9]) == metrics.rate(agree, groups)


def test_recall_precision_and_specificity_by_hand():
    # Judged positive: 4 of the 5 positives, 1 of the 3 negatives; a row without a reference counts nowhere.
    judged = [1, 1, 1, 1, 0, 1, 0, 0, 1, -1]
    reference = [1, 1, 1, 1, 1, 0, 0, 0, -1, 1]
    assert (recall(judged, reference).value, recall(judged, reference).n) == (4 / 5, 5)
    assert (precision(judged, reference).value, precision(judged, reference).n) == (4 / 5, 5)
    assert (specificity(judged, reference).value, specificity(judged, reference).n) == (2 / 3, 3)
    assert precision([0, 0], [1, 0]).n == 0  # nothing is judged positive
    assert recall([0, 0], [0, 0]).n == 0
    assert math.isnan(specificity([1], [1]).value)


def test_common_errors_by_hand():
    reference = [0, 0, 0, 1, 1, 1, -1]
    first = [1, 1, 0, 1, 1, -1, 0]  # wrong in rows 0 and 1
    second = [2, 0, 1, 1, 1, 1, 1]  # wrong in rows 0 and 2
    found = common_errors(first, second, reference, draws=300)
    # Five rows have all three. Both wrong in row 0: 1/5, by chance 2/5 * 2/5 = 4/25.
    assert (found.first.value, found.second.value, found.both.value) == (2 / 5, 2 / 5, 1 / 5)
    assert found.expected == pytest.approx(4 / 25)
    # (1/5 - 4/25) / sqrt(6/25 * 6/25) = 1/6.
    assert found.phi.value == pytest.approx(1 / 6)
    assert found.phi.n == 5


def test_errors_that_never_or_always_happen_have_no_correlation():
    assert math.isnan(common_errors([0, 1, 0], [1, 1, 0], [0, 1, 0], draws=50).phi.value)
    assert math.isnan(common_errors([1, 0, 1], [1, 1, 0], [0, 1, 0], draws=50).phi.value)
    nothing = common_errors([-1], [0], [0])
    assert nothing.phi.n == 0
    assert math.isnan(nothing.expected)
