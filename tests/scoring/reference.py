"""What every faster way of scoring must reproduce: each prompt alone through the plain path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from thinkgap.prompts.build import PreparedPrompt
from thinkgap.scoring.capture import Capture, Rows, Wanted

ALL = Wanted(embeddings=True, final_norm=True)


def plain(backend: Any, prompts: Sequence[PreparedPrompt]) -> Rows:
    """Each prompt alone through the plain path."""
    logits, states = [], []
    for prepared in prompts:
        last = torch.tensor([[len(prepared.prompt.input_ids) - 1]])
        with Capture(backend.structure, last, ALL) as capture:
            logits.append(backend.next_token_logits([prepared])[0])
        states.append(capture.states()[0, 0])
    return Rows(torch.stack(logits), torch.stack(states))


def assert_equal(got: Rows, expected: Rows) -> None:
    a, b = torch.log_softmax(got.logits, -1), torch.log_softmax(expected.logits, -1)
    assert float((a - b).abs().max()) < 1e-4
    assert (a.argmax(-1) == b.argmax(-1)).all()
    assert got.states is not None
    assert expected.states is not None
    assert got.states.shape == expected.states.shape
    assert float((got.states - expected.states).abs().max()) < 1e-4
