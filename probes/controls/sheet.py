"""The table of probe controls: what each control's accuracy is, what it should be, and how far the probe is above it.

From finished controls to cells; computes none of them. Curves have tables of their own (`probes.controls.curves`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from probes.controls.capacity import CapacityPoint
from probes.controls.control_task import ControlTask
from probes.controls.learning_curve import CurvePoint
from probes.controls.online_code import OnlineCode
from probes.controls.other_states import OtherStates
from probes.controls.priors import Priors
from probes.controls.scores import Compared
from probes.controls.shuffled import Shuffled
from thinkgap.metrics import Estimate
from thinkgap.readouts.sheet import Cell, Column, Missing, Sheet, slot_name


def off(name: str) -> Missing:
    """In place of a control that was not asked for; `name` is of its field in `thinkgap.schema.ProbeControls`."""
    return Missing(f"switched off (probe.controls.{name}=false)")


@dataclass(frozen=True)
class ConditionControls:
    """The controls of one condition's probe; those that were not run say why."""

    condition: str
    state: str
    """Where the probe reads."""
    probe: Estimate
    """Accuracy of the probe on the test rows in the source's order."""
    shuffled: Shuffled | Missing
    refit: Compared | Missing
    control_task: ControlTask | Missing
    priors: Priors | Missing
    text_only: OtherStates | Missing
    random_weights: OtherStates | Missing
    capacity: tuple[CapacityPoint, ...] | Missing
    online_code: OnlineCode | Missing
    learning_curve: tuple[CurvePoint, ...] | Missing


def selectivities(controls: Sequence[ConditionControls]) -> dict[str, Estimate]:
    """Condition -> selectivity, of those that had a control task."""
    return {
        one.condition: one.control_task.selectivity for one in controls if isinstance(one.control_task, ControlTask)
    }


def lower_bounds(controls: Sequence[ConditionControls]) -> list[str]:
    """Conditions whose selectivity is only a lower bound, as the control task was tested on its fitted rows."""
    return [
        one.condition for one in controls if isinstance(one.control_task, ControlTask) and one.control_task.in_sample
    ]


SOLVER_NOTE = (
    "Fits of controls are logistic regressions with probe.exact, whatever the solver of the probe; what that alone "
    "changes shows in probe_learning_curve, whose last point is such a fit on all training questions."
)
"""Below every table of controls that were fitted."""

_COLUMNS = (
    Column("condition", "condition", "text"),
    Column("control", "control", "text"),
    Column("accuracy", "accuracy %", "percent"),
    Column("n", "n", "count"),
    Column("above", "probe minus control", "points"),
    Column("expected", "should be", "text"),
)
_NOTES = (
    "On test rows in the source's order, one to a question. Probe minus control: in points, on the same rows.",
    "States shuffled: the probe reads other items' states, mean over permutations. Fitted on shuffled states: a "
    "probe learns from other items' states and reads intact ones.",
    "Control task (Hewitt and Liang 2019): a random slot for each question. Seen: on questions of the fit; probe minus "
    "control is the selectivity, over independent rows. Unseen: on the test questions, where anything above chance is "
    "a leak.",
    "Priors need no state: the slot that is right most often on the fit split, overall or by number of options.",
    "Embeddings at a read position whose token is the same for all items are constant, so a probe of them can "
    "only name one slot for each number of options, as the priors do; see their row in the table by layer.",
    SOLVER_NOTE,
)


def control_sheet(controls: Sequence[ConditionControls]) -> list[Sheet]:
    """The sheet `probe_controls`, one row to a condition and control; none without conditions."""
    rows = tuple((one.condition, *cells) for one in controls for cells in _rows(one))
    return [Sheet("probe_controls", "Probe controls", _COLUMNS, rows, _NOTES)] if rows else []


def _rows(one: ConditionControls) -> Iterator[tuple[Cell, ...]]:
    yield "probe", one.probe, one.probe.n, Missing("the probe itself"), f"what is controlled (state {one.state})"
    yield from _shuffled(one)
    yield from _control_task(one.control_task)
    yield from _priors(one.priors)
    yield _other("text only", one.text_only, "lower, if the image is used")
    yield _other("random weights", one.random_weights, "near the priors, if training made the answer readable")


def _shuffled(one: ConditionControls) -> Iterator[tuple[Cell, ...]]:
    found = one.shuffled
    if isinstance(found, Missing):
        yield _missing("states shuffled", found)
    else:
        near = f"near {_percent(found.gold_histogram)}, each slot named as often as it is right; chance"
        yield (
            f"states shuffled, mean of {found.draws}",
            found.accuracy,
            found.accuracy.n,
            found.above,
            f"{near} {_percent(found.chance)}",
        )
    yield _compared("fitted on shuffled states", one.refit, "near the priors")


def _control_task(found: ControlTask | Missing) -> Iterator[tuple[Cell, ...]]:
    if isinstance(found, Missing):
        yield _missing("control task, seen questions", found)
        yield _missing("control task, unseen questions", found)
        return
    name = "control task, fitted rows" if found.in_sample else "control task, seen questions"
    low = "well below the probe"
    text = f"{low} (in sample: an upper bound, so selectivity is a lower bound)" if found.in_sample else low
    yield name, found.seen, found.seen.n, found.selectivity, text
    own = Missing("random slots of its own: not the probe's task")
    yield "control task, unseen questions", found.unseen, found.unseen.n, own, f"chance, {_percent(found.chance)}"


def _priors(found: Priors | Missing) -> Iterator[tuple[Cell, ...]]:
    if isinstance(found, Missing):
        yield _missing("priors", found)
        return
    slots = ", ".join(f"{slot_name(slot)} of {k}" for k, slot in found.slot_by_k.items())
    below = "below the probe"
    yield _compared("most frequent slot", found.majority, f"{below} ({slot_name(found.majority_slot)})")
    yield _compared("most frequent slot by number of options", found.by_k, f"{below} ({slots})")
    yield _compared("first slot", found.first, f"{below}; the gold-first rate")
    exact = Missing("a property of the rows, without interval")
    yield "chance, mean(1/k)", found.chance, found.first.accuracy.n, exact, below


def _compared(name: str, found: Compared | Missing, expected: str) -> tuple[Cell, ...]:
    if isinstance(found, Missing):
        return _missing(name, found)
    return name, found.accuracy, found.accuracy.n, found.above, expected


def _other(name: str, found: OtherStates | Missing, expected: str) -> tuple[Cell, ...]:
    if isinstance(found, Missing):
        return _missing(name, found)
    if found.above.n < found.accuracy.n:
        expected += f"; compared on the {found.above.n} items that both have"
    return name, found.accuracy, found.accuracy.n, found.above, expected


def _missing(name: str, why: Missing) -> tuple[Cell, ...]:
    return name, why, why, why, ""


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"
