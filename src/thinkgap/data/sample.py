"""A seeded sample of items, stratified by subject and number of options.

Data sets come sorted by subject, so the first n items are no sample. It does not know where items come from.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence

from thinkgap.types import Item


def stratified_sample(items: Sequence[Item], limit: int, seed: int) -> list[Item]:
    """`limit` of `items`, spread over the strata in proportion to their sizes; in the order given.

    Over seeds every item is as likely to be chosen as any other, however small its stratum. Which items are chosen
    depends on the set of items and on the seed only, not on their order. Samples of one seed are nested: a smaller
    one is part of every larger one.
    """
    strata: dict[tuple[str, int], list[str]] = defaultdict(list)
    for item in items:
        strata[item.subject, len(item.choices)].append(item.id)
    places: list[tuple[float, str]] = []
    for (subject, k), ids in strata.items():
        ids.sort(key=lambda item_id: _digest(seed, "rank", item_id))
        # Members stand evenly on a circle, so that every stratum is used up at the same pace. A stratum's offset is
        # random: were it fixed, one of few members would always stand behind the share that a small sample takes.
        offset = (int(_digest(seed, "offset", f"{subject}\x1f{k}")[:13], 16) + 0.5) / 16**13
        places += [((rank + offset) / len(ids), item_id) for rank, item_id in enumerate(ids)]
    circle = [item_id for _, item_id in sorted(places)]
    # From a random item, not from a random point: so every item is equally likely to be the n-th, for any n.
    start = min(range(len(circle)), key=lambda place: _digest(seed, "start", circle[place]), default=0)
    chosen = set((circle[start:] + circle[:start])[:limit])
    return [item for item in items if item.id in chosen]


def _digest(seed: int, purpose: str, name: str) -> str:
    return hashlib.sha256(f"{seed}\x1f{purpose}\x1f{name}".encode()).hexdigest()
