"""Tables and charts of the controls that are curves: accuracy by dimensions and by questions, and the online code.

From finished controls to cells and points; computes none of them. Charts have log2 axes, as the sizes double.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from probes.controls.online_code import Block, OnlineCode
from probes.controls.sheet import SOLVER_NOTE, ConditionControls
from thinkgap.readouts.sheet import Cell, Chart, Column, Missing, Sheet

_CONDITION = Column("condition", "condition", "text")
_CAPACITY = (
    _CONDITION,
    Column("dimensions", "dimensions", "count"),
    Column("accuracy", "accuracy %", "percent"),
    Column("control", "control task %", "percent"),
)
_CURVE = (
    _CONDITION,
    Column("questions", "training questions", "count"),
    Column("rows", "training rows", "count"),
    Column("accuracy", "accuracy %", "percent"),
)
_CODE = (
    _CONDITION,
    Column("part", "part of the training questions", "text"),
    Column("questions", "sent so far", "count"),
    Column("rows", "rows", "count"),
    Column("bits", "bits", "count"),
    Column("uniform", "bits, uniform", "count"),
    Column("compression", "compression"),
)
_REPORTED = "Accuracy: on test rows in the source's order; settings chosen on the selection split."


def curve_sheets(controls: Sequence[ConditionControls]) -> list[Sheet]:
    """`probe_capacity`, `probe_learning_curve` and `probe_online_code`; none without conditions."""
    if not controls:
        return []
    capacity = (
        _REPORTED,
        "Probes of random projections of the standardised state; the last row of a condition is the whole state. Few "
        "dimensions that do well hold an answer that is easy to read; accuracy that comes only with as good a control "
        "task may be memory.",
        SOLVER_NOTE,
    )
    curve = (
        _REPORTED,
        "Probes of nested sets of training questions. A curve that still rises at its end says that more questions "
        "would give more, so the last accuracy is a lower bound of what can be read.",
        SOLVER_NOTE,
    )
    code = (
        "Bits that it takes to send the right slots of the training questions block by block, each by a probe of the "
        "blocks before (Voita and Titov 2020); the first block is sent without a probe. Rows: of that block.",
        "Compression: bits without any probe over bits. Above 1 the states say something of the answer, the more the "
        "fewer questions it takes to learn it; its interval takes the probes as given.",
        SOLVER_NOTE,
    )
    return [
        Sheet("probe_capacity", "Probes of random projections", _CAPACITY, tuple(_capacity(controls)), capacity),
        Sheet("probe_learning_curve", "Probes of fewer questions", _CURVE, tuple(_learning(controls)), curve),
        Sheet("probe_online_code", "Online code length", _CODE, tuple(_code(controls)), code),
    ]


def curve_charts(controls: Sequence[ConditionControls]) -> list[Chart]:
    """One line per condition over log2 of dimensions or questions; a control that no condition has gives no chart."""
    capacity: list[tuple[float | str, float, str]] = []
    learning: list[tuple[float | str, float, str]] = []
    code: list[tuple[float | str, float, str]] = []
    for one in controls:
        if not isinstance(one.capacity, Missing):
            capacity += [(math.log2(at.dimensions), at.accuracy.value, one.condition) for at in one.capacity]
        if not isinstance(one.learning_curve, Missing):
            learning += [(math.log2(at.questions), at.accuracy.value, one.condition) for at in one.learning_curve]
        if not isinstance(one.online_code, Missing):
            code += [(math.log2(at.questions), at.bits / at.rows, one.condition) for at in one.online_code.blocks]
    asked = (
        (
            "probe_capacity",
            "Probe accuracy by dimensions of a random projection",
            "log2 dimensions",
            "accuracy",
            capacity,
        ),
        ("probe_learning_curve", "Probe accuracy by training questions", "log2 questions", "accuracy", learning),
        ("probe_online_code", "Bits per row by questions sent", "log2 questions", "bits per row", code),
    )
    return [Chart(name, title, "line", x, y, "condition", tuple(rows)) for name, title, x, y, rows in asked if rows]


def _capacity(controls: Sequence[ConditionControls]) -> Iterator[tuple[Cell, ...]]:
    for one in controls:
        if isinstance(one.capacity, Missing):
            yield one.condition, *[one.capacity] * 3
        else:
            yield from ((one.condition, at.dimensions, at.accuracy, at.control) for at in one.capacity)


def _learning(controls: Sequence[ConditionControls]) -> Iterator[tuple[Cell, ...]]:
    for one in controls:
        if isinstance(one.learning_curve, Missing):
            yield one.condition, *[one.learning_curve] * 3
        else:
            yield from ((one.condition, at.questions, at.rows, at.accuracy) for at in one.learning_curve)


def _code(controls: Sequence[ConditionControls]) -> Iterator[tuple[Cell, ...]]:
    for one in controls:
        if isinstance(one.online_code, Missing):
            yield one.condition, "all", *[one.online_code] * 5
        else:
            yield from ((one.condition, *cells) for cells in _blocks(one.online_code))


def _blocks(code: OnlineCode) -> Iterator[tuple[Cell, ...]]:
    for place, block in enumerate(code.blocks):
        name = "first block, uniform" if not place else f"block {place + 1}"
        yield name, block.questions, block.rows, block.bits, block.uniform_bits, _ratio(block)
    rows = sum(block.rows for block in code.blocks)
    yield "all", code.blocks[-1].questions, rows, code.bits, code.uniform_bits, code.compression


def _ratio(block: Block) -> Cell:
    return block.uniform_bits / block.bits if block.bits else Missing("nothing to send: rows of one option")
