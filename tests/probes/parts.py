"""Parts with known structure, for tests of probes without a model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from probes.part import Part


def made_part(
    role: str,
    n: int,
    *,
    seed: int,
    d: int = 8,
    n_options: Sequence[int] = (4,),
    conditions: Sequence[str] = ("direct", "let_me_think"),
    names: Sequence[str] = ("layer_0", "final_norm"),
    signal: float = 3.0,
    n_presentations: int = 1,
    dtype: torch.dtype = torch.float32,
) -> Part:
    """Items whose state holds the right slot along the first axes, the same axes in every part, plus unit noise.

    Under the first state there is no signal, under the last `signal`. The native readout is right under the first
    condition and says slot 0 under the others. An item's presentations have different right slots.
    """
    rng = np.random.default_rng(seed)
    rows = n * n_presentations
    k = np.repeat(rng.choice(np.asarray(n_options), n), n_presentations)
    gold = np.concatenate([(rng.integers(k[i * n_presentations]) + np.arange(n_presentations)) % k[i * n_presentations]
                           for i in range(n)])  # fmt: skip
    states = rng.normal(size=(len(conditions), rows, len(names), d)).astype(np.float32)
    strength = np.linspace(0, signal, len(names)) if len(names) > 1 else np.array([signal])
    for place in range(len(names)):
        states[:, np.arange(rows), place, gold] += strength[place]
    stored = torch.from_numpy(states).to(dtype)
    held, at = list(names), list(conditions)

    def read(source: NDArray[np.int64], condition: str, asked: Sequence[str]) -> Tensor:
        return stored[at.index(condition)][torch.from_numpy(source)][:, [held.index(name) for name in asked]]

    return Part(
        role,
        np.array([f"{role}-{row // n_presentations}" for row in range(rows)]),
        np.array(
            ["identity" if row % n_presentations == 0 else f"seed_{row % n_presentations}" for row in range(rows)]
        ),
        np.array([f"g-{role}-{row // n_presentations}" for row in range(rows)]),
        torch.from_numpy(k.astype(np.int64)),
        torch.from_numpy(gold.astype(np.int64)),
        {name: gold.astype(np.int64) if place == 0 else np.zeros(rows, np.int64) for place, name in enumerate(at)},
        tuple(names),
        read,
        np.arange(rows),
    )
