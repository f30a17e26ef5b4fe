"""Averages over data sets that count equally, however many items each has.

The study's figures by answer space are read so (docs/etr.md). Knows figures and rows, no table.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from thinkgap import metrics
from thinkgap.metrics import Estimate
from thinkgap.nothinking.figures import Figure, Rows
from thinkgap.readouts.sheet import Cell, Missing

_Z = 1.959963984540054
"""0.975 quantile of the normal distribution."""


def mean_of_datasets(figure: Figure, rows: Rows, places: NDArray[np.intp]) -> Cell:
    """The mean of the data sets' own figures with its 95% interval.

    With D independent data sets whose figures have standard errors s_d (clustered by group), that of the mean is
    sqrt(sum of s_d^2) / D. There is no interval where some s_d is unknown or all are 0. `n` counts the rows of all
    data sets; a figure that one of them lacks is missing.
    """
    means: list[float] = []
    errors: list[float] = []
    n = 0
    for dataset in np.unique(rows.dataset[places]):
        values, groups = figure.counted(rows, places[rows.dataset[places] == dataset])
        if not len(values):
            return Missing(f"some data set has no figure: {figure.missing}")
        means.append(float(values.mean()))
        errors.append(metrics.standard_error(values, groups))
        n += len(values)
    value, error = float(np.mean(means)), math.sqrt(sum(one**2 for one in errors)) / len(means)
    if not error > 0:
        return Estimate(value, math.nan, math.nan, n)
    low, high = value - _Z * error, value + _Z * error
    # A mean of rates lies between 0 and 1, and so does what it can be.
    return Estimate(value, max(low, 0.0), min(high, 1.0), n) if figure.kind == "rate" else Estimate(value, low, high, n)
