"""`estimate=true` for a local model: what a run would take, as a table. Loads no weights and computes nothing of it."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from thinkgap.backends.load import checkpoint_of, read_format
from thinkgap.data.sample import stratified_sample
from thinkgap.errors import ConfigError, DataError, PromptError
from thinkgap.evaluation.asking import available_modes, load_datasets, shown_of
from thinkgap.evaluation.predict import quiet_libraries
from thinkgap.evaluation.presentations import presentations_of, without_unread
from thinkgap.evaluation.variants import load_items
from thinkgap.planning.cost import Cost, scoring_cost, writing_cost
from thinkgap.planning.devices import HERE, Device, device_of
from thinkgap.planning.shape import Shape, shape_of
from thinkgap.planning.work import Work, work_of
from thinkgap.prompts.build import PromptBuilder
from thinkgap.prompts.conditions import all_conditions, mode_conditions
from thinkgap.readouts.sheet import Column, Sheet, sheet_markdown
from thinkgap.schema import EvaluateConfig, EvaluationKind, Scoring
from thinkgap.scoring.engine import tokens_per_pass
from thinkgap.types import Condition, Presentation, Thinking

log = logging.getLogger(__name__)

_STATE_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(frozen=True)
class Planned:
    """What a run would take."""

    work: Work
    shape: Shape
    device: Device
    cost: Cost
    items: int
    sampled: int
    """Items whose prompts were counted."""
    notes: tuple[str, ...]


def print_estimate(cfg: EvaluateConfig) -> Sheet:
    """Estimate, print, and return the table; see `estimated`."""
    sheet = estimate_sheet(cfg, estimated(cfg))
    print(sheet_markdown(sheet))
    return sheet


def estimated(cfg: EvaluateConfig) -> Planned:
    """What the run of `cfg` would take.

    Raises:
        ConfigError: settings that no run takes, or an unknown device.
        DataError: no item, or none that can be shown to the model.
        ModelError: no tokenizer or configuration at `model.path`.
    """
    quiet_libraries()
    asked = cfg.evaluation.estimating
    if asked.items < 1 or asked.devices < 1:
        raise ConfigError("evaluation.estimating.items and .devices must be at least 1")
    checkpoint = checkpoint_of(cfg.model, cfg.paths.cache_dir)
    fmt = read_format(cfg.model, checkpoint, cfg.prompt)
    shape = shape_of(cfg.model, checkpoint, is_vision=fmt.is_vision)
    device = device_of(asked.device, shape.width, asked.price)
    replies = cfg.evaluation.kind is EvaluationKind.no_thinking
    conditions = _modes(cfg, fmt.can_think) if replies else all_conditions(cfg.trigger, cfg.mode, cfg.prompt)
    builder = PromptBuilder(
        fmt,
        conditions,
        cfg.labels,
        cfg.label_ids,
        "" if replies else cfg.prompt.instruction,
        cfg.prompt.system,
        reads_labels=not replies,
    )
    if replies:
        shown = [item for own in shown_of(cfg, load_datasets(cfg)).values() for item in own]
    else:
        shown, _ = without_unread(builder, presentations_of(cfg, load_items(cfg, cfg.dataset).items))
    work, sampled = _counted(shown, builder, asked.items, cfg.seed)
    cost, notes = (_replies if replies else _readouts)(cfg, shape, work, device, shown)
    return Planned(work, shape, device, cost, len(shown), sampled, tuple(notes))


def _modes(cfg: EvaluateConfig, can_think: bool) -> list[Condition]:
    def reason(condition: Condition) -> str:
        lacks = condition.thinking is Thinking.enabled and not can_think
        return "it has no switch for its own thinking" if lacks else ""

    conditions, _ = available_modes(mode_conditions(cfg.mode), reason, cfg.model.name)
    return conditions


def _counted(shown: list[list[Presentation]], builder: PromptBuilder, most: int, seed: int) -> tuple[Work, int]:
    """The work of all items, from a seeded sample of them."""
    by_id = {item[0].item.id: item for item in shown}
    chosen = stratified_sample([item[0].item for item in shown], min(most, len(shown)), seed)
    built = []
    for item in (by_id[one.id] for one in chosen):
        try:
            built.append([prompt for one in item for prompt in builder.build(one)])
        except PromptError as error:
            log.info("item %s is not counted: %s", item[0].item.id, error)
    if not built:
        raise DataError(f"none of {len(chosen)} items can be shown to {builder.fmt.name}")
    return work_of(builder.fmt, built).times(len(shown) / len(built)), len(built)  # pyright: ignore[reportArgumentType]


def _readouts(
    cfg: EvaluateConfig, shape: Shape, work: Work, device: Device, shown: list[list[Presentation]]
) -> tuple[Cost, list[str]]:
    asked = cfg.evaluation
    states = 0
    if asked.capture.enabled:
        layers = shape.n_layers if asked.capture.layers is None else len(asked.capture.layers)
        states = layers + asked.capture.embeddings + asked.capture.final_norm
    own = 4 if device.name == HERE else 2
    cost = scoring_cost(
        shape,
        work,
        device,
        shared=cfg.scoring is not Scoring.plain,
        batch_tokens=asked.batch_tokens or tokens_per_pass(device.name != HERE),
        lens_prompts=work.prompts * len(shown) / max(1, sum(map(len, shown))) if asked.lens else 0.0,
        states=states,
        state_bytes=_STATE_BYTES.get(asked.capture.dtype.name, own),
    )
    notes = []
    if asked.generation.enabled:
        part = work.times(len(shown) / max(1, sum(map(len, shown))))
        new = cfg.evaluation.estimating.new_tokens or asked.generation.max_new_tokens
        cost += writing_cost(shape, part, device, new_tokens=new, batch_size=asked.generation.batch_size)
        notes.append(_on_replies(cfg, asked.generation.max_new_tokens))
    if asked.likelihood.enabled:
        notes.append("Option likelihoods are not counted: each option adds its own tokens after the shared prompt.")
    return cost, notes


def _replies(
    cfg: EvaluateConfig, shape: Shape, work: Work, device: Device, shown: list[list[Presentation]]
) -> tuple[Cost, list[str]]:
    del shown
    asked = cfg.evaluation.generation
    new = cfg.evaluation.estimating.new_tokens or asked.max_new_tokens
    cost = writing_cost(shape, work, device, new_tokens=new, batch_size=asked.batch_size)
    return cost, [_on_replies(cfg, asked.max_new_tokens), "Encoders and judges are not counted."]


def _on_replies(cfg: EvaluateConfig, most: int) -> str:
    new = cfg.evaluation.estimating.new_tokens
    if new is None:
        return f"Every reply is taken to run to its limit of {most:,} tokens (evaluation.estimating.new_tokens=N)."
    return f"Replies of {new:,} tokens on average, as evaluation.estimating.new_tokens says; the limit is {most:,}."


def estimate_sheet(cfg: EvaluateConfig, planned: Planned) -> Sheet:
    """The estimate as a table of names and values."""
    work, device, cost = planned.work, planned.device, planned.cost
    devices = cfg.evaluation.estimating.devices
    hours = cost.seconds / 3600
    fits = "fits" if cost.memory < 0.9 * device.memory else "does not fit: model.device_map=auto, or a larger device"
    rows = (
        ("items", f"{planned.items:,}"),
        ("prompts", f"{work.prompts:,.0f}"),
        ("tokens of all prompts", f"{work.tokens:,.0f}"),
        ("tokens to compute", f"{work.distinct if cfg.scoring is not Scoring.plain else work.tokens:,.0f}"),
        ("images to encode", f"{work.images:,.0f}"),
        ("operations", f"{cost.flops:.2e}"),
        ("weights", f"{planned.shape.total:,}"),
        ("memory of a device", f"{cost.memory / 1e9:.1f} GB of {device.memory / 1e9:.0f} GB ({fits})"),
        ("storage", f"{cost.stored / 1e9:.3f} GB"),
        (f"hours on one {device.name}", f"{hours:.3g}"),
        *([(f"hours on {devices}", f"{hours / devices:.3g}")] if devices > 1 else []),
        ("price", f"{hours * device.price:.2f}" if device.price else "unknown: evaluation.estimating.price"),
    )
    notes = (
        f"Prompts are counted on {planned.sampled:,} of {planned.items:,} items. Loading the model is not counted.",
        f"{device.name}: {100 * device.scoring:.0f} % of its best rate for prompts, {100 * device.decoding:.0f} % of "
        "its memory's for replies; docs/scaling.md has the formulas and their measured error.",
        *planned.notes,
    )
    columns = (Column("what", "what", "text"), Column("value", "value", "text"))
    return Sheet("estimate", f"What {cfg.model.name} would take", columns, rows, notes)
