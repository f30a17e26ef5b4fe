"""Option strings: their tokens at the read position, and the prompts from which the likelihood of each is read.

log p(option | prompt) is the sum over the option's tokens of log p(token | prompt, tokens before it). Each distinct
proper prefix of the options' tokens is one prompt whose label ids are the tokens that may come next, so whatever reads
labels reads option strings too. No end-of-string token is scored: an option that opens another one competes with its
own tokens only. Knows no model and no score.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from thinkgap.data.checks import PLACEHOLDER
from thinkgap.errors import PromptError
from thinkgap.prompts.assemble import assemble_premise, option_lines
from thinkgap.prompts.build import PreparedPrompt, PromptBuilder, digest
from thinkgap.prompts.extend import extend
from thinkgap.prompts.labels import LabelVariant, continuation
from thinkgap.prompts.render import render
from thinkgap.schema import OptionForm
from thinkgap.types import Condition, Presentation, Prompt, Reading


@dataclass(frozen=True)
class OptionString:
    """What stands for an option: its text, and the token ids that are scored in every condition."""

    text: str
    """Without the blank that joins it to the prompt."""
    ids: tuple[int, ...]

    @property
    def n_bytes(self) -> int:
        """Length of the text in UTF-8."""
        return len(self.text.encode())


def option_strings(
    builder: PromptBuilder, presentation: Presentation, form: OptionForm = OptionForm.text
) -> tuple[OptionString, ...]:
    """The string of every slot, as a fluent continuation of Direct's prompt would write it.

    Whether a blank joins it to the prompt is decided as for labels (`natural_variant`) and for Direct alone: another
    blank under a trigger would be another string (EleutherAI/lm-evaluation-harness#3508). Yes/no items have one form.

    Args:
        builder: whose first condition is Direct.
        presentation: the item as shown.
        form: the option's text, or its line with the label.

    Raises:
        PromptError: an option that is an image, is empty, or has no tokens of its own.
    """
    direct = builder.conditions[0]
    prompt_text, _ = builder.text(presentation, direct)
    joiner = " " if builder.natural(direct) is LabelVariant.spaced else ""
    lines = option_lines(presentation) if form is OptionForm.labelled else []
    strings = []
    for label, content, text in zip(
        presentation.labels, presentation.contents, lines or presentation.contents, strict=True
    ):
        where = f"item {presentation.item.id}: option {label}"
        if PLACEHOLDER.search(content):
            raise PromptError(f"{where} ({content!r}) is an image, which has no likelihood", kind="option is an image")
        if not content.strip():
            raise PromptError(f"{where} is empty, so it has no likelihood", kind="option without text")
        ids = continuation(builder.fmt.tokenize, prompt_text, joiner + text)
        if not ids:
            raise PromptError(
                f"{where} ({text!r}) has no tokens of its own after the prompt of {builder.fmt.name}: "
                "leave out the likelihood readout (evaluation.likelihood.enabled=false) or the item",
                kind="option without tokens of its own",
            )
        strings.append(OptionString(text, ids))
    return tuple(strings)


def premise_prompt(
    builder: PromptBuilder, presentation: Presentation, condition: Condition, premise: str
) -> PreparedPrompt:
    """The prompt of `condition` with `premise` in place of the item: no question, options or images.

    Raises:
        PromptError: the template does not show the premise.
    """
    item = replace(presentation.item, images=(), gold=None)
    turns = assemble_premise(presentation, condition, premise)
    text = render(builder.fmt, item, turns, condition, builder.system)
    encoded = builder.fmt.encode(text, ())
    prompt = Prompt(replace(presentation, item=item), condition, text, encoded.input_ids, ())
    return PreparedPrompt(replace(prompt, sha256=digest(prompt)), encoded.tensors)


def require_room(prepared: PreparedPrompt, strings: Sequence[OptionString], max_length: int) -> None:
    """Refuse strings that end beyond the context.

    Raises:
        PromptError: prompt and longest string together have more tokens than the model takes.
    """
    prompt = prepared.prompt
    length = len(prompt.input_ids) + max(len(string.ids) for string in strings)
    if length > max_length:
        raise PromptError(
            f"item {prompt.presentation.item.id}: its prompt under '{prompt.condition.name}' and its longest option "
            f"have {length} tokens and the model takes {max_length} (never truncated; model.max_length sets the bound)",
            kind="prompt and option longer than the context",
        )


def expand(prepared: PreparedPrompt, option_ids: Sequence[Sequence[int]]) -> list[PreparedPrompt]:
    """One prompt per distinct proper prefix of the options' tokens; the first is that of the empty prefix.

    Its label ids are the tokens that come next in some option, one "slot" each, and its item has no gold: there is no
    right label among them whose rank could be read. Equal options, and equal beginnings, are there once.

    Args:
        prepared: the prompt that the options continue.
        option_ids: per option, its token ids, at least one.
    """
    following: dict[tuple[int, ...], dict[int, None]] = {}
    for option in option_ids:
        ids = tuple(option)
        for end, token in enumerate(ids):
            following.setdefault(ids[:end], {})[token] = None
    prompt = prepared.prompt
    item = replace(prompt.presentation.item, gold=None)
    start = replace(prepared, prompt=replace(prompt, presentation=replace(prompt.presentation, item=item)))
    return [extend(start, prefix, [(token,) for token in tokens]) for prefix, tokens in following.items()]


def collect(
    prompts: Sequence[Prompt], readings: Sequence[Reading], option_ids: Sequence[Sequence[int]]
) -> tuple[float, ...]:
    """Log-likelihood of each option in nats, from the readings of what `expand` made.

    Args:
        prompts: `expand`'s, in its order.
        readings: what was read of each.
        option_ids: as given to `expand`.
    """
    start = len(prompts[0].input_ids)
    known = {
        (prompt.input_ids[start:], token): logprob
        for prompt, reading in zip(prompts, readings, strict=True)
        for (token,), logprob in zip(prompt.label_ids, reading.label_logprobs, strict=True)
    }
    sums = []
    for option in option_ids:
        ids = tuple(option)
        sums.append(math.fsum(known[ids[:end], token] for end, token in enumerate(ids)))
    return tuple(sums)
