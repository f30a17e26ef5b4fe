"""Greedy replies to prompts as text, and the letter that a reply of the demo model settles on.

It knows no data set and no table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from thinkgap.backends.hf import HFBackend
from thinkgap.evaluation.generate import generate_replies
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.scoring.decode import Decoder
from thinkgap.scoring.decode_check import choose_decoding
from thinkgap.scoring.stopping import stop_ids

_TOGETHER = 64
_ENDING = re.compile(r"\banswer is ([A-Z])\b")
_ALONE = re.compile(r"([A-Z])\W*")


def continuations(
    backend: HFBackend, prompts: Sequence[PreparedPrompt], most_tokens: int, *, shown: bool = False
) -> list[str]:
    """The greedy reply to each prompt, in order, without control tokens.

    Args:
        backend: the model.
        prompts: of any lengths.
        most_tokens: replies are cut after this many.
        shown: whether to show a progress bar.
    """
    groups = [[prompt] for prompt in prompts]
    decoder = Decoder(backend, most_tokens, _TOGETHER, stop_ids(backend), choose_decoding(backend, groups))
    replies = generate_replies(groups, decoder, None, shown=shown)
    tokens = [list(reply.token_ids) for group in replies for reply in group]
    return backend.fmt.tokenizer.batch_decode(tokens, skip_special_tokens=True)


def settled_letter(reply: str) -> str | None:
    """The letter after the last "answer is", or a reply that is a letter alone; None if there is neither."""
    if found := _ENDING.findall(reply):
        return found[-1]
    alone = _ALONE.fullmatch(reply.strip())
    return alone.group(1) if alone else None
