"""Benchmarks as `Item`s: one adapter per data set, and one loader that accounts for every row.

Importing this is cheap: `datasets`, `pyarrow` and PIL are loaded when a source is read.
"""

from thinkgap.data.adapter import Adapter, Draft, Filtered, Row
from thinkgap.data.load import LoadedDataset, load_dataset_items
from thinkgap.data.present import identity
from thinkgap.data.registry import ADAPTERS
from thinkgap.data.rows import BadRow
from thinkgap.data.sample import stratified_sample

__all__ = [
    "ADAPTERS",
    "Adapter",
    "BadRow",
    "Draft",
    "Filtered",
    "LoadedDataset",
    "Row",
    "identity",
    "load_dataset_items",
    "stratified_sample",
]
