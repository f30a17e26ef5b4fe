"""Online code length (Voita and Titov 2020): bits to send the right slots, block by block, by probes of what was sent.

Measures how easily the answer is read, with the effort of learning it included; it is steadier than accuracy. Minimum
description length by the prequential code (Rissanen 1984; Blier and Ollivier 2018).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from probes.controls.draws import question_order, rows_of
from probes.heads import Fitter, Rows, rows_at
from probes.linear_probe import cross_entropy
from probes.part import Part
from thinkgap.errors import DataError
from thinkgap.metrics import Estimate
from thinkgap.metrics.bootstrap import DRAWS, bootstrap, ratio
from thinkgap.readouts.sheet import Missing

SHARES = (10, 20, 40, 80, 160, 320, 625, 1250, 2500, 5000, 10_000)
"""Ends of the blocks, in questions of 10,000 (Voita and Titov's: 0.1% to 100%)."""


@dataclass(frozen=True)
class Block:
    """Questions that are sent with one probe."""

    questions: int
    """Sent when the block is over, from the first block on."""
    rows: int
    """In this block."""
    bits: float
    """To send its right slots."""
    uniform_bits: float
    """The same without any probe: the sum of log2 k."""


@dataclass(frozen=True)
class OnlineCode:
    """Of all rows of the fit split."""

    blocks: tuple[Block, ...]
    """The first one is sent without a probe."""
    bits: float
    """Code length."""
    uniform_bits: float
    """Without any probe."""
    compression: Estimate
    """`uniform_bits / bits`, above 1 where the states say something; bootstrapped over groups, the probes as given."""


def online_code(
    fit: Part, select: Part, condition: str, state: str, fitter: Fitter, seed: int, draws: int = DRAWS
) -> OnlineCode | Missing:
    """Send the fit split's right slots in a seeded order of questions, all presentations of one together.

    The first block takes log2 k bits a row. Each further block takes -log2 p(right slot) by the probe fitted on all
    earlier blocks, whose settings are chosen on the selection split. Fits: one less than there are blocks, at most 10.

    Raises:
        DataError: a probe that gives no finite probability.
    """
    order = question_order(fit, seed, "online code")
    ends = block_ends(len(order), int(fit.k.max()) if len(fit) else 0)
    if len(ends) < 2:
        return Missing(f"{len(order)} training questions are too few for two blocks of the online code")
    rows, selecting = rows_at(fit, condition, state), rows_at(select, condition, state)
    uniform = fit.k.double().log2().numpy()
    bits = uniform.copy()
    blocks = []
    for start, end in zip([0, *ends], ends, strict=False):
        block = rows_of(fit, order[start:end])
        if start:
            sent = rows_of(fit, order[:start])
            probe = fitter(_picked(rows, sent), selecting)
            coded = _picked(rows, block)
            # The log-sum-exp keeps a right slot of vanishing probability finite.
            nats = cross_entropy(probe.logits(coded.states, coded.k).double(), coded.gold)
            bits[block] = nats.numpy() / math.log(2)
        if not np.isfinite(bits[block]).all():
            raise DataError(
                f"condition {condition}, state {state}: a probe of the first {start} training questions gives no "
                "finite probabilities; leave out the largest of probe.exact.penalties, or set probe.controls.mdl=false"
            )
        blocks.append(Block(end, int(block.sum()), float(bits[block].sum()), float(uniform[block].sum())))
    compression = bootstrap(np.column_stack([uniform, bits]), fit.group_id, ratio(0, 1), draws, seed)
    return OnlineCode(tuple(blocks), float(bits.sum()), float(uniform.sum()), compression)


def block_ends(n: int, slots: int) -> list[int]:
    """Questions sent at the end of each block, of `n`; a block of fewer questions than slots joins the next one."""
    ends: list[int] = []
    for share in SHARES:
        end = -(-n * share // SHARES[-1])
        if end - (ends[-1] if ends else 0) >= max(slots, 1):
            ends.append(end)
    return [*ends[:-1], n] if n else []


def _picked(rows: Rows, mask: NDArray[np.bool_]) -> Rows:
    picked = torch.from_numpy(mask)
    return Rows(rows.states[picked], rows.gold[picked], rows.k[picked])
