"""The most probable token, again and again, for the rows of a cache until each has ended. Knows no group, no image."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from thinkgap.scoring.decode_cache import Continued
from thinkgap.scoring.readings import not_finite
from thinkgap.scoring.reply import Finish
from thinkgap.types import Prompt

# Rows that have ended are computed on until so large a share of all has, because dropping them copies the rest.
_DROPPED_AT = 1 / 4


@dataclass(frozen=True)
class Written:
    """What a row came to."""

    row: int
    tokens: tuple[int, ...]
    """Without the stop token."""
    finish: Finish
    first: int
    """The first token, also if it is a stop token."""


def write_greedily(
    rows: Continued, prompts: Sequence[Prompt], max_new_tokens: int, stop_ids: Collection[int]
) -> Iterator[Written]:
    """Each row's reply, as soon as it has ended.

    Args:
        rows: used up by this.
        prompts: one of each row, for messages.
        max_new_tokens: the length cap.
        stop_ids: tokens that end a row.

    Raises:
        ModelError: logits that are not finite.
    """
    written: list[list[int]] = [[] for _ in prompts]
    here = list(range(len(prompts)))
    """Numbers of the rows that are in the cache, some of them ended."""
    ended: set[int] = set()
    while True:
        tokens = _most_probable(rows.logits)
        for row, token in zip(here, tokens, strict=True):
            if row in ended:
                continue
            if token < 0:
                raise not_finite(prompts[row], f" after {len(written[row])} tokens of its reply")
            written[row].append(token)
            end = ending(written[row], max_new_tokens, stop_ids)
            if end is not None:
                ended.add(row)
                yield Written(row, *end, written[row][0])
        left = [place for place, row in enumerate(here) if row not in ended]
        if not left:
            return
        if len(left) <= (1 - _DROPPED_AT) * len(here):
            rows.keep(left)
            here, tokens = [here[place] for place in left], [tokens[place] for place in left]
        rows.step(tokens)


def ending(
    tokens: Sequence[int], max_new_tokens: int, stop_ids: Collection[int]
) -> tuple[tuple[int, ...], Finish] | None:
    """A reply without its stop token, and how it ends; None while it goes on. No token but the last may be a stop."""
    if tokens[-1] in stop_ids:
        return tuple(tokens[:-1]), "stop"
    return (tuple(tokens), "length") if len(tokens) == max_new_tokens else None


def _most_probable(logits: Tensor) -> list[int]:
    """Per row the most probable token, of equal ones the first; -1 where the logits are not finite."""
    tokens = logits.argmax(-1)
    # NaN and +inf are what argmax finds, so the row needs no look of its own.
    best = logits.gather(-1, tokens[:, None])[:, 0]
    return torch.where(best.isfinite(), tokens, -1).tolist()
