"""Joins items that share a question, passage or image into groups, so that intervals can resample whole groups.

It knows keys only: which keys an item has is its adapter's business.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence


def group_ids(keys: Sequence[Sequence[str]]) -> list[str]:
    """A group name per item; items have the same one if a chain of shared keys joins them.

    Args:
        keys: Per item its keys, at least one.

    Returns:
        Names in the order of `keys`. A name is a digest of the group's smallest key, so that it depends on neither
        the order of rows nor the seed of a sample.

    """
    parent: dict[str, str] = {}

    def root(key: str) -> str:
        parent.setdefault(key, key)
        while parent[key] != key:
            parent[key] = parent[parent[key]]
            key = parent[key]
        return key

    for item_keys in keys:
        for key in item_keys:
            first, second = sorted((root(item_keys[0]), root(key)))
            parent[second] = first  # the smaller key stays root, so a root is its group's smallest key
    return [hashlib.sha256(root(item_keys[0]).encode()).hexdigest()[:16] for item_keys in keys]
