"""What a run says of itself: its conditions with their read positions and label ids, its fingerprint, its title."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import Any

import thinkgap
from thinkgap.errors import ConfigError, DataError, PromptError
from thinkgap.prompts.build import PromptBuilder
from thinkgap.schema import EvaluateConfig, LabelScope, LabelVariant, StateDtype
from thinkgap.scoring.scorer import Scorer
from thinkgap.store.manifest import versions_of
from thinkgap.types import Condition, Presentation, Thinking

_SHOWN = 600


def describe_conditions(builder: PromptBuilder, presentations: Sequence[Presentation]) -> list[dict[str, Any]]:
    """Per condition: its text, the end of a rendered prompt, and the label ids that are read and that are natural.

    Looked at on one presentation for each set of labels, before any forward pass, so that labels which cannot be
    read stop the run at once.

    Raises:
        LabelError: labels that cannot be read as one token each.
    """
    check_own_texts(builder)
    found = examples(builder, presentations)
    longest = max(found, key=lambda presentation: presentation.k)
    described = []
    direct = builder.conditions[0]
    for condition in builder.conditions:
        text, _ = builder.text(longest, condition)
        read = {}
        natural_ids = {}
        for example in found:
            own_text, _ = builder.text(example, condition)
            direct_text, _ = builder.text(example, direct)
            ids = builder.read_ids(example, condition, own_text, direct_text)
            read |= dict(zip(example.labels, map(list, ids), strict=True))
            own = builder.natural_ids(example, condition, own_text)
            natural_ids |= dict(zip(example.labels, map(list, own), strict=True))
        described.append(
            {
                "name": condition.name,
                "kind": condition.kind,
                "requests": condition.requests.name,
                "text": condition.text,
                "placement": condition.placement.name,
                "thinking": condition.thinking.name,
                "natural_variant": builder.natural(condition).name,
                "label_ids": read,
                "natural_label_ids": natural_ids,
                "example_prompt_end": text[-_SHOWN:],
                "example_prompt_sha256": hashlib.sha256(text.encode()).hexdigest(),
            }
        )
    return described


def check_own_texts(builder: PromptBuilder) -> None:
    """Texts of the settings, unlike an item's, may not exclude items: they are refused."""
    for condition in builder.conditions:
        for text in (condition.text, condition.user_suffix, condition.prefill, condition.soft_switch):
            refuse_control(builder, text, f"condition {condition.name}")
        if condition.thinking is Thinking.enabled and not builder.fmt.can_think:
            raise ConfigError(
                f"condition {condition.name} asks for thinking, and {builder.fmt.name} has no switch for it: leave the "
                "condition out, or describe the switch in model.thinking"
            )
    refuse_control(builder, builder.system or "", "prompt.system")
    refuse_control(builder, builder.instruction, "prompt.instruction")


def refuse_control(builder: PromptBuilder, text: str, what: str) -> None:
    """Refuse a text of the settings that spells out a control token.

    Args:
        builder: for the model's tokens.
        text: the setting.
        what: its name.

    Raises:
        ConfigError: it does.
    """
    control = builder.fmt.control_token_in(text)
    if control is not None:
        raise ConfigError(f"{what}: its text contains {control!r}, a control token of {builder.fmt.name}; take it out")


def examples(builder: PromptBuilder, presentations: Sequence[Presentation]) -> list[Presentation]:
    """For each set of labels the first presentation that can be rendered under every condition.

    Raises:
        DataError: no presentation at all can be.
    """
    found: dict[tuple[str, ...], Presentation] = {}
    failure: PromptError | None = None
    for presentation in presentations:
        if presentation.labels in found:
            continue
        try:
            for condition in builder.conditions:
                builder.text(presentation, condition)
        except PromptError as error:
            failure = failure or PromptError(f"item {presentation.item.id}: {error}", error.kind)
            continue
        found[presentation.labels] = presentation
    if not found and failure is not None:
        n_items = len({presentation.item.id for presentation in presentations})
        raise DataError(f"all {n_items} items were excluded, the first because of {failure}")
    return list(found.values())


