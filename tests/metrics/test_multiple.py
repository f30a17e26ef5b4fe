"""Holm's adjustment: a hand-computed family, and tests that could not be made."""

from __future__ import annotations

import math

import numpy as np
import pytest

from thinkgap.metrics.multiple import holm


def test_holm_by_hand():
    # Sorted 0.01, 0.02, 0.03, 0.5 times 4, 3, 2, 1: 0.04, 0.06, 0.06 (0.06 is not below the one before), 0.5.
    assert holm([0.03, 0.5, 0.01, 0.02]) == pytest.approx([0.06, 0.5, 0.04, 0.06])
    # 3 * 0.4 is cut at 1.
    assert holm([0.4, 0.5, 0.6]) == pytest.approx([1, 1, 1])


def test_tests_that_could_not_be_made_do_not_count():
    found = holm([0.03, math.nan, 0.01])
    assert found[[0, 2]] == pytest.approx([0.03, 0.02])
    assert math.isnan(found[1])
    assert np.isnan(holm([math.nan])).all()
    assert holm([]).shape == (0,)
