"""Several tests at once: p-values adjusted for the size of their family. Knows nothing of what was tested."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinkgap.metrics.intervals import as_values


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """P-values adjusted by Holm's step-down method (Holm 1979), in the order given.

    The i-th smallest of m is multiplied by m - i + 1, and is never below a smaller one's result nor above 1. Whoever
    calls an adjusted value below 0.05 an effect errs with at most that probability anywhere in the family.

    Args:
        p_values: One per test, shape [m]; NaN is a test that could not be made: it stays NaN and does not count.
    """
    array = as_values(p_values)
    adjusted = np.full(len(array), np.nan)
    made = ~np.isnan(array)
    if made.any():
        from statsmodels.stats.multitest import multipletests  # over a second to import

        adjusted[made] = multipletests(array[made], method="holm")[1]
    return adjusted
