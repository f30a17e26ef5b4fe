"""Continuations equal a plain greedy loop without a cache, and the settled letter of awkward replies."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from world_reader import Items

from tests.test_config import composed
from thinkgap.backends.hf import HFBackend
from thinkgap.data.present import identity
from thinkgap.demo.generate import continuations, settled_letter
from thinkgap.prompts.build import PreparedPrompt, PromptBuilder
from thinkgap.prompts.conditions import all_conditions
from thinkgap.schema import ModeConfig, PromptConfig

MOST = 12


@pytest.fixture(scope="module")
def prompts(made: Items, backend: HFBackend) -> list[PreparedPrompt]:
    """Prompts with and without pictures, of many lengths, in no order."""
    triggers = composed("trigger=[direct,let_me_think]").trigger
    builder = PromptBuilder(backend.fmt, all_conditions(triggers, ModeConfig(), PromptConfig()))
    items = made("digit_scenes", size=14, image_free=0.5)
    return [prompt for item in items for prompt in builder.build(identity(item))]


def greedy(backend: HFBackend, prompt: PreparedPrompt) -> str:
    """The most probable token, then the next, each from the whole sequence anew."""
    end, reply = backend.fmt.tokenizer.eos_token_id, []
    while len(reply) < MOST and (not reply or reply[-1] != end):
        ids = (*prompt.prompt.input_ids, *reply)
        types = prompt.tensors.get("mm_token_type_ids")
        tensors = dict(prompt.tensors)
        if types is not None:
            tensors["mm_token_type_ids"] = torch.nn.functional.pad(types, (0, len(reply)))
        longer = PreparedPrompt(replace(prompt.prompt, input_ids=ids), tensors)
        reply.append(int(backend.next_token_logits([longer])[0].argmax()))
    return backend.fmt.tokenizer.decode(reply, skip_special_tokens=True)


def test_continuations_are_those_of_a_plain_loop(backend: HFBackend, prompts: list[PreparedPrompt]) -> None:
    assert len({len(one.prompt.input_ids) for one in prompts}) > 8
    assert {len(one.prompt.images) for one in prompts} == {0, 1}
    wanted = [greedy(backend, prompt) for prompt in prompts]
    assert len(set(wanted)) > len(wanted) / 2, "replies that do not depend on the prompt"
    assert len({len(backend.fmt.tokenize(one)) for one in wanted}) > 1, "no reply ends before the others"
    assert continuations(backend, prompts, MOST) == wanted
    assert continuations(backend, prompts[::-1], MOST) == wanted[::-1]
    assert continuations(backend, [], MOST) == []


def test_a_picture_leaves_nothing_behind_for_a_prompt_in_words(
    backend: HFBackend, prompts: list[PreparedPrompt]
) -> None:
    in_words = next(one for one in prompts if not one.prompt.images)
    shown = next(one for one in prompts if one.prompt.images)
    alone = greedy(backend, in_words)
    continuations(backend, [shown], MOST)
    assert continuations(backend, [in_words], MOST) == [alone]


def test_replies_are_cut(backend: HFBackend, prompts: list[PreparedPrompt]) -> None:
    first = [int(backend.next_token_logits([prompt])[0].argmax()) for prompt in prompts]
    texts = backend.fmt.tokenizer.batch_decode([[token] for token in first], skip_special_tokens=True)
    assert continuations(backend, prompts, 1) == texts


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("The 7 is red. So the answer is B.", "B"),
        ("the answer is A. No, the answer is C.", "C"),
        ("So the answer is red.", None),
        ("So the answer is Blue.", None),
        ("So the answer is b.", None),
        ("the answer is A. So the answer is red.", "A"),
        ("So the answer is B or so. C", "B"),
        ("So the answer is", None),
        ("So the answer is (B).", None),
        ("answer isA", None),
        ("Canswer is D", None),
        ("B", "B"),
        (" B.\n", "B"),
        ("B)", "B"),
        ("b", None),
        ("BC", None),
        ("A B", None),
        ("A red digit is in the upper left.", None),
        ("8", None),
        ("", None),
        ("...", None),
    ],
)
def test_the_letter_that_a_reply_settles_on(reply: str, letter: str | None) -> None:
    assert settled_letter(reply) == letter
