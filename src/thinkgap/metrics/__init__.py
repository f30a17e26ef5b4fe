"""Statistics of a run: pure functions on arrays.

Nothing here knows records, files, models or how a number is printed. Units are shares in [0, 1], never percent.
Formulas and sources: `docs/statistics.md`.
"""

from thinkgap.metrics.intervals import Estimate, effective_n, mean, rate, standard_error
from thinkgap.metrics.paired import PairedDifference, mcnemar_p, paired_difference
from thinkgap.metrics.position import first_slot_rate, gold_first_rate, mean_reciprocal_k

__all__ = [
    "Estimate",
    "PairedDifference",
    "effective_n",
    "first_slot_rate",
    "gold_first_rate",
    "mcnemar_p",
    "mean",
    "mean_reciprocal_k",
    "paired_difference",
    "rate",
    "standard_error",
]
