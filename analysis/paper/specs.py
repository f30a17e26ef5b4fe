"""How the tables of both studies are laid out: which keys make a row, and which figures are its columns.

Rows follow the runs and the published figures; no table is tied to a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Column:
    """One column of figures."""

    heading: str
    measure: str
    keys: Mapping[str, str] = field(default_factory=dict)
    """Values that the figure's keys must have."""


@dataclass(frozen=True)
class Spec:
    """One table."""

    rows: tuple[str, ...]
    """Keys that make a row, in the order in which rows are sorted."""
    columns: tuple[Column, ...]
    pooled: bool = False
    """Whether the published figures are over all models of the study, so that they stand beside each of ours."""


_M = {"think_off": "M2", "strict": "M5"}
_SPACES = ("bool", "mcq", "open")


def _by_mode_and_space(measure: str) -> tuple[Column, ...]:
    return tuple(
        Column(f"{short} {space}", measure, {"mode": mode, "space": space})
        for mode, short in _M.items()
        for space in _SPACES
    )


_LEVELS = (Column("Acc.", "accuracy"), Column("ETR", "etr"), Column("QRel", "qrel"), Column("EIR", "eir"))


def _of_variant(heading: str, variant: str) -> tuple[Column, ...]:
    return tuple(Column(f"{heading} {one.heading}", one.measure, {"variant": variant}) for one in _LEVELS)


SPECS: Mapping[str, Mapping[str, Spec]] = {
    "prefix": {
        "table1": Spec(
            ("dataset", "model"),
            (
                Column("Direct", "accuracy", {"condition": "direct", "readout": "native"}),
                Column("Prefix", "accuracy", {"condition": "let_me_think", "readout": "native"}),
                Column("Δ acc", "difference", {"condition": "let_me_think", "readout": "native"}),
                Column("A/first", "first_slot", {"condition": "let_me_think", "readout": "native"}),
            ),
        ),
        "table2": Spec(
            ("model", "dataset", "condition"),
            (
                Column("Native Acc.", "accuracy", {"readout": "native"}),
                Column("Δ acc", "difference", {"readout": "native"}),
                Column("Native A/first", "first_slot", {"readout": "native"}),
                Column("Probe Acc.", "accuracy", {"readout": "probe"}),
                Column("Probe A/first", "first_slot", {"readout": "probe"}),
            ),
        ),
        "table3": Spec(
            ("model", "dataset", "condition"),
            (
                Column("answer mass", "label_mass"),
                Column("reasoning mass", "reasoning_mass"),
                Column("answer rank", "gold_rank"),
                Column("reasoning top token", "reasoning_top"),
            ),
        ),
        "text": Spec(
            ("model", "dataset", "k", "condition", "readout"),
            (
                Column("Acc.", "accuracy"),
                Column("first slot", "first_slot"),
                Column("Acc., orders", "accuracy_seeds"),
                Column("first slot, orders", "first_slot_seeds"),
                Column("no answer", "n_unparsed"),
                Column("gap", "gap"),
                Column("flips to first", "flips_first"),
            ),
        ),
    },
    "inertia": {
        "table4": Spec(("model", "mode", "area"), _LEVELS),
        "B.1": Spec(("dataset", "split"), (Column("items", "items"),)),
        "B.2": Spec(("model",), (Column("temperature", "temperature"), Column("max. new tokens", "max_tokens"))),
        "D.1": Spec(("model", "encoder"), _by_mode_and_space("qrel"), pooled=True),
        "D.2": Spec(("model", "encoder"), _by_mode_and_space("qrel"), pooled=True),
        "D.3": Spec(("model", "judge"), _by_mode_and_space("eir"), pooled=True),
        "D.4": Spec(
            ("model", "judge", "mode", "space"),
            (Column("explicit reasoning", "eir"), Column("paraphrase only", "paraphrase_only")),
            pooled=True,
        ),
        "D.5": Spec(("model", "outputs"), (Column("five-way", "five_way"), Column("binary", "binary"))),
        "D.6": Spec(("encoder", "annotator"), (Column("Spearman", "spearman", {"outputs": "all"}),)),
        "D.7": Spec(("judge", "annotator"), (Column("five-way", "five_way"), Column("binary", "binary"))),
        "D.8": Spec(("variable",), (Column("alpha", "alpha"),)),
        "D.9": Spec(("annotator", "mode"), tuple(Column(space, "eir", {"space": space}) for space in _SPACES)),
        "table5": Spec(("annotator", "mode"), tuple(Column(space, "eir", {"space": space}) for space in _SPACES)),
        "table6": Spec(
            ("encoder", "annotator"),
            (
                Column("all outputs", "spearman", {"outputs": "all"}),
                Column("non-empty", "spearman", {"outputs": "non-empty"}),
            ),
        ),
        "E.1": Spec(("model",), (Column("copy", "copy_rate"), Column("answer first", "answer_first_rate"))),
        "H.1": Spec(("mode", "dataset", "model"), _LEVELS),
        "H.2": Spec(("model", "judge", "mode"), tuple(Column(space, "eir", {"space": space}) for space in _SPACES)),
        "I.1": Spec(("model", "area", "mode"), _LEVELS),
        "I.2": Spec(("area", "subject", "model", "mode"), _LEVELS[:2]),
        "I.3": Spec(
            ("model", "dataset", "mode", "variant"),
            (
                *_LEVELS,
                Column("Δ Acc.", "difference"),
                Column("Δ ETR", "etr_difference"),
                Column("Cons.", "consistency"),
            ),
        ),
        "I.4": Spec(
            ("model", "dataset", "mode"),
            (
                *_of_variant("MCQ", "identity"),
                *_of_variant("Bool", "verification"),
                Column("Pos.", "accuracy", {"variant": "verification_positive"}),
                Column("Neg.", "accuracy", {"variant": "verification_negative"}),
                Column("Δ Acc.", "difference", {"variant": "verification"}),
            ),
        ),
        "I.5": Spec(
            ("model", "dataset", "mode"),
            (
                *_of_variant("MCQ", "identity"),
                *_of_variant("Bool", "verification"),
                *_of_variant("Open", "open_numeric"),
                Column("Parse", "parsed", {"variant": "open_numeric"}),
                Column("Exact", "exact", {"variant": "open_numeric"}),
                Column("Open - MCQ", "difference", {"variant": "open_numeric"}),
            ),
        ),
    },
}
"""Study -> catalogue id -> layout."""
OF_PEOPLE = ("table5", "table6", "D.6", "D.7", "D.8", "D.9")
"""Tables of people's labels, which an annotation has and no run."""
NO_FIGURES: Mapping[str, str] = {
    "table1": "a text, docs/judges.md has it",
    "table2": "the modes, conf/mode has them",
    "table3": "names of models",
    "C.1": "which result needs which runs",
    "figure2": "a scheme",
    "figure3": "a scheme",
    "F.1": "texts, inertia.cases.md shows ours",
    "F.2": "texts, inertia.cases.md shows ours",
    "figureE.1": "the comprehension check, whose own table a run prints",
    "text": "sizes of samples",
}
"""Entries of the inertia study that no layout or figure of ours is for -> why."""
