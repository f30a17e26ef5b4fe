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

    Which items are chosen depends on the set of items and on the seed only, not on their order. Samples of one seed
    are nested: a smaller one is part of every larger one.
    """
    digests = {item.id: hashlib.sha256(f"{seed}\x1f{item.id}".encode()).hexdigest() for item in items}
    strata: dict[tuple[str, int], list[Item]] = defaultdict(list)
    for item in items:
        strata[item.subject, len(item.choices)].append(item)
    places: list[tuple[float, str, str]] = []
    for members in strata.values():
        members.sort(key=lambda item: digests[item.id])
        # The r-th of n members stands at (r + 1/2) / n of the way, so that every stratum is used up at the same pace.
        places += [((rank + 0.5) / len(members), digests[item.id], item.id) for rank, item in enumerate(members)]
    chosen = {item_id for _, _, item_id in sorted(places)[:limit]}
    return [item for item in items if item.id in chosen]
