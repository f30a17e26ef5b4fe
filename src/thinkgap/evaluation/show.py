"""`evaluation=prompts`: what would be sent under each condition, and where it would be read. Computes nothing.

Works for every model and data set: a local model's prompts are rendered with its own tokenizer or processor and no
weights are loaded; a served model's are shown as the messages and thinking fields of its request.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from thinkgap.data import load_dataset_items
from thinkgap.data.present import identity
from thinkgap.errors import ConfigError, PromptError
from thinkgap.prompts.assemble import assemble
from thinkgap.prompts.build import PromptBuilder
from thinkgap.prompts.conditions import all_conditions
from thinkgap.schema import BackendKind, EvaluateConfig, ModelConfig, ServedApi
from thinkgap.tracking.console import setup_logging
from thinkgap.types import Condition, Placement, Presentation, Thinking


def show_prompts(cfg: EvaluateConfig) -> None:
    """Print the prompts of the first `evaluation.items` items.

    Raises:
        ThinkgapError: bad settings, data or model.
    """
    setup_logging()
    if cfg.evaluation.items < 1:
        raise ConfigError(f"evaluation.items={cfg.evaluation.items}: must be at least 1")
    conditions = all_conditions(cfg.trigger, cfg.mode, cfg.prompt)
    items = load_dataset_items(cfg.dataset).items[: cfg.evaluation.items]
    presentations = [identity(item) for item in items]
    if cfg.model.backend is BackendKind.api:
        blocks = (_request(cfg, presentation, one) for presentation in presentations for one in conditions)
    else:
        blocks = _rendered(cfg, presentations, conditions)
    for block in blocks:
        print(block)


def _rendered(cfg: EvaluateConfig, presentations: list[Presentation], conditions: list[Condition]) -> Iterator[str]:
    from thinkgap.backends.load import load_format

    fmt = load_format(cfg.model, cfg.prompt, cfg.paths.cache_dir)
    for condition in conditions:
        if condition.thinking is Thinking.enabled and not fmt.can_think:
            yield f"=== {condition.name}: unavailable, {fmt.name} has no switch for its own thinking\n"
    conditions = [one for one in conditions if one.thinking is not Thinking.enabled or fmt.can_think]
    builder = PromptBuilder(fmt, conditions, cfg.labels, cfg.label_ids, cfg.prompt.instruction, cfg.prompt.system)
    for presentation in presentations:
        try:
            prompts = [prepared.prompt for prepared in builder.build(presentation)]
        except PromptError as error:
            yield f"=== {presentation.item.id}\n    excluded: {error}\n"
            continue
        for prompt in prompts:
            labels = {
                label: {token: fmt.tokenizer.decode([token]) for token in ids}
                for label, ids in zip(presentation.labels, prompt.label_ids, strict=True)
            }
            images = f", {prompt.n_image_tokens} of them image tokens" if prompt.images else ""
            yield (
                f"{_head(presentation, prompt.condition)}\n{prompt.text}◀ read here\n"
                f"--- {len(prompt.input_ids)} tokens{images}; label tokens {labels or 'none (open question)'}\n"
            )


def _request(cfg: EvaluateConfig, presentation: Presentation, condition: Condition) -> str:
    turns = assemble(presentation, condition, cfg.prompt.instruction)
    messages: list[dict[str, Any]] = [{"role": "user", "content": turns.user}]
    if cfg.prompt.system is not None:
        messages.insert(0, {"role": "system", "content": cfg.prompt.system})
    if turns.prefill or condition.placement is Placement.prompt_end:
        return (
            f"{_head(presentation, condition)}\n--- unavailable: {cfg.model.name} is served, and a request cannot end "
            "inside a turn\n"
        )
    field = "input" if cfg.model.served.api is ServedApi.responses else "messages"
    request = {"model": cfg.model.path, field: messages, **_thinking_fields(cfg.model, condition)}
    images = f"\n--- {len(presentation.item.images)} image(s) go with it" if presentation.item.images else ""
    return f"{_head(presentation, condition)}\n{json.dumps(request, indent=2, ensure_ascii=False)}{images}\n"


def _thinking_fields(model: ModelConfig, condition: Condition) -> dict[str, Any]:
    if condition.thinking is Thinking.default:
        return {}
    fields = model.thinking.enabled if condition.thinking is Thinking.enabled else model.thinking.disabled
    if not fields:
        raise ConfigError(
            f"model={model.name} has no setting for thinking {condition.thinking.name}: add model.thinking."
            f"{condition.thinking.name}, or drop condition {condition.name}"
        )
    return dict(fields)


def _head(presentation: Presentation, condition: Condition) -> str:
    return f"=== {presentation.item.id} | {condition.name} ({condition.kind}, requests {condition.requests.name})"
