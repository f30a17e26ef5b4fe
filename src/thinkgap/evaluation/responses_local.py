"""Responses of a local model under answer modes: greedy replies to the items of one or several data sets.

Finished replies are kept by prompt, so that a killed run, or one with a mode more, asks only what is new. Knows no
reading of a response.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from thinkgap.backends.format import TextFormat
from thinkgap.backends.reply_text import reply_decoder
from thinkgap.errors import ConfigError, DataError
from thinkgap.evaluation.asking import (
    Asked,
    Loaded,
    ShownItems,
    answered_of,
    available_modes,
    describe_datasets,
)
from thinkgap.evaluation.comprehension import exchanged, questions_of
from thinkgap.evaluation.describe import check_own_texts
from thinkgap.evaluation.generate import Group, ItemPrompts, Writer, generate_replies, open_replies
from thinkgap.evaluation.predict import device_of
from thinkgap.evaluation.prepare import load_model
from thinkgap.prompts.build import PromptBuilder
from thinkgap.prompts.conditions import mode_conditions
from thinkgap.prompts.wordings import ComprehensionQuestion
from thinkgap.schema import EvaluateConfig
from thinkgap.scoring.decode import Decoder
from thinkgap.scoring.decode_check import choose_decoding
from thinkgap.scoring.reply import Reply
from thinkgap.scoring.stopping import stop_ids
from thinkgap.store.replies import ReplyStore
from thinkgap.types import Answered, Condition, Response, Thinking

log = logging.getLogger(__name__)

_TRIED = 2


@dataclass(frozen=True)
class Writing:
    """How a loaded model writes its replies."""

    writer: Writer
    store: ReplyStore
    """Finished replies."""
    describe_model: Callable[[], dict[str, Any]]
    """For the manifest."""


def local_responses(cfg: EvaluateConfig, folder: Path, loaded: Loaded, shown: ShownItems) -> Asked:
    """Ask every item of every data set under every mode.

    A mode that asks a model without a thinking switch to think is left out with a note. An item that cannot be shown
    under some mode is left out of all.

    Args:
        cfg: the settings.
        folder: of the run; gets replies where `evaluation.reuse=false`.
        loaded: the data sets.
        shown: how their items are shown.

    Raises:
        ThinkgapError: settings, data or a model that cannot be used.
    """
    backend = load_model(cfg)
    backend.to(device_of(cfg.trainer))
    _refuse_images(loaded, backend.fmt.is_vision, cfg.model.name)
    asked = cfg.evaluation.generation

    def writing(some: Sequence[Group]) -> Writing:
        method = choose_decoding(backend, some)
        decoder = Decoder(backend, asked.max_new_tokens, asked.batch_size, stop_ids(backend), method)
        return Writing(decoder, open_replies(replies_folder(cfg, folder), cfg.model.name, decoder), backend.describe)

    return ask_by(cfg, loaded, shown, backend.fmt, writing)


def replies_folder(cfg: EvaluateConfig, folder: Path) -> Path:
    """Where the replies of the run in `folder` are kept."""
    return Path(cfg.paths.cells_dir) if cfg.evaluation.reuse else folder / "replies"


def ask_by(
    cfg: EvaluateConfig,
    loaded: Loaded,
    shown: ShownItems,
    fmt: TextFormat,
    writing: Callable[[Sequence[Group]], Writing],
    *,
    room: int = 0,
) -> Asked:
    """Ask every item of every data set under every mode of a model that renders by `fmt`; see `local_responses`.

    Args:
        cfg: the settings.
        loaded: the data sets.
        shown: how their items are shown.
        fmt: the model's tokenizer and template.
        writing: given the prompts of a few items, says how replies are written.
        room: tokens of the context that a prompt has to leave for its reply.

    Raises:
        ThinkgapError: settings or data that cannot be used, or what the writer raises.
    """
    name = cfg.model.name

    def reason(condition: Condition) -> str:
        lacks = condition.thinking is Thinking.enabled and not fmt.can_think
        return f"{name} has no switch for its own thinking" if lacks else ""

    conditions, notes = available_modes(mode_conditions(cfg.mode), reason, name)
    questions = questions_of(cfg, conditions, shown)
    # Nothing is read at a label's token, so labels may be several tokens here.
    builder = PromptBuilder(fmt, conditions, system=cfg.prompt.system, reads_labels=False, room=room)
    check_own_texts(builder)
    groups = {dataset: ItemPrompts(items, builder) for dataset, items in shown.items()}
    some = [item for one in groups.values() for item in one.items][:_TRIED]
    how = writing([group for group in ItemPrompts(some, builder) if group])
    text_of = reply_decoder(fmt, how.writer.stop_ids)
    answered: list[Answered] = []
    excluded: dict[str, dict[str, str]] = {}
    n_long = 0
    for dataset, own in groups.items():
        replies = generate_replies(own, how.writer, how.store, shown=cfg.trainer.progress, description=dataset)
        for reply in (reply for group in replies for reply in group):
            answered.append(_answered(dataset, reply, text_of(reply.token_ids), name))
            n_long += len(reply.prompt.input_ids) + len(reply.token_ids) > fmt.max_length
        excluded[dataset] = {item: str(error) for item, error in own.excluded.items()}
        for item, error in excluded[dataset].items():
            log.warning("item %s of %s is left out: %s", item, dataset, error)
    n_items, n_excluded = (sum(map(len, found.values())) for found in (groups, excluded))
    if not answered:
        first = next(error for found in excluded.values() for error in found.values())
        raise DataError(f"all {n_items} items were left out, the first because of {first}")
    if n_excluded:
        notes.append(f"{n_excluded} of {n_items} items cannot be shown to this model; they are in the manifest.")
    if n_long:
        notes.append(
            f"{n_long} responses went on beyond the {fmt.max_length:,} tokens that this model takes: lower "
            "evaluation.generation.max_new_tokens."
        )
    exchanges, missing = exchanged(name, questions, _explained(questions, builder, how, text_of))
    notes += missing
    described = {
        "model": how.describe_model(),
        "datasets": describe_datasets(loaded),
        "excluded": excluded,
        "decoding": how.writer.describe(),
    }

    def count_tokens(text: str) -> int:
        return len(fmt.tokenizer(text, add_special_tokens=False)["input_ids"])

    return Asked(
        answered,
        tuple(one.name for one in conditions),
        tuple(notes),
        described,
        count_tokens,
        exchanges if cfg.evaluation.comprehension.enabled else None,
    )


def _explained(
    questions: Sequence[ComprehensionQuestion],
    builder: PromptBuilder,
    how: Writing,
    text_of: Callable[[Sequence[int]], str],
) -> list[Response | None]:
    """What the model says to each question of the comprehension check; None to one that cannot be shown to it."""
    found: dict[str, Response] = {}
    for condition in dict.fromkeys(one.condition for one in questions):
        own = ItemPrompts(
            [[one.presentation] for one in questions if one.condition == condition],
            replace(builder, conditions=[condition]),
        )
        for reply in (reply for group in generate_replies(own, how.writer, how.store, shown=False) for reply in group):
            model = builder.fmt.name
            found[reply.prompt.presentation.item.id] = _response(reply, text_of(reply.token_ids), model)
        for question, error in own.excluded.items():
            log.warning("%s of the comprehension check is left out: %s", question, error)
    return [found.get(one.id) for one in questions]


def _answered(dataset: str, reply: Reply, text: str, model: str) -> Answered:
    prompt = reply.prompt
    return answered_of(dataset, prompt.presentation, prompt.condition, _response(reply, text, model))


def _response(reply: Reply, text: str, model: str) -> Response:
    """A prefill is the prompt's, so the content begins after it."""
    return Response(
        content=text,
        finish_reason=reply.finish,
        prompt_tokens=len(reply.prompt.input_ids),
        completion_tokens=len(reply.token_ids),
        model=model,
    )


def _refuse_images(loaded: Loaded, is_vision: bool, model: str) -> None:
    for name, one in loaded.items():
        with_image = sum(bool(item.images) for item in one.items)
        if with_image and not is_vision:
            raise ConfigError(
                f"{with_image} of {len(one.items)} items of {name} have images and {model} reads text only: set "
                "dataset.images=none, or choose an image-text model"
            )
