"""Next-token logits -> `Reading`s. Knows no model and no file.

The softmax is float32 whatever the model's dtype, and every mass is over the full vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from thinkgap.errors import NotFiniteError
from thinkgap.scoring.vocabulary import ReasoningTokens
from thinkgap.types import Prompt, Reading

# Its exponential is 0 in float32.
_LEAST = -1e4


@dataclass(frozen=True)
class ReadOptions:
    """What to read beside the labels."""

    reasoning: ReasoningTokens | None = None
    top_k: int = 0


def read_labels(logits: Tensor, prompts: Sequence[Prompt], options: ReadOptions | None = None) -> list[Reading]:
    """Label log-probabilities and mass, ranks, entropy and further masses.

    Args:
        logits: `[B, V]`, one row per prompt, at its read position.
        prompts: `B` prompts; a label's probability is the sum over its token ids (study A, table 3: the answer
            mass sums these over labels and is not renormalised).
        options: what else to read.

    Raises:
        ModelError: a row holds NaN or +inf, naming its item and condition.
    """
    options = options or ReadOptions()
    logprobs = torch.log_softmax(logits.float(), dim=-1)
    top_logprobs, top_ids = logprobs.max(dim=-1)
    bad = first_bad_row(top_logprobs)
    if bad is not None:
        raise not_finite(prompts[bad])
    labels, best = _labels(logprobs, prompts)
    gold = [prompt.presentation.gold_slot if prompt.presentation.item.gold is not None else 0 for prompt in prompts]
    ranks = (logprobs > _pick(best, gold)[:, None]).sum(-1) + 1
    probabilities = logprobs.exp()
    masses = {}
    for name, ids in _sets(options.reasoning).items():
        masses[name] = probabilities[:, list(ids)].sum(-1).tolist()
    # A token that cannot come adds nothing; torch.special.entr would take every logarithm again.
    entropies = (-(probabilities * logprobs.clamp(min=_LEAST)).sum(-1)).tolist()
    tops = logprobs.topk(min(options.top_k, logprobs.shape[-1]), dim=-1) if options.top_k else None
    # One transfer per figure, not one per prompt: each would wait for the accelerator.
    values, ids, firsts, rank_list = labels.tolist(), top_ids.tolist(), top_logprobs.tolist(), ranks.tolist()
    sums = labels.exp().nansum(-1).tolist() if labels.shape[1] else [0.0] * len(prompts)
    top_values, top_tokens = (tops.values.tolist(), tops.indices.tolist()) if tops is not None else ([], [])
    return [
        Reading(
            label_logprobs=tuple(values[row][: len(prompt.label_ids)]),
            label_mass=sums[row],
            top_token_id=ids[row],
            top_logprob=firsts[row],
            entropy=entropies[row],
            gold_rank=rank_list[row] if prompt.label_ids and prompt.presentation.item.gold is not None else None,
            reasoning_mass=masses["all"][row] if masses else None,
            reasoning_mass_strict=masses["strict"][row] if masses else None,
            top_tokens=tuple(zip(top_tokens[row], top_values[row], strict=True)) if tops is not None else (),
        )
        for row, prompt in enumerate(prompts)
    ]


def first_bad_row(logits: Tensor) -> int | None:
    """Number of the first row that holds NaN or +inf; -inf is a token that cannot come."""
    bad = (torch.isnan(logits) | torch.isposinf(logits)).reshape(len(logits), -1).any(-1)
    return int(bad.int().argmax()) if bool(bad.any()) else None


def not_finite(prompt: Prompt, where: str = "") -> NotFiniteError:
    """The error for logits that are not finite; `where` says in which layer that began."""
    return NotFiniteError(
        f"item {prompt.presentation.item.id}, condition {prompt.condition.name}: the model's logits are not "
        f"finite{where}; try model.dtype=float32 or model.attn_implementation=eager"
    )


def _labels(logprobs: Tensor, prompts: Sequence[Prompt]) -> tuple[Tensor, Tensor]:
    """`[B, K]` log of the summed probability of each label's tokens, and of the best of them; absent slots -inf."""
    slots = max(len(prompt.label_ids) for prompt in prompts)
    variants = max((len(ids) for prompt in prompts for ids in prompt.label_ids), default=0)
    table = torch.full((len(prompts), slots, variants), -1)
    for row, prompt in enumerate(prompts):
        for slot, ids in enumerate(prompt.label_ids):
            table[row, slot, : len(ids)] = torch.tensor(ids)
    table = table.to(logprobs.device)
    if table.numel() == 0:
        empty = logprobs.new_full((len(prompts), slots), float("-inf"))
        return empty, empty
    found = logprobs.gather(1, table.clamp(min=0).flatten(1)).view(table.shape)
    found = found.masked_fill(table < 0, float("-inf"))
    return torch.logsumexp(found, dim=-1), found.amax(dim=-1)


def _pick(table: Tensor, columns: Sequence[int]) -> Tensor:
    if table.shape[1] == 0:
        return table.new_zeros(len(table))
    return table.gather(1, torch.tensor(columns, device=table.device)[:, None])[:, 0]


def _sets(reasoning: ReasoningTokens | None) -> dict[str, tuple[int, ...]]:
    return {} if reasoning is None else {"all": reasoning.all, "strict": reasoning.strict}
