"""Every figure of a run as scores of its rows: a value for each item, so that two runs can be paired by item.

Knows the columns of the frames of `thinkgap.load`; pairs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thinkgap.frames import Runs
from thinkgap.nothinking.columns import KEY
from thinkgap.nothinking.levels import EXPLICIT
from thinkgap.presentation_names import IDENTITY
from thinkgap.readouts.frames import NATIVE, where

if TYPE_CHECKING:
    import pandas as pd

Kind: TypeAlias = Literal["rate", "mass", "mean"]
_LAYER = "layer"
"""Role of a probe that is known by its state; the other roles have one probe each, at whichever state."""


@dataclass(frozen=True)
class Scores:
    """One figure at one place of a run."""

    figure: str
    """`accuracy`, `first_slot`, `etr_strict`, ..."""
    place: str
    """Condition; data set, mode and presentation; or what names a probe."""
    kind: Kind
    """`rate` of 0/1 scores, `mass` of probabilities, `mean` of anything else."""
    item: NDArray[Any]
    """Item of each row, shape [n], each once."""
    value: NDArray[np.float64]
    """Its score, shape [n]; NaN where the figure does not count it."""
    group: NDArray[Any]
    """Group of each row, shape [n]."""
    gold: NDArray[Any]
    """Its right answer as text, shape [n]."""

    @property
    def key(self) -> tuple[str, str]:
        """What two runs are matched by."""
        return (self.figure, self.place)


def scores_of(run: Runs, by_model: bool = False) -> dict[tuple[str, str], Scores]:
    """All figures of a run by figure and place: figure after figure, places in the run's order.

    Args:
        run: a single run.
        by_model: name the model in the place of responses; for runs of several models.
    """
    found = [*_of_records(run.records), *_of_responses(run, by_model), *_of_probes(run.predictions)]
    rank = {name: place for place, name in enumerate(dict.fromkeys(one.figure for one in found))}
    return {one.key: one for one in sorted(found, key=lambda one: rank[one.figure])}


def n_models(run: Runs) -> int:
    """Number of models whose responses a run holds."""
    return len(run.responses["model"].unique())


def _of_records(records: pd.DataFrame) -> Iterator[Scores]:
    shown = where(records, records["presentation"] == IDENTITY)
    parts: list[Any] = list(shown.groupby(["readout", "condition"], sort=False, observed=True))
    for (readout, condition), rows in sorted(parts, key=lambda part: part[0][0] != NATIVE):
        native = readout == NATIVE
        name, place = "accuracy" if native else f"accuracy_{readout}", str(condition)
        gold = rows["gold_content"]
        yield _scores(name, place, "rate", rows, rows["correct"], gold)
        if native:
            yield _scores("first_slot", place, "rate", rows, rows["pred_slot"] == 0, gold)
            yield _scores("label_mass", place, "mass", rows, rows["label_mass"], gold)


def _of_responses(run: Runs, by_model: bool) -> Iterator[Scores]:
    if not len(responses := run.responses):
        return
    for place, rows in _places(responses, by_model):
        yield _scores("accuracy", place, "rate", rows, rows["correct"], rows["gold"])
        yield _scores("etr_strict", place, "rate", rows, rows["etr_strict"], rows["gold"])
        yield _scores("etr_prefix", place, "rate", rows, rows["etr_prefix"], rows["gold"])
    named: Any = responses[[*KEY, "group_id", "gold"]].astype(dict.fromkeys(KEY, "str"))
    for table, source in ((run.relevance, "encoder"), (run.judgements, "judge")):
        for name, own in table.groupby(source, sort=True, observed=True):
            # By inner join: each row stands for a response, whose group it takes.
            joined = own.astype(dict.fromkeys(KEY, "str")).merge(named, on=list(KEY), validate="one_to_one")
            for place, rows in _places(joined, by_model):
                if source == "encoder":
                    yield _scores(f"qrel_{name}", place, "mean", rows, rows["cosine"], rows["gold"])
                    continue
                unlabelled = rows["label"].isna().to_numpy(dtype=bool)
                explicit = np.where(unlabelled, np.nan, (rows["label"] == EXPLICIT).to_numpy(dtype=float))
                yield _scores(f"eir_{name}", place, "rate", rows, explicit, rows["gold"])


def _places(frame: Any, by_model: bool) -> Iterator[tuple[str, Any]]:
    columns = [*(["model"] if by_model else []), "dataset", "mode", "presentation"]
    for key, rows in frame.groupby(columns, sort=False, observed=True):
        names = [str(name) for name in key]
        yield "/".join(names[:-1] if names[-1] == IDENTITY else names), rows


def _of_probes(predictions: pd.DataFrame) -> Iterator[Scores]:
    shown: Any = where(predictions, predictions["presentation"] == IDENTITY)
    native: dict[str, Scores] = {}
    probes: list[Scores] = []
    columns = ["condition", "trained_on", "role", "state"]
    for (condition, trained, role, state), rows in shown.groupby(columns, sort=False, observed=True):
        place = f"{condition}/{trained}/{role}" + (f"/{state}" if role == _LAYER else "")
        gold = rows["gold_slot"]
        probes.append(_scores("probe_accuracy", place, "rate", rows, rows["correct"], gold))
        if condition not in native:
            native[condition] = _scores("accuracy", str(condition), "rate", rows, rows["native_correct"], gold)
    yield from native.values()
    yield from probes


def _scores(figure: str, place: str, kind: Kind, rows: pd.DataFrame, values: Any, gold: Any) -> Scores:
    numbers = values if isinstance(values, np.ndarray) else values.to_numpy(dtype=np.float64, na_value=np.nan)
    item, group = (rows[name].to_numpy(dtype=object) for name in ("item_id", "group_id"))
    return Scores(figure, place, kind, item, numbers, group, gold.astype("str").to_numpy(dtype=object))
