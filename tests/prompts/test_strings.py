"""Option strings: which tokens stand for an option, the prompts that read them, and the sums (traps 2, 4, 5, 14)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from tests.items import mcq, shown
from thinkgap.data.present import identity
from thinkgap.errors import PromptError
from thinkgap.prompts.build import PreparedPrompt, PromptBuilder, digest
from thinkgap.prompts.strings import collect, expand, option_strings, premise_prompt, require_room
from thinkgap.schema import OptionForm
from thinkgap.store.cell_rows import cell_key
from thinkgap.types import Condition, Placement, Prompt, Reading, Request

DIRECT = Condition("direct", "trigger", Request.label)
LET = replace(DIRECT, name="let", text="Let me think.", requests=Request.rationale)
STRICT = Condition("strict", "mode", Request.answer_only, text="Be brief.", soft_switch="/no_think", prefill="The")


def builder(backend: Any, placement: Placement = Placement.user) -> PromptBuilder:
    return PromptBuilder(backend.fmt, [replace(one, placement=placement) for one in (DIRECT, LET)])


def hand_made() -> PreparedPrompt:
    """A prompt of three tokens, 1 2 3, with a tensor that follows them and one that does not."""
    prompt = Prompt(shown(mcq()), DIRECT, "text", (1, 2, 3), ((9,), (8,), (7,)))
    tensors = {"token_type_ids": torch.tensor([[0, 1, 0]]), "pixel_values": torch.ones(1, 3, 2)}
    return PreparedPrompt(replace(prompt, sha256=digest(prompt)), tensors)


@pytest.mark.parametrize(("placement", "blank"), [(Placement.user, ""), (Placement.prompt_end, " ")])
def test_strings_are_what_follows_directs_prompt_in_every_condition(
    placement: Placement, blank: str, tiny_backend: Callable[[str], Any]
) -> None:
    """At the start of a turn the option stands bare, after an option's text it is joined by a blank."""
    backend = tiny_backend("llama")
    made = builder(backend, placement)
    item = shown(mcq(choices=("twelve", "größer als zwölf", "three hundred and seven")))
    strings = option_strings(made, item)
    direct = made.text(item, made.conditions[0])[0]
    for string, content in zip(strings, item.contents, strict=True):
        assert string.text == content
        assert string.n_bytes == len(content.encode())
        assert backend.fmt.tokenizer.decode(string.ids) == blank + content
        assert backend.fmt.tokenize(direct) + list(string.ids) == backend.fmt.tokenize(direct + blank + content)
    # g r ö ß e r = 8 bytes, blank 1, als 3, blank 1, zwölf 6.
    assert strings[1].n_bytes == 19


def test_labelled_strings_are_the_option_lines(tiny_backend: Callable[[str], Any]) -> None:
    backend = tiny_backend("llama")
    item = shown(mcq(), (2, 0, 1))
    strings = option_strings(builder(backend), item, OptionForm.labelled)
    assert [string.text for string in strings] == ["A. three", "B. twelve", "C. seventeen and a half"]
    assert backend.fmt.tokenizer.decode(strings[1].ids) == "B. twelve"
    yes_no = identity(mcq(choices=("Yes", "No"), gold=0, answer_space="bool"))
    for form in OptionForm:
        assert [string.text for string in option_strings(builder(backend), yes_no, form)] == ["Yes", "No"]


def test_a_template_that_ends_in_a_blank_joins_by_a_blank(tiny_backend: Callable[[str], Any]) -> None:
    backend = tiny_backend("llava")
    strings = option_strings(builder(backend), shown(mcq()))
    assert backend.fmt.tokenizer.decode(strings[0].ids) == " twelve"


@pytest.mark.parametrize(
    ("choices", "message", "kind"),
    [
        (("twelve", "<image 1>", "three"), "item i0: option B .* is an image", "option is an image"),
        (("twelve", "three", "see <image 2> here"), "item i0: option C .* is an image", "option is an image"),
        (("twelve", "three", " "), "item i0: option C is empty", "option without text"),
    ],
)
def test_options_without_a_likelihood_are_refused(
    choices: tuple[str, ...], message: str, kind: str, tiny_backend: Callable[[str], Any]
) -> None:
    with pytest.raises(PromptError, match=message) as caught:
        option_strings(builder(tiny_backend("llama")), shown(mcq(choices=choices)))
    assert caught.value.kind == kind


