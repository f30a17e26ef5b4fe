"""Which columns of which printed table are which figures of the studies. Knows names only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Source:
    """Which columns of a sheet are which figures of which tables."""

    tables: tuple[str, ...]
    keys: Mapping[str, str]
    """Column -> key; what identifies a row."""
    measures: Mapping[str, tuple[str, Mapping[str, str]]]
    """Column, or its beginning if it ends in `_`, -> measure and keys that it fixes; `*` is the rest of the name."""
    where: Mapping[str, str] = field(default_factory=dict)
    """Column -> value, several with `|`, or `@COLUMN` for another column's; other rows are none of these figures."""
    pair: tuple[str, str] | None = None
    """Columns of two judges that a figure is of; the key `judge` names both."""


_ETR: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "etr_prefix": ("etr", {"channels": "all"}),
    "etr_content": ("etr", {"channels": "content"}),
}
_LEVELS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "qrel_": ("qrel", {"encoder": "*"}),
    "explicit_": ("eir", {"judge": "*"}),
}
_CELL = {"model": "model", "dataset": "dataset", "mode": "mode"}
SPACE = {"model": "model", "space": "space", "mode": "mode"}
BY_SPACE = ("bool", "mcq", "open")
VARIANTS = {"base": "identity", "surface_shuffle": "shuffle", "letters_numeric": "numeric"}


def _form(prefix: str, variant: str) -> dict[str, tuple[str, Mapping[str, str]]]:
    """Columns of one answer space of `verification` and `open_numeric`."""
    fixed = {"variant": variant}
    return {
        f"{prefix}_accuracy": ("accuracy", fixed),
        f"{prefix}_etr_prefix": ("etr", {**fixed, "channels": "all"}),
        f"{prefix}_qrel_": ("qrel", {**fixed, "encoder": "*"}),
        f"{prefix}_explicit_": ("eir", {**fixed, "judge": "*"}),
    }


