"""Published figures of both studies, to be set beside ours, and the `catalogue` of their tables and figures."""

from analysis.reference.blocks import KEYS, MODES, STUDIES, Measure, Published, measures
from analysis.reference.catalogue import Entry, catalogue
from analysis.reference.load import figure, figures, find, published

__all__ = [
    "KEYS",
    "MODES",
    "STUDIES",
    "Entry",
    "Measure",
    "Published",
    "catalogue",
    "figure",
    "figures",
    "find",
    "measures",
    "published",
]
