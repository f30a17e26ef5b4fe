"""`evaluation=prompts`: what would be sent under each condition, and where it would be read. Computes nothing.

Works for every model and data set: a local model's prompts are rendered with its own tokenizer or processor and no
weights are loaded; a served model's are shown as the request that would be sent.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from thinkgap.backends.served import build_request
from thinkgap.errors import ConfigError, LabelError, PromptError
from thinkgap.evaluation.messages import messages_of
from thinkgap.evaluation.presentations import presentations_of
from thinkgap.evaluation.variants import load_items
from thinkgap.presentation_names import IDENTITY
from thinkgap.prompts.build import PromptBuilder
from thinkgap.prompts.conditions import all_conditions
from thinkgap.schema import BackendKind, EvaluateConfig
from thinkgap.tracking.console import setup_logging
from thinkgap.types import Condition, Placement, Presentation, Prompt, Thinking


def show_prompts(cfg: EvaluateConfig) -> None:
    """Print the prompts of the first `evaluation.items` items.

    Raises:
        ThinkgapError: bad settings, data or model.
    """
    setup_logging()
    if cfg.evaluation.items < 1:
        raise ConfigError(f"evaluation.items={cfg.evaluation.items}: must be at least 1")
    conditions = all_conditions(cfg.trigger, cfg.mode, cfg.prompt)
    items = load_items(cfg, cfg.dataset).items[: cfg.evaluation.items]
    presentations = [one for item in presentations_of(cfg, items, reads_labels=False).items for one in item]
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
            prompts, unread = _prompts(builder, presentation)
        except PromptError as error:
            yield f"=== {presentation.item.id}\n    excluded: {error}\n"
            continue
        for prompt in prompts:
            labels = {
                label: {token: fmt.tokenizer.decode([token]) for token in ids}
                for label, ids in zip(presentation.labels, prompt.label_ids, strict=False)
            }
            images = f", {prompt.n_image_tokens} of them image tokens" if prompt.images else ""
            yield (
                f"{_head(presentation, prompt.condition)}\n{prompt.text}◀ read here\n"
                f"--- {len(prompt.input_ids)} tokens{images}; label tokens {labels or unread}\n"
            )


def _prompts(builder: PromptBuilder, presentation: Presentation) -> tuple[list[Prompt], str]:
    """Prompts under all conditions, and why they have no label tokens, if they have none."""
    try:
        return [one.prompt for one in builder.build(presentation)], "none (open question)"
    except LabelError as error:
        plain = replace(builder, reads_labels=False)
        return [one.prompt for one in plain.build(presentation)], f"none ({error})"


def _request(cfg: EvaluateConfig, presentation: Presentation, condition: Condition) -> str:
    head = _head(presentation, condition)
    try:
        if condition.placement is Placement.prompt_end:
            raise ConfigError("a request cannot end inside the user's turn")
        messages, prefill = messages_of(presentation, condition, cfg.prompt.system, cfg.prompt.instruction)
        limit = cfg.evaluation.generation.max_new_tokens
        request = build_request(cfg.model, messages, condition.thinking, max_new_tokens=limit, prefill=prefill)
    except (ConfigError, PromptError) as error:
        return f"{head}\n--- unavailable: {cfg.model.name} is served, and {error}\n"
    omitted = f"\n--- not sent, as its profile says: {', '.join(request.omitted)}" if request.omitted else ""
    body = json.dumps(_without_data(request.body()), indent=2, ensure_ascii=False)
    return f"{head}\n{request.url}\n{body}{omitted}\n"


def _without_data(value: Any) -> Any:
    """A request's body with images shortened to what they are."""
    if isinstance(value, dict):
        return {key: _without_data(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_data(inner) for inner in value]
    is_data = isinstance(value, str) and value.startswith("data:image/")
    return f"{value.partition(',')[0]},... ({len(value):,} characters)" if is_data else value


def _head(presentation: Presentation, condition: Condition) -> str:
    how = "" if presentation.name == IDENTITY else f" as {presentation.name}"
    return f"=== {presentation.item.id}{how} | {condition.name} ({condition.kind}, requests {condition.requests.name})"
