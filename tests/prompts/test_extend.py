"""Prompts with more tokens after them score as if they had been written so from the start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.items import mcq, shown
from tests.models import FAMILIES
from tests.prompts.test_build import builder
from thinkgap.prompts.build import PromptBuilder
from thinkgap.prompts.extend import extend
from thinkgap.types import Condition, Request


@pytest.mark.parametrize("family", FAMILIES)
def test_equals_a_prompt_that_ends_so(family: str, tiny_backend: Callable[[str], Any]) -> None:
    """An assistant turn opened by a text, and the bare prompt with that text's tokens after it."""
    backend = tiny_backend(family)
    opened = Condition("opened", "mode", Request.answer_only, prefill="The answer is")
    bare = Condition("bare", "mode", Request.answer_only)
    first, second = PromptBuilder(backend.fmt, [bare, opened]).build(shown(mcq()))
    if backend.fmt.turn_joiner:
        pytest.skip("this template sets a blank before the assistant's first word")
    more = second.prompt.input_ids[len(first.prompt.input_ids) :]
    longer = extend(first, more)
    assert longer.prompt.input_ids == second.prompt.input_ids
    assert longer.prompt.sha256 == second.prompt.sha256
    assert longer.prompt.label_ids == first.prompt.label_ids
    assert torch.allclose(backend.next_token_logits([longer]), backend.next_token_logits([second]), atol=1e-5)


def test_other_labels_and_the_old_prompt_untouched(tiny_backend: Callable[[str], Any]) -> None:
    prepared = builder(tiny_backend("qwen25vl").fmt).build(shown(mcq()))[0]
    before = {name: value.clone() for name, value in prepared.tensors.items()}
    longer = extend(prepared, [5, 6], [[1], [2, 3], [4]])
    assert longer.prompt.input_ids[-2:] == (5, 6)
    assert longer.prompt.label_ids == ((1,), (2, 3), (4,))
    assert all(torch.equal(prepared.tensors[name], value) for name, value in before.items())
    assert longer.prompt.sha256 != prepared.prompt.sha256
