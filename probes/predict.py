"""What fitted probes say of the test rows: rows for `predictions.parquet`, the states of one place at a time.

Knows parts, probes and columns; no file, no solver and no figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from probes.heads import Fitted, Place
from probes.linear_probe import LinearProbe, Standard, cross_entropy
from probes.part import Part
from probes.predictions import BEST, LAYER, SCHEMA, STUDY, UNEMBEDDING, Probed
from thinkgap.errors import DataError


def predict(test: Part, fitted: Mapping[Place, Fitted], study_state: str, best: Mapping[str, Place]) -> pa.Table:
    """Every probe on the condition that it was trained on, and those of the study's state on all conditions.

    Args:
        test: the rows that are reported.
        fitted: probes, all of a run or the share of one process: the tables of all shares together are those of the
            run (`write_predictions`).
        study_state: `probe.state`.
        best: condition -> place chosen on the selection split (`best_places`); a place that is not in `fitted` is left
            to the process that has it.

    Returns:
        Rows with `SCHEMA`.

    Raises:
        DataError: a probe of a condition or state that the test rows lack, or a state that is not finite.
    """
    for place in fitted:
        if place.condition not in test.conditions or place.state not in test.names:
            raise DataError(
                f"the probe of condition {place.condition} at {place.state} has no test states: they are of "
                f"{', '.join(test.conditions)} at {', '.join(test.names)}; capture them, or leave the probe out with "
                "probe.conditions=[...] or probe.states=[...]"
            )
    rows = _Rows.of(test)
    found = []
    for condition in test.conditions:
        for state in test.names:
            place = Place(condition, state)
            roles = {place: [LAYER]} if place in fitted else {}
            if best.get(condition) == place and place in fitted:
                roles[place].append(BEST)
            if state == study_state:
                for own in test.conditions:
                    if (source := Place(own, state)) in fitted:
                        roles.setdefault(source, []).append(STUDY)
            if roles:
                states = rows.states(condition, state)
                for source, names in roles.items():
                    probed = [Probed(condition, source.condition, role, state) for role in names]
                    found += rows.tables(states, fitted[source].probe, probed)
    return pa.concat_tables(found) if found else SCHEMA.empty_table()


def fixed_probe(test: Part, state: str, rows: Tensor, bias: Tensor | None, source: str) -> pa.Table:
    """Unembedding rows of the labels as a probe that nobody trained, under every condition.

    logit of slot j = state . row j + bias j, absent slots left out. Where each label is one token and the model does
    nothing to its logits, it repeats at `final_norm` the native readout of every condition with the labels of `source`.

    Args:
        test: the rows that are reported.
        state: that is read.
        rows: `[K, d]`, one to a slot.
        bias: `[K]` of the head, or None.
        source: condition whose labels the rows are of.

    Returns:
        Rows with `SCHEMA`, of role `unembedding`.

    Raises:
        DataError: a state that is not finite.
    """
    width, d = rows.shape
    standard = Standard(torch.zeros(d), torch.ones(d))
    probe = LinearProbe(standard, rows.float().T, torch.zeros(width) if bias is None else bias.float())
    ordered = _Rows.of(test)
    found = []
    for condition in test.conditions:
        probed = [Probed(condition, source, UNEMBEDDING, state)]
        found += ordered.tables(ordered.states(condition, state), probe, probed)
    return pa.concat_tables(found)


@dataclass(frozen=True)
class _Rows:
    """Test rows in the file's order: a product of matrices rounds by the place of a row in it."""

    part: Part
    order: NDArray[np.int64]

    @classmethod
    def of(cls, part: Part) -> _Rows:
        return cls(part, np.lexsort((part.presentation, part.item_id)))

    def states(self, condition: str, state: str) -> Tensor:
        """States `[n, d]` of one place."""
        return self.part.state(condition, state)[torch.from_numpy(self.order)]

    def tables(self, states: Tensor, probe: LinearProbe, probed: Sequence[Probed]) -> list[pa.Table]:
        """What one probe says of `states` `[n, d]`, under each of its roles."""
        part, places = self.part, torch.from_numpy(self.order)
        k, gold = part.k[places], part.gold[places]
        with torch.inference_mode():
            logits = probe.logits(states, k)
            logprob = (-cross_entropy(logits, gold)).numpy()
            slot = logits.argmax(-1)
        right = (slot == gold).numpy()
        found = []
        for one in probed:
            native = part.native[one.condition][self.order]
            columns: list[Any] = [pa.array([text] * len(part), pa.string()) for text in one]
            columns += [
                pa.array(texts[self.order].tolist(), pa.string())
                for texts in (part.item_id, part.presentation, part.group_id)
            ]
            columns += [k.numpy(), gold.numpy(), slot.numpy(), right, logprob, native, native == gold.numpy()]
            arrays = [pa.array(values, kind) for values, kind in zip(columns, SCHEMA.types, strict=True)]
            found.append(pa.Table.from_arrays(arrays, schema=SCHEMA))
        return found
