"""`fits.json`: what was fitted and chosen at every place, and what the tables need beside the predictions.

Knows the file and its fields; nothing of how a probe is fitted, and no figure of the test split.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from probes.heads import Fitted, Place, Setting
from thinkgap.errors import StoreError
from thinkgap.readouts.table import REFERENCE
from thinkgap.store.atomic import write_text

FITS_FILE = "fits.json"


class Cosine(NamedTuple):
    """How alike two sets of directions are; see `probes.directions`."""

    row: str
    """Condition of a probe, or `unembedding`."""
    column: str
    """Condition."""
    value: float
    """In [-1, 1]; NaN where a direction has no length."""


@dataclass(frozen=True)
class PlaceFit:
    """All settings tried at one place, and which was taken."""

    place: Place
    chosen: int
    settings: tuple[Setting, ...]

    @property
    def setting(self) -> Setting:
        """The chosen one."""
        return self.settings[self.chosen]


@dataclass(frozen=True)
class Fits:
    """A run's fits."""

    places: Mapping[Place, PlaceFit]
    conditions: tuple[str, ...]
    """That are read, in the run's order."""
    states: tuple[str, ...]
    """From the first layer to the last."""
    study_state: str
    """`probe.state`."""
    best: Mapping[str, Place]
    """Condition -> place that was chosen on the selection split."""
    title: str = ""
    """What tables say of model and data."""
    reference: str = REFERENCE
    """Condition that gaps are compared with."""
    draws: int = 10_000
    """`probe.draws`."""
    seed: int = 0
    """Of the draws."""
    cosines: tuple[Cosine, ...] = ()
    """Between directions at the study's state."""
    notes: tuple[str, ...] = ()
    """Lines below the headline table, such as what was trained on."""

    @property
    def trained(self) -> list[str]:
        """Conditions that have a probe, in the run's order."""
        own = {place.condition for place in self.places}
        return [name for name in self.conditions if name in own]


def place_fits(fitted: Mapping[Place, Fitted]) -> dict[Place, PlaceFit]:
    """What `fits.json` keeps of fitted probes."""
    return {place: PlaceFit(place, one.chosen, one.settings) for place, one in fitted.items()}


def depth(state: str) -> float:
    """Order of a state in the model: `embeddings`, `layer_0` and up, `final_norm`."""
    kind, _, number = state.partition("_")
    return float(number) if number.isdigit() else -math.inf if kind == "embeddings" else math.inf


def best_places(fitted: Mapping[Place, Fitted | PlaceFit], conditions: Sequence[str]) -> dict[str, Place]:
    """Per condition the place with the highest selection accuracy; of equal ones the lowest loss, then the deepest.

    The deepest, because it is nearest to what the readout sees. The test split is never looked at. Conditions without
    a probe are left out.
    """
    best: dict[str, Place] = {}
    for condition in conditions:
        own = [one for place, one in fitted.items() if place.condition == condition]
        if own:
            best[condition] = min(own, key=_rank).place
    return best


def _rank(one: Fitted | PlaceFit) -> tuple[float, float, float]:
    loss = one.setting.select_loss
    # NaN compares with nothing, and its place would then depend on the order of the places.
    return -one.setting.select_accuracy, math.inf if math.isnan(loss) else loss, -depth(one.place.state)


def write_fits(folder: Path, fits: Fits) -> Path:
    """Write `fits.json` in place of what was there, places in the run's order.

    Raises:
        StoreError: the folder cannot be written.
    """
    order = sorted(fits.places.values(), key=lambda one: _order(fits, one.place))
    stored = {
        **{name: getattr(fits, name) for name in _PLAIN},
        "best": {name: place.state for name, place in fits.best.items()},
        "cosines": [[one.row, one.column, _number(one.value)] for one in sorted(fits.cosines)],
        "places": [
            {
                "condition": one.place.condition,
                "state": one.place.state,
                "chosen": one.chosen,
                "settings": [
                    {name: _number(value) for name, value in dataclasses.asdict(setting).items()}
                    for setting in one.settings
                ],
            }
            for one in order
        ],
    }
    path = folder / FITS_FILE
    write_text(path, json.dumps(stored, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    return path


_PLAIN = ("title", "reference", "conditions", "states", "study_state", "draws", "seed", "notes")
_FLOATS = ("select_accuracy", "select_loss", "fit_loss", "gradient")


def read_fits(folder: Path) -> Fits:
    """The fits of a finished run.

    Raises:
        StoreError: the file is missing, damaged, or of another version.
    """
    path = folder / FITS_FILE
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StoreError(f"{path} does not exist: give the folder of a finished run of probe=linear") from None
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} is damaged ({error}); delete it and start the same command again") from None
    try:
        return _fits(stored)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise StoreError(
            f"{path} does not hold what this version of thinkgap writes ({type(error).__name__}: {error}): start a new "
            "folder with hydra.run.dir=..."
        ) from None


def _fits(stored: Mapping[str, Any]) -> Fits:
    places = {}
    for one in stored["places"]:
        place = Place(one["condition"], one["state"])
        places[place] = PlaceFit(place, one["chosen"], tuple(_setting(setting) for setting in one["settings"]))
        _ = places[place].setting
    plain: dict[str, Any] = {name: stored[name] for name in _PLAIN}
    plain |= {name: tuple(stored[name]) for name in ("conditions", "states", "notes")}
    return Fits(
        **plain,
        places=places,
        best={name: Place(name, state) for name, state in stored["best"].items()},
        cosines=tuple(Cosine(row, column, float(value)) for row, column, value in stored["cosines"]),
    )


def _setting(stored: Mapping[str, Any]) -> Setting:
    values: dict[str, Any] = {name: _float(value) if name in _FLOATS else value for name, value in stored.items()}
    return Setting(**values)


def _order(fits: Fits, place: Place) -> tuple[int, int]:
    return fits.conditions.index(place.condition), fits.states.index(place.state)


def _number(value: Any) -> Any:
    """JSON has no NaN and no infinity; they are kept as text, which `float` reads."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _float(value: Any) -> float | None:
    return None if value is None else float(value)