def test_a_string_without_tokens_is_refused(
    tiny_backend: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tokenizer that drops what it does not know adds nothing."""
    made = builder(tiny_backend("llama"))
    known = made.fmt.tokenize
    monkeypatch.setattr(made.fmt, "tokenize", lambda text: known(text.replace("☃", "")))
    with pytest.raises(PromptError, match=r"item i0: option B \('☃'\) has no tokens of its own"):
        option_strings(made, shown(mcq(choices=("twelve", "☃", "three"))))


def test_each_proper_prefix_is_one_prompt_with_the_tokens_that_may_follow() -> None:
    """Options 5 6, 5 7 8, 5, 4: the prefixes are (), (5), (5 7)."""
    base = hand_made()
    expanded = expand(base, [(5, 6), (5, 7, 8), (5,), (4,)])
    found = {one.prompt.input_ids: one.prompt.label_ids for one in expanded}
    assert found == {(1, 2, 3): ((5,), (4,)), (1, 2, 3, 5): ((6,), (7,)), (1, 2, 3, 5, 7): ((8,),)}
    assert len(expanded) == 3
    assert expanded[0].prompt.input_ids == base.prompt.input_ids
    for one in expanded:
        assert one.prompt.presentation.item.gold is None, "no rank is read among tokens of which none is right"
        assert one.prompt.sha256 == digest(one.prompt)
        by = len(one.prompt.input_ids) - 3
        assert one.tensors["token_type_ids"].tolist() == [[0, 1, 0] + [0] * by]
        assert one.tensors["pixel_values"] is base.tensors["pixel_values"]
    assert len({one.prompt.sha256 for one in expanded}) == 3
    assert expanded[0].prompt.sha256 == base.prompt.sha256
    assert cell_key(expanded[0].prompt) != cell_key(base.prompt), "the same tokens, but other readings of them"


def test_sums_by_hand() -> None:
    """A table of next-token probabilities (trap 41).

    p(5) = 1/2, p(4) = 1/8; after 5: p(6) = 1/4, p(7) = 1/16; after 5 7: p(8) = 1.

    5 6: 1/2 * 1/4 = 1/8. 5 7 8: 1/2 * 1/16 * 1 = 1/32. 5 alone, which opens both: 1/2, no end of string. 4: 1/8.
    """
    table = {(): {5: 1 / 2, 4: 1 / 8}, (5,): {6: 1 / 4, 7: 1 / 16}, (5, 7): {8: 1.0}}
    options = [(5, 6), (5, 7, 8), (5,), (4,), (4,)]
    prompts = [one.prompt for one in expand(hand_made(), options)]
    readings = [
        Reading(tuple(math.log(table[prompt.input_ids[3:]][token]) for (token,) in prompt.label_ids), 0.0, 0, 0.0)
        for prompt in prompts
    ]
    sums = collect(prompts, readings, options)
    assert sums == pytest.approx([math.log(1 / 8), math.log(1 / 32), math.log(1 / 2), math.log(1 / 8), math.log(1 / 8)])
    assert sums[3] == sums[4], "equal options are an exact tie"


def test_the_premise_stands_for_everything_of_the_item(
    tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    backend = tiny_backend("qwen25vl")
    made = builder(backend)
    item = shown(mcq(context="Look.", images=(picture(60, 60),)))
    direct, let = (premise_prompt(made, item, condition, "Answer:") for condition in made.conditions)
    assert direct.prompt.text.endswith("<|im_start|>user\nAnswer:<|im_end|>\n<|im_start|>assistant\n")
    assert let.prompt.text.endswith("<|im_start|>user\nAnswer:\nLet me think.<|im_end|>\n<|im_start|>assistant\n")
    for one in (direct, let):
        assert not any(text in one.prompt.text for text in ("Look", "largest", "twelve", "A.", "vision"))
        assert one.prompt.images == ()
        assert one.prompt.sha256 == digest(one.prompt)
        assert backend.fmt.image_token_id not in one.prompt.input_ids
    other = premise_prompt(made, shown(mcq("i1", question="Why?")), made.conditions[1], "Answer:")
    assert other.prompt.sha256 == let.prompt.sha256, "the premise says nothing of the item"


def test_the_premise_of_a_mode_keeps_what_the_mode_adds(tiny_backend: Callable[[str], Any]) -> None:
    prompt = premise_prompt(builder(tiny_backend("llama")), shown(mcq()), STRICT, "Answer:").prompt
    assert prompt.text.endswith(
        "user\n/no_think\nAnswer:\nBe brief.\n"
        "Put only the final option label in boxed{}, e.g. \\boxed{A}.<|im_end|>\n<|im_start|>assistant\nThe"
    )


def test_prompt_and_option_beyond_the_context_are_refused(tiny_backend: Callable[[str], Any]) -> None:
    made = builder(tiny_backend("llama"))
    strings = option_strings(made, shown(mcq()))
    prepared = made.build(shown(mcq()))[1]
    length = len(prepared.prompt.input_ids) + max(len(string.ids) for string in strings)
    require_room(prepared, strings, length)
    with pytest.raises(PromptError, match=f"item i0: .*'let'.* {length} tokens and the model takes {length - 1}"):
        require_room(prepared, strings, length - 1)
