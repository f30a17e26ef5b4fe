"""What is asked of any model: the items of one or several data sets as questions, and the form of what came back.

Knows no model and no reading of a response.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thinkgap.data import LoadedDataset
from thinkgap.data.rows import BadRow
from thinkgap.data.verification import PROPOSED
from thinkgap.errors import ConfigError
from thinkgap.evaluation.presentations import presentations_of
from thinkgap.evaluation.variants import load_items
from thinkgap.nothinking.comprehension import Exchange
from thinkgap.printable import printable
from thinkgap.prompts.assemble import inertia_lines
from thinkgap.responses.boxes import ends_in_open_box
from thinkgap.schema import EvaluateConfig
from thinkgap.store.item_fields import check_fields
from thinkgap.types import Answered, Condition, Presentation, Question, Response

log = logging.getLogger(__name__)

_SHOWN = 5

Loaded = Mapping[str, LoadedDataset]
"""Data sets by the name that tables call them."""


@dataclass(frozen=True)
class Asked:
    """What a model said to all items under all modes that it has."""

    answered: Sequence[Answered]
    modes: tuple[str, ...]
    notes: tuple[str, ...]
    """What a reader of the tables has to know."""
    described: Mapping[str, Any]
    """For the manifest."""
    count_tokens: Callable[[str], int] | None = None
    """Tokens of a text by the model's own tokenizer; None where nobody has it."""
    exchanges: Sequence[Exchange] | None = None
    """The comprehension check; None if it was not asked for."""


def load_datasets(cfg: EvaluateConfig) -> dict[str, LoadedDataset]:
    """The data sets of a run, `dataset` alone or all of `datasets`.

    Raises:
        ConfigError, DataError: one that cannot be used.
    """
    loaded = {name: load_items(cfg, one) for name, one in (cfg.datasets or {cfg.dataset.name: cfg.dataset}).items()}
    for one in loaded.values():
        tell_rows(one)
    check_fields(cfg.evaluation.by, [item for one in loaded.values() for item in one.items])
    return loaded


def tell_rows(loaded: LoadedDataset) -> None:
    """Log what became of the rows that are no items."""
    for note in loaded.notes:
        log.info(note)
    tell_bad(loaded.bad)


def tell_bad(rows: Sequence[BadRow]) -> None:
    """Warn of the first rows that cannot be used."""
    for bad in rows[:_SHOWN]:
        # On one line, whatever the id is: a line end in it would make a line of the log.
        log.warning("row %s is skipped: %s", printable(bad.id), printable(bad.reason))
    if len(rows) > _SHOWN:
        log.warning("and %d more rows; all are in the manifest", len(rows) - _SHOWN)


ShownItems = Mapping[str, Sequence[Sequence[Presentation]]]
"""Per data set the ways in which each of its items is shown."""


def shown_of(cfg: EvaluateConfig, loaded: Loaded) -> dict[str, list[list[Presentation]]]:
    """Per data set its items, each in all the ways that the run asks for.

    Raises:
        ConfigError, DataError: see `evaluation.presentations`.
    """
    return {name: presentations_of(cfg, one.items, reads_labels=False).items for name, one in loaded.items()}


def items_digest(shown: ShownItems) -> dict[str, str]:
    """Per data set a digest of everything that prompts and tables take from its items."""
    return {
        name: hashlib.sha256(
            json.dumps(
                [
                    [dataclasses.astuple(question_of(name, one)), [image.sha256 for image in one.item.images]]
                    for item in items
                    for one in item
                ]
            ).encode()
        ).hexdigest()
        for name, items in shown.items()
    }


def describe_datasets(loaded: Loaded) -> dict[str, Any]:
    """Per data set where it came from and what became of its rows, for the manifest."""
    return {
        name: {
            "source": dict(one.source),
            "rows": one.n_rows,
            "items": len(one.items),
            "filtered": dict(one.n_filtered),
            "bad_rows": [{"id": bad.id, "reason": bad.reason} for bad in one.bad],
            "notes": list(one.notes),
        }
        for name, one in loaded.items()
    }


def available_modes(
    conditions: Sequence[Condition], reason: Callable[[Condition], str], model: str
) -> tuple[list[Condition], list[str]]:
    """The modes that a model has, and a note for each other.

    Args:
        conditions: the modes that were asked for.
        reason: why a model does not have one; empty if it does.
        model: its name.

    Raises:
        ConfigError: it has none of them.
    """
    reasons = {one.name: reason(one) for one in conditions}
    notes = [f"{name}: unavailable, as {why}." for name, why in reasons.items() if why]
    if len(notes) == len(conditions):
        raise ConfigError(f"{model} has none of the modes that were asked for: {' '.join(notes)}")
    return [one for one in conditions if not reasons[one.name]], notes


def answered_of(dataset: str, presentation: Presentation, condition: Condition, response: Response) -> Answered:
    """An item as it was shown under a mode, with what came back."""
    opening = condition.prefill or condition.user_suffix
    question = question_of(dataset, presentation)
    return Answered(question, condition.name, condition.thinking, response, ends_in_open_box(opening))


def question_of(dataset: str, presentation: Presentation) -> Question:
    """What the analysis of a response needs of the item as it was shown."""
    item = presentation.item
    mcq = item.answer_space == "mcq"
    answer, contents = item.answer, ()
    if mcq:
        answer, contents = presentation.labels[presentation.gold_slot], presentation.order
    elif PROPOSED in item.meta:
        contents = (int(item.meta[PROPOSED]),)
    if item.answer_space == "bool" and item.gold is not None:
        answer = item.choices[item.gold].lower()
    options = presentation.contents if mcq else ()
    return Question(
        item_id=item.id,
        group_id=item.group_id,
        dataset=dataset,
        space=item.answer_space,
        problem="\n".join(inertia_lines(presentation)),
        answer=answer,
        labels=presentation.labels if mcq else (),
        options=options,
        parts=tuple(part for part in (item.context, item.question, *options) if part),
        split=item.split,
        subject=item.subject,
        area=item.meta.get("area", ""),
        presentation=presentation.name,
        contents=contents,
    )
