"""Single figures of runs, picked by their keys and scaled as figures show them."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.paper.ours import Ours

PERCENT = frozenset(("accuracy", "etr", "eir", "difference", "shift"))
"""Measures that are shares and are shown in percent or points."""
Found = Sequence[Ours]


def called(found: Found, measure: str, label: str) -> str:
    """The label of a level, with who measured it where that is not the study's encoder or judge."""
    key = {"qrel": "encoder", "eir": "judge"}.get(measure)
    names = sorted({one.keys[key] for one in found if one.measure == measure and one.keys.get(key)}) if key else []
    if not names or names[0] in ("qwen3_embedding_4b", "gpt_5_5"):
        return label
    start, _, unit = label.partition(", ")
    return f"{start}\n({names[0]}), {unit}"


def figure_of(found: Found, measure: str, **keys: str) -> Ours | None:
    """The one figure with these keys; of two ETRs that over all channels, of several judges the first."""
    if measure == "etr":
        keys = {"channels": "all", **keys}
    fitting = [
        one for one in found if one.measure == measure and all(one.keys.get(k, "") == v for k, v in keys.items())
    ]
    return fitting[0] if fitting else None


def point_of(one: Ours | None, measure: str) -> tuple[float, float, float, int] | None:
    """Value, interval and n of a figure in the unit of panels; None where there is none."""
    if one is None:
        return None
    factor = 100.0 if measure in PERCENT else 1.0
    return one.estimate.value * factor, one.estimate.low * factor, one.estimate.high * factor, one.estimate.n


def present(found: Found, key: str, order: Sequence[str] = ()) -> list[str]:
    """Values of a key, those of an order first."""
    names = dict.fromkeys(one.keys[key] for one in found if one.keys.get(key))
    return [name for name in order if name in names] + [name for name in names if name not in order]


def series_of(
    found: Found, measure: str, key: str, values: Sequence[str], **fixed: str
) -> list[tuple[float, float, float, int] | None]:
    """A figure for each value of a key, None where there is none."""
    return [point_of(figure_of(found, measure, **{key: value}, **fixed), measure) for value in values]


def one_of(found: Found, measure: str, **keys: str) -> float | None:
    """One figure in the unit of the panel; None where there is none."""
    point = point_of(figure_of(found, measure, **keys), measure)
    return None if point is None else point[0]


def change_of(found: Found, model: str, key: str, value: str) -> float | None:
    """Accuracy under M5 minus that under M2, in points."""
    native, strict = (
        one_of(found, "accuracy", **{"model": model, key: value, "mode": mode}) for mode in ("think_off", "strict")
    )
    return None if native is None or strict is None else strict - native
