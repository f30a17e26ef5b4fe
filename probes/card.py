"""A saved probe's card: what it was fitted on and how, as data, as card.json and as a README that a person reads.

Knows no weights and no folder.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from probes.compare import MODEL_FIELDS
from probes.heads import Place
from probes.prompt_hash import facts_hash, prompt_facts
from thinkgap.metrics import Estimate
from thinkgap.readouts.table_text import grid
from thinkgap.store.manifest import library_versions

SCHEMA = 1
"""Of card.json and of the tensors beside it."""
NORMALISATION = "mean and population SD of each feature over the fit split"
_HEAD = """---
library_name: thinkgap
tags: [thinkgap, linear-probe]
---
"""
_USE = """```python
import probes

probe = probes.load("FOLDER")  # this folder
rows = probe.read_run("RUN")  # a finished run of the same model that kept this state
rows.probe_correct.mean()
probe.slots(states, k)  # states [n, {d}], numbers of options [n]
```"""


@dataclass(frozen=True)
class Split:
    """Items of one role."""

    role: str
    """`fit`, `select` or `test`."""
    name: str
    """Of the splits that they come from, such as `train` or `dev+validation`."""
    n_items: int
    n_rows: int
    """An item has one row for each presentation."""


@dataclass(frozen=True)
class Figure:
    """A share on the test split with its interval, or the reason why it is missing."""

    name: str
    """`probe accuracy`, `native accuracy`."""
    n: int
    value: float | None
    """In [0, 1]; None if it is missing."""
    low: float | None = None
    """Of the 95% interval; None if the rows determine none."""
    high: float | None = None
    reason: str = ""
    """Why the value is missing."""

    def __post_init__(self) -> None:
        if (self.value is None) != bool(self.reason):
            raise ValueError(f"figure {self.name}: it needs a value, or the reason why there is none, and not both")
        if any(number is not None and not math.isfinite(number) for number in (self.value, self.low, self.high)):
            raise ValueError(f"figure {self.name} is not finite: leave it out and give the reason")

    @classmethod
    def of(cls, name: str, estimate: Estimate, reason: str = "no rows") -> Figure:
        """An estimate, in which NaN is None; `reason` is kept if its value is."""
        value, low, high = (None if math.isnan(x) else x for x in (estimate.value, estimate.low, estimate.high))
        return cls(name, estimate.n, value, low, high, reason if value is None else "")


@dataclass(frozen=True)
class Card:
    """What is said of one probe; `make_card` fills in what a manifest knows."""

    role: str
    """`study` (the headline's layer) or `best` (the layer chosen on the selection split)."""
    model_name: str
    model: Mapping[str, Any]
    """`class`, `revision`, `quantization` and `vocab_size`, as in a manifest."""
    condition: str
    state: str
    """As it is called in a run: `final_norm`, `embeddings`, `layer_0` and up."""
    layer: int | None
    """Number in `layer_N`, counted from 0; None for the other states."""
    prompt: Mapping[str, Any]
    """`prompt_facts` of the condition: text, placement, thinking, label ids, ..."""
    prompt_hash: str
    """`facts_hash` of `prompt`."""
    labels: tuple[str, ...]
    """Of the K slots, as the source's order shows them."""
    n_slots: int
    """K."""
    d: int
    """Width of the state."""
    bias: bool
    """Whether one was fitted."""
    dataset: str
    splits: tuple[Split, ...]
    solver: str
    setting: str
    """The chosen one, such as `C=0.1`."""
    seed: int
    figures: tuple[Figure, ...]
    libraries: Mapping[str, str | None]
    """Versions under which it was fitted, thinkgap's own among them; None for what was not installed."""
    normalisation: str = NORMALISATION
    date: str | None = None
    """Kept as given."""

    @property
    def place(self) -> Place:
        """Where it reads."""
        return Place(self.condition, self.state)


def make_card(
    manifest: Mapping[str, Any],
    place: Place,
    *,
    role: str,
    labels: Sequence[str],
    d: int,
    bias: bool,
    dataset: str,
    splits: Sequence[Split],
    solver: str,
    setting: str,
    seed: int,
    figures: Sequence[Figure],
    date: str | None = None,
) -> Card:
    """The card of a probe fitted on states of the run that `manifest` is of; arguments as the fields of `Card`.

    Raises:
        StoreError: the run has no such condition.
    """
    prompt = prompt_facts(manifest, place.condition)
    number = place.state.removeprefix("layer_")
    return Card(
        role=role,
        model_name=manifest["config"]["model"]["name"],
        model={key: manifest["model"].get(key) for key in MODEL_FIELDS},
        condition=place.condition,
        state=place.state,
        layer=int(number) if number.isdigit() else None,
        prompt=prompt,
        prompt_hash=facts_hash(prompt),
        labels=tuple(labels),
        n_slots=len(labels),
        d=d,
        bias=bias,
        dataset=dataset,
        splits=tuple(splits),
        solver=solver,
        setting=setting,
        seed=seed,
        figures=tuple(figures),
        libraries=library_versions(),
        date=date,
    )


def card_json(card: Card, weights_sha256: str) -> str:
    """The content of card.json: equal cards give equal text."""
    content = {"schema": SCHEMA, **asdict(card), "weights_sha256": weights_sha256}
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def parse_card(stored: Mapping[str, Any]) -> tuple[Card, str]:
    """The card in the content of a card.json of this `SCHEMA`, and the digest of its weights.

    Raises:
        ValueError: fields that are missing, too many or do not fit, with the field.
    """
    fields = {key: value for key, value in stored.items() if key not in ("schema", "weights_sha256")}
    try:
        fields["splits"] = tuple(Split(**one) for one in fields["splits"])
        fields["figures"] = tuple(Figure(**one) for one in fields["figures"])
        fields["labels"] = tuple(fields["labels"])
        card, digest = Card(**fields), str(stored["weights_sha256"])
    except KeyError as error:
        raise ValueError(f"it has no {error}") from None
    except TypeError as error:
        raise ValueError(str(error)) from None
    for name in ("n_slots", "d"):
        if type(getattr(card, name)) is not int:
            raise ValueError(f"its {name} is {getattr(card, name)!r}, not a whole number")
    if card.n_slots != len(card.labels):
        raise ValueError(f"it has {len(card.labels)} labels for {card.n_slots} slots")
    if facts_hash(card.prompt) != card.prompt_hash:
        raise ValueError("its prompt_hash is not that of its prompt")
    return card, digest


def card_text(card: Card) -> str:
    """README.md of a probe: nothing that card.json does not say."""
    reads = card.state if card.layer is None else f"the residual after layer {card.layer} (counted from 0)"
    prompt = card.prompt
    facts = [
        ["model", f"{card.model_name} ({card.model['class']}, revision {card.model['revision']})"],
        ["reads", f"{reads}, {card.d} numbers, at the read position"],
        ["condition", f"{card.condition} ({prompt['kind']})"],
        ["its text", json.dumps(prompt["text"], ensure_ascii=False)],
        ["placement, thinking", f"{prompt['placement']}, {prompt['thinking']}"],
        ["slots", f"{card.n_slots} ({' '.join(card.labels)})"],
        ["data", card.dataset],
        *([split.role, f"{split.name}: {split.n_items} items, {split.n_rows} rows"] for split in card.splits),
        ["solver", f"{card.solver}, {card.setting}, {'with' if card.bias else 'without'} bias, seed {card.seed}"],
        ["normalisation", card.normalisation],
        ["prompt hash", card.prompt_hash],
        *([["date", card.date]] if card.date else []),
    ]
    versions = ", ".join(f"{name} {version}" for name, version in card.libraries.items() if version)
    blocks = [
        f"{_HEAD}\n# Linear probe: {card.condition}, {card.state} ({card.role})",
        f"A linear map from one hidden state of {card.model_name} to the slot of the right option of a multiple-choice "
        "question. It was fitted on right answers, and the model itself was not trained.",
        grid(["", "what"], facts, left=2),
        "## Figures on the test split",
        grid(["figure", "n", "%", "95% interval"], [_shown(one) for one in card.figures], left=1)
        if card.figures
        else "None were given.",
        "## Use",
        _USE.format(d=card.d),
        "It reads states of this model and revision under this prompt alone, and `read_run` refuses others. That a "
        "probe finds the answer does not show that the model uses it.",
        f"Versions: {versions}.",
    ]
    return "\n\n".join(blocks) + "\n"


def _shown(figure: Figure) -> list[str]:
    if figure.value is None:
        return [figure.name, str(figure.n), f"n/a ({figure.reason})", ""]
    interval = (
        "n/a" if figure.low is None or figure.high is None else f"{100 * figure.low:.1f} to {100 * figure.high:.1f}"
    )
    return [figure.name, str(figure.n), f"{100 * figure.value:.1f}", interval]
