"""Responses of a local model under answer modes: items of one or several data sets in, greedy replies out.

Finished replies are kept by prompt, so that a killed run, or one with a mode more, asks only what is new. Knows no
reading of a response.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thinkgap.data import LoadedDataset, load_dataset_items
from thinkgap.data.present import identity
from thinkgap.errors import ConfigError
from thinkgap.evaluation.generate import ItemPrompts, generate_replies, open_replies
from thinkgap.evaluation.predict import device_of
from thinkgap.evaluation.prepare import load_model
from thinkgap.prompts.assemble import inertia_lines
from thinkgap.prompts.build import PromptBuilder
from thinkgap.prompts.conditions import mode_conditions
from thinkgap.schema import EvaluateConfig
from thinkgap.scoring.decode import Decoder
from thinkgap.scoring.decode_check import choose_decoding
from thinkgap.scoring.reply import Reply
from thinkgap.scoring.stopping import stop_ids
from thinkgap.types import Answered, Condition, Presentation, Question, Response, Thinking

log = logging.getLogger(__name__)

_TRIED = 2


@dataclass(frozen=True)
class Asked:
    """What a model said to all items under all modes that it has."""

    answered: list[Answered]
    modes: tuple[str, ...]
    notes: tuple[str, ...]
    described: Mapping[str, Any]
    """For the manifest."""


def local_responses(cfg: EvaluateConfig, folder: Path) -> Asked:
    """Ask every item of every data set under every mode.

    A mode that asks a model without a thinking switch to think is left out with a note.

    Args:
        cfg: the settings.
        folder: of the run; gets replies where `evaluation.reuse=false`.

    Raises:
        ThinkgapError: settings, data or a model that cannot be used.
    """
    loaded = {name: load_dataset_items(one) for name, one in (cfg.datasets or {cfg.dataset.name: cfg.dataset}).items()}
    backend = load_model(cfg)
    backend.to(device_of(cfg.trainer))
    conditions, notes = _available(mode_conditions(cfg.mode), backend.fmt.can_think, cfg.model.name)
    _refuse_images(loaded, backend.fmt.is_vision, cfg.model.name)
    builder = PromptBuilder(backend.fmt, conditions, cfg.labels, cfg.label_ids, "", cfg.prompt.system)
    shown = [[(name, identity(item))] for name, one in loaded.items() for item in one.items]
    groups = ItemPrompts([[presentation for _, presentation in one] for one in shown], builder)
    tried = [group for group in ItemPrompts(groups.items[:_TRIED], builder) if group]
    asked = cfg.evaluation.generation
    decoder = Decoder(
        backend, asked.max_new_tokens, asked.batch_size, stop_ids(backend), choose_decoding(backend, tried)
    )
    kept = Path(cfg.paths.cells_dir) if cfg.evaluation.reuse else folder / "replies"
    replies = generate_replies(
        groups,
        decoder,
        open_replies(kept, cfg.model.name, decoder),
        shown=cfg.trainer.progress,
        description="responses",
    )
    for item, reason in groups.excluded.items():
        log.warning("item %s is left out: %s", item, reason)
    if groups.excluded:
        notes.append(
            f"{len(groups.excluded)} of {len(shown)} items cannot be shown to this model; they are in the manifest."
        )
    answered = [
        _answered(name, presentation, reply, backend.fmt.tokenizer, cfg.model.name)
        for ((name, presentation),), own in zip(shown, replies, strict=True)
        for reply in own
    ]
    described = {
        "model": backend.describe(),
        "datasets": {name: {"source": dict(one.source), "items": len(one.items)} for name, one in loaded.items()},
        "excluded": {item: str(reason) for item, reason in groups.excluded.items()},
        "decoding": decoder.describe(),
    }
    return Asked(answered, tuple(one.name for one in conditions), tuple(notes), described)


def question_of(dataset: str, presentation: Presentation) -> Question:
    """What the analysis of a response needs of the item as it was shown."""
    item = presentation.item
    mcq = item.answer_space == "mcq"
    answer = item.answer
    if mcq:
        answer = presentation.labels[presentation.gold_slot]
    elif item.answer_space == "bool" and item.gold is not None:
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
    )


def _answered(dataset: str, presentation: Presentation, reply: Reply, tokenizer: Any, model: str) -> Answered:
    condition = reply.prompt.condition
    response = Response(
        content=tokenizer.decode(list(reply.token_ids), skip_special_tokens=True),
        finish_reason=reply.finish,
        prompt_tokens=len(reply.prompt.input_ids),
        completion_tokens=len(reply.token_ids),
        model=model,
    )
    return Answered(question_of(dataset, presentation), condition.name, condition.thinking, response)


def _available(conditions: Sequence[Condition], can_think: bool, model: str) -> tuple[list[Condition], list[str]]:
    """The modes that the model has, and a note for each other."""
    kept = [one for one in conditions if can_think or one.thinking is not Thinking.enabled]
    notes = [
        f"{one.name}: unavailable, as {model} has no switch for its own thinking."
        for one in conditions
        if one not in kept
    ]
    if not kept:
        raise ConfigError(
            f"all modes ask {model} to think, and it has no switch for that: choose other modes, or describe the "
            "switch in model.thinking"
        )
    return kept, notes


def _refuse_images(loaded: Mapping[str, LoadedDataset], is_vision: bool, model: str) -> None:
    for name, n in _with_images(loaded):
        if n and not is_vision:
            raise ConfigError(f"{n} items of {name} have images and {model} reads text only: set dataset.images=none")


def _with_images(loaded: Mapping[str, LoadedDataset]) -> Iterator[tuple[str, int]]:
    for name, one in loaded.items():
        yield name, sum(bool(item.images) for item in one.items)