def label_warnings(described: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence for each condition whose natural label tokens are not the ones that are read."""
    warnings = []
    direct = described[0]["label_ids"]
    if len({len(ids) for ids in direct.values()}) > 1:
        warnings.append(f"labels are sums over unequal numbers of tokens, which favours those with more: {direct}")
    alike: dict[str, list[str]] = {}
    for condition in described:
        read, natural = condition["label_ids"], condition["natural_label_ids"]
        differing = [label for label in read if natural[label] and not set(natural[label]) <= set(read[label])]
        if differing:
            label = differing[0]
            what = (
                f"reads {label!r} as {read[label]} where {natural[label]} ({condition['natural_variant']}) is natural"
            )
            alike.setdefault(what, []).append(condition["name"])
    for what, names in alike.items():
        warnings.append(
            f"label tokens: {', '.join(names)} {what}. All conditions read the same ids so that they stay comparable; "
            "labels=both sums the two, label_ids=natural reads each condition's own"
        )
    return warnings


def run_fingerprint(
    cfg: EvaluateConfig,
    model: Mapping[str, Any],
    presentations: Sequence[Presentation],
    conditions: Sequence[Condition],
    described: Sequence[Mapping[str, Any]],
    engine: Scorer,
) -> dict[str, Any]:
    """Everything that the records of a run depend on, as JSON data.

    Args:
        cfg: the settings.
        model: `HFBackend.describe()`.
        presentations: what is asked.
        conditions: what is added to it.
        described: `describe_conditions`, for the rendered prompts and the label ids.
        engine: for the way of scoring and the size of its passes.
    """
    asked = [
        (one.item.id, one.item.group_id, one.name, one.order, one.labels, one.item.question, one.item.choices,
         one.item.context, [image.sha256 for image in one.item.images], one.item.gold)
        for one in sorted(presentations, key=lambda one: (one.item.id, one.name))
    ]  # fmt: skip
    return {
        "model": {key: value for key, value in model.items() if key != "structure_check_error"},
        "items": _digest(asked),
        "n_items": len(presentations),
        "conditions": {condition.name: _json(asdict(condition)) for condition in conditions},
        "prompt": _json(asdict(cfg.prompt)),
        "labels": cfg.labels.name,
        "label_ids": cfg.label_ids.name,
        "scoring": engine.choice.method.name,
        "pass": engine.pass_size,
        "reads": {
            "top_k": engine.options.top_k,
            "lens": engine.lens,
            "states": engine.state_names,
            # Rows that are done are not captured again, so their states must be where and as the others will be.
            "state_dtype": state_dtype(cfg, engine) if engine.state_names else None,
            "cells_dir": cfg.paths.cells_dir if engine.state_names else None,
            "reasoning_tokens": None if engine.options.reasoning is None else asdict(engine.options.reasoning),
            "likelihood": _json(asdict(cfg.evaluation.likelihood)),
            "generation": _json(asdict(cfg.evaluation.generation)),
        },
        "prompts": {one["name"]: one["example_prompt_sha256"] for one in described},
        "label_token_ids": {one["name"]: _digest(one["label_ids"]) for one in described},
        "seed": cfg.seed,
        "code": code_digest(),
        "libraries": versions_of("torch", "torchvision", "transformers", "tokenizers", "pillow"),
    }


def state_dtype(cfg: EvaluateConfig, engine: Scorer) -> str:
    """Number type of states on disk: as asked, or the model's own."""
    asked = cfg.evaluation.capture.dtype
    if asked is not StateDtype.auto:
        return asked.name
    # Where nothing is kept, the type is no one's.
    return engine.backend.describe()["dtype"] if engine.state_names else "float32"


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def code_digest(*folders: str) -> str:
    """Digest of the package's own sources, or of some of its folders: results of two versions must not be mixed."""
    digest = hashlib.sha256()
    root = Path(thinkgap.__file__).parent
    for file in sorted(file for folder in folders or (".",) for file in (root / folder).rglob("*.py")):
        digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def run_title(cfg: EvaluateConfig, n_items: int, natural: str) -> str:
    """Heading of the run's table; `natural` is the label variant that `labels=auto` came to."""
    labels = f"{natural} (auto)" if cfg.labels is LabelVariant.auto else cfg.labels.name
    if cfg.label_ids is LabelScope.natural:
        labels += " for direct, each condition its own"
    images = "" if cfg.dataset.images.name == "any" else f", images={cfg.dataset.images.name}"
    model = cfg.model.name
    if cfg.model.random_weights is not None:
        model += f" with random weights (seed {cfg.model.random_weights})"
    return (
        f"{model} on {cfg.dataset.name} ({cfg.dataset.split}{images}), {n_items:,} items, "
        f"placement={cfg.trigger.placement.name}, labels={labels}"
    )


def _json(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, Mapping):
        return {str(key): _json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_json(inner) for inner in value]
    return value