_SPACES = ("figure1", "figure4", "figure5", "figureG.1", "figureH.1", "D.1", "D.3", "D.4", "H.2")
NOTHINKING: Mapping[str, Source] = {
    "nothinking": Source(
        ("H.1", "figure1", "figureG.2"),
        _CELL,
        {"accuracy": ("accuracy", {}), **_ETR, "visible_words": ("visible_words", {})},
    ),
    "nothinking_levels_datasets": Source(("H.1", "figure1"), _CELL, _LEVELS),
    "nothinking_spaces": Source(
        _SPACES, SPACE, {"accuracy": ("accuracy", {}), **_ETR, "visible_words": ("visible_words", {})}
    ),
    "nothinking_levels": Source(_SPACES, SPACE, _LEVELS),
    "by_area": Source(
        ("table4", "I.1", "figureH.2", "I.2"),
        {**_CELL, "area": "area"},
        {"accuracy": ("accuracy", {}), **_ETR, **_LEVELS},
    ),
    "by_area_subject": Source(
        ("I.2",), {**_CELL, "area": "area", "subject": "subject"}, {"accuracy": ("accuracy", {}), **_ETR, **_LEVELS}
    ),
    "surface": Source(
        ("I.3",),
        {**_CELL, "variant": "variant"},
        {
            "accuracy": ("accuracy", {}),
            "etr_prefix": ("etr", {"channels": "all"}),
            **_LEVELS,
            "accuracy_difference": ("difference", {}),
            "etr_prefix_difference": ("etr_difference", {}),
            "consistency": ("consistency", {}),
        },
    ),
    "verification": Source(
        ("I.4",),
        _CELL,
        {
            **_form("mcq", "identity"),
            **_form("bool", "verification"),
            "accuracy_positive": ("accuracy", {"variant": "verification_positive"}),
            "accuracy_negative": ("accuracy", {"variant": "verification_negative"}),
            "accuracy_difference": ("difference", {"variant": "verification"}),
        },
    ),
    "open_numeric": Source(
        ("I.5", "figure6"),
        _CELL,
        {
            **_form("mcq", "identity"),
            **_form("bool", "verification"),
            **_form("open", "open_numeric"),
            "parse": ("parsed", {"variant": "open_numeric"}),
            "exact": ("exact", {"variant": "open_numeric"}),
            "accuracy_difference": ("difference", {"variant": "open_numeric"}),
        },
    ),
    "encoder_sensitivity_balanced": Source(
        ("D.2",),
        {"mode": "mode", "encoder": "encoder"},
        {space: ("qrel", {"space": space}) for space in BY_SPACE},
        where={"outputs": "all"},
    ),
    "judge_agreement": Source(
        ("D.5",),
        {"group": "model", "outputs": "outputs"},
        {name: (name, {}) for name in ("five_way", "binary")},
        where={"dimension": "overall|model"},
        pair=("first", "second"),
    ),
    "answer_first": Source(("E.1",), {"model": "model"}, {"rate": ("answer_first_rate", {})}),
    "copies": Source(("E.1",), {"model": "model"}, {"rate": ("copy_rate", {})}),
}
NATIVE: Mapping[str, Source] = {
    "vocabulary": Source(
        ("table3",),
        {"condition": "condition"},
        {name: (name, {}) for name in ("label_mass", "reasoning_mass", "gold_rank", "reasoning_top")},
    ),
    "vocabulary_change": Source(
        ("table3",),
        {"condition": "condition"},
        {name: (name, {}) for name in ("reasoning_mass_factor", "gold_rank_change", "reasoning_top_change")},
    ),
    "generation": Source(
        ("text",),
        {"condition": "condition"},
        {"accuracy": ("accuracy", {"readout": "generation"}), "first_slot": ("first_slot", {"readout": "generation"})},
    ),
    "likelihood": Source(
        ("text",),
        {"condition": "condition"},
        {"accuracy": ("accuracy", {"readout": "likelihood"}), "first_slot": ("first_slot", {"readout": "likelihood"})},
        where={"normalisation": "token"},
    ),
    "replies": Source(("text",), {"condition": "condition"}, {"n_unparsed": ("n_unparsed", {"readout": "generation"})}),
    "permutation": Source(
        ("text",),
        {"condition": "condition"},
        {
            "flips_first": ("flips_first", {"readout": "native"}),
            # Every item once in each order: the mean over orders is that over the seeds.
            "accuracy_orders": ("accuracy_seeds", {"readout": "native"}),
            "first_slot_orders": ("first_slot_seeds", {"readout": "native"}),
        },
    ),
    "layers": Source(
        ("figure2",), {"condition": "condition", "layer": "layer"}, {"accuracy": ("accuracy", {"readout": "lens"})}
    ),
    "position_shift": Source(
        ("figure3",), {"condition": "condition", "slot": "variable"}, {"shift": ("shift", {}), "p": ("p_gold", {})}
    ),
}
PROBES: Mapping[str, Source] = {
    "linear_probes": Source(
        ("table2", "text"),
        {"condition": "condition"},
        {
            "probe": ("accuracy", {"readout": "probe"}),
            "probe_first": ("first_slot", {"readout": "probe"}),
            "gap": ("gap", {"readout": "probe"}),
        },
    ),
    "probe_layers": Source(
        ("figure2",),
        {"condition": "condition", "state": "layer"},
        {"test": ("accuracy", {"readout": "probe"}), "native": ("accuracy", {"readout": "native"})},
    ),
}
LORA: Mapping[str, Source] = {
    "lm_head_lora": Source(
        ("text",),
        {"read_under": "condition"},
        {
            "accuracy": ("accuracy", {"readout": "lm_head_lora"}),
            "first_slot": ("first_slot", {"readout": "lm_head_lora"}),
        },
        where={"trained_on": "@read_under"},
    ),
}
NAMES = {"mean of annotators": "mean", "mean of the correlations": "mean"}
"""What our tables call a key's value -> what the studies call it."""
_OF_PEOPLE = {"judge": "judge", "annotator": "annotator"}
PEOPLE: Mapping[str, Source] = {
    "people_reliability": Source(
        ("D.8",), {"variable": "variable"}, {"alpha": ("alpha", {})}, where={"outputs": "non-empty"}
    ),
    "people_judges": Source(
        ("D.7",), _OF_PEOPLE, {name: (name, {}) for name in ("five_way", "binary")}, where={"outputs": "all"}
    ),
    "people_relevance": Source(
        ("D.6", "table6"),
        {"encoder": "encoder", "annotator": "annotator", "outputs": "outputs"},
        {"spearman": ("spearman", {})},
    ),
    "people_rates": Source(
        ("D.9", "table5"),
        {"mode": "mode", "rater": "annotator"},
        {space: ("eir", {"space": space}) for space in BY_SPACE},
    ),
}
"""Tables of people's labels, which an annotation has and no run."""
