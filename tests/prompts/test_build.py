"""Rendering and building of prompts with real tokenizers and processors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.items import mcq, shown
from thinkgap.errors import ConfigError, LabelError, PromptError
from thinkgap.prompts.build import PromptBuilder
from thinkgap.prompts.labels import LabelVariant
from thinkgap.schema import LabelScope
from thinkgap.types import Condition, Placement, Request, Thinking

TEXT = "Let me think step by step."
DIRECT = Condition("direct", "trigger", Request.label)


def conditions(placement: Placement = Placement.user, **fields: Any) -> list[Condition]:
    direct = replace(DIRECT, placement=placement, **fields)
    return [direct, replace(direct, name="let", text=TEXT, requests=Request.rationale)]


def builder(fmt: Any, *, placement: Placement = Placement.user, **fields: Any) -> PromptBuilder:
    return PromptBuilder(fmt, conditions(placement), **fields)


@pytest.fixture
def fmt(tiny_backend: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda family: tiny_backend(family).fmt


def test_the_start_token_stands_once(fmt: Callable[[str], Any]) -> None:
    """Trap 1: SmolLM2's start token is `<|im_start|>`, which its template writes already."""
    for family in ("llama", "qwen25vl"):
        prompts = builder(fmt(family)).build(shown(mcq()))
        for prepared in prompts:
            first, second = prepared.prompt.input_ids[:2]
            assert first == fmt(family).tokenizer.bos_token_id != second


def test_a_start_token_that_only_the_tokenizer_writes_is_kept(smollm2_tokenizer: Any) -> None:
    from copy import deepcopy

    from tokenizers.processors import TemplateProcessing

    from thinkgap.backends.format import TextFormat
    from thinkgap.schema import ThinkingSwitch

    tokenizer = deepcopy(smollm2_tokenizer)
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    tokenizer._tokenizer.post_processor = TemplateProcessing(
        single="<|im_start|> $A <|im_end|>", special_tokens=[("<|im_start|>", 1), ("<|im_end|>", end)]
    )
    tokenizer.chat_template = "{% for m in messages %}USER: {{ m['content'] }} {% endfor %}ASSISTANT:"
    made = TextFormat("t", tokenizer, tokenizer, False, 4096, ThinkingSwitch())
    ids = made.tokenize("USER: hello ASSISTANT:")
    assert ids[0] == 1 != ids[1]
    assert ids[-1] != end, "an end token after the prompt would move the read position"
    assert made.tokenize("<|im_start|>hello")[:2].count(1) == 1


def test_placements_end_where_they_say(fmt: Callable[[str], Any]) -> None:
    item = shown(mcq())
    turn = "<|im_start|>assistant\n"
    user = [one.prompt.text for one in builder(fmt("llama")).build(item)]
    assert user[0].endswith(f"C. three<|im_end|>\n{turn}")
    assert user[1].endswith(f"C. three\n{TEXT}<|im_end|>\n{turn}")
    opened = [one.prompt.text for one in builder(fmt("llama"), placement=Placement.assistant).build(item)]
    assert opened == [user[0], user[0] + TEXT]
    cut = [one.prompt.text for one in builder(fmt("llama"), placement=Placement.prompt_end).build(item)]
    assert cut[0].endswith("C. three")
    assert cut[1].endswith(f"C. three\n{TEXT}")


def test_a_template_without_line_break_gets_the_blank_it_would_write(fmt: Callable[[str], Any]) -> None:
    texts = [one.prompt.text for one in builder(fmt("llava"), placement=Placement.assistant).build(shown(mcq()))]
    assert texts[0].endswith("ASSISTANT:")
    assert texts[1].endswith(f"ASSISTANT: {TEXT}")


def test_all_conditions_read_the_same_ids_unless_asked(fmt: Callable[[str], Any]) -> None:
    """Trap 4: a prefill must not silently change the measured token."""
    item, llama = shown(mcq()), fmt("llama")
    shared = builder(llama, placement=Placement.assistant).build(item)
    assert shared[0].prompt.label_ids == shared[1].prompt.label_ids
    own = builder(llama, placement=Placement.assistant, scope=LabelScope.natural).build(item)
    decoded = [[llama.tokenizer.decode(ids) for ids in one.prompt.label_ids] for one in own]
    assert decoded == [["A", "B", "C"], [" A", " B", " C"]]


def test_ids_come_from_the_whole_text(fmt: Callable[[str], Any]) -> None:
    llama = fmt("llama")
    for prepared in builder(llama).build(shown(mcq())):
        whole = llama.tokenizer(prepared.prompt.text, add_special_tokens=False).input_ids
        assert list(prepared.prompt.input_ids) == whole


def test_images_stand_in_reading_order_and_are_counted(fmt: Callable[[str], Any], picture: Callable[..., Any]) -> None:
    """Trap 40: a wide and a tall picture, named in reverse, must be processed in reverse."""
    wide, tall = picture(168, 28, 1), picture(28, 112, 2)
    item = mcq(question="Compare <image 2> with <image 1>.", images=(wide, tall))
    prepared = builder(fmt("qwen25vl")).build(shown(item))[0]
    assert prepared.prompt.images == (tall, wide)
    grid = prepared.tensors["image_grid_thw"].tolist()
    assert grid == [[1, 8, 2], [1, 2, 12]], "height x width in patches, tall first"
    assert prepared.prompt.n_image_tokens == (8 * 2 + 2 * 12) // 4
    assert prepared.prompt.n_image_tokens == prepared.prompt.input_ids.count(fmt("qwen25vl").image_token_id)


def test_a_template_that_moves_images_to_the_front_keeps_the_marks(
    fmt: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    item = mcq(choices=("<image 1>", "<image 2>"), images=(picture(28, 28, 1), picture(28, 28, 2)), gold=0)
    prompt = builder(fmt("llava")).build(shown(item, (1, 0)))[0].prompt
    assert prompt.text.startswith("USER: <image>\n<image>\n")
    assert "A. <image 2>\nB. <image 1>" in prompt.text
    assert prompt.images == item.images


def test_pictures_count_in_the_prompt_hash(fmt: Callable[[str], Any], picture: Callable[..., Any]) -> None:
    """Trap 9: two items with equal text and different pictures are different prompts."""
    hashes = {
        builder(fmt("llava")).build(shown(mcq(images=(picture(28, 28, seed),))))[0].prompt.sha256 for seed in (1, 2)
    }
    assert len(hashes) == 2


def test_a_prompt_longer_than_the_context_is_never_cut(fmt: Callable[[str], Any]) -> None:
    """Traps 39 and 45."""
    llama = replace(fmt("llama"), max_length=60)
    with pytest.raises(PromptError, match=r"under 'direct' has \d+ tokens and llama takes 60 \(never truncated"):
        builder(llama).build(shown(mcq(question="Why? " * 100)))


def test_text_with_a_control_token_is_refused(fmt: Callable[[str], Any]) -> None:
    item = mcq(question="What does <|im_end|> do?")
    with pytest.raises(PromptError, match="control token of llama") as caught:
        builder(fmt("llama")).build(shown(item))
    assert caught.value.kind == "control token in the text"


def test_images_need_an_image_model(fmt: Callable[[str], Any], picture: Callable[..., Any]) -> None:
    with pytest.raises(PromptError, match="llama reads text only: set dataset.images=none"):
        builder(fmt("llama")).build(shown(mcq(images=(picture(28, 28),))))


def test_thinking_switch_is_found_and_rendered(fmt: Callable[[str], Any]) -> None:
    """Traps 24 and 28: off means that a closed think block stands in the prompt."""
    qwen3 = fmt("qwen3")
    assert qwen3.switch.disabled == {"enable_thinking": False}
    off = PromptBuilder(qwen3, conditions(thinking=Thinking.disabled)).build(shown(mcq()))
    on = PromptBuilder(qwen3, conditions(thinking=Thinking.enabled)).build(shown(mcq()))
    assert all(one.prompt.text.endswith("<think>\n\n</think>\n\n") for one in off)
    assert all(one.prompt.text.endswith("<|im_start|>assistant\n") for one in on)
    assert off[0].prompt.label_ids == on[0].prompt.label_ids


def test_thinking_cannot_be_asked_of_a_model_without_a_switch(fmt: Callable[[str], Any]) -> None:
    with pytest.raises(ConfigError, match="llama has no thinking switch"):
        PromptBuilder(fmt("llama"), conditions(thinking=Thinking.enabled)).build(shown(mcq()))


def test_a_switch_that_the_template_ignores_is_refused(smollm2_tokenizer: Any) -> None:
    from thinkgap.backends.format import TextFormat
    from thinkgap.errors import ModelError
    from thinkgap.schema import ThinkingSwitch

    switch = ThinkingSwitch(enabled={"enable_thinking": True}, disabled={"enable_thinking": False})
    with pytest.raises(ModelError, match="render the same prompt"):
        TextFormat("t", smollm2_tokenizer, smollm2_tokenizer, False, 4096, switch)


def test_plain_text_for_base_models(fmt: Callable[[str], Any]) -> None:
    plain = replace(fmt("llama"), chat_template=False)
    texts = [one.prompt.text for one in builder(plain).build(shown(mcq()))]
    assert texts[0] == "Which number is the largest?\nA. twelve\nB. seventeen and a half\nC. three"
    assert texts[1] == f"{texts[0]}\n{TEXT}"


def test_yes_no_items_are_read_under_their_own_words(fmt: Callable[[str], Any]) -> None:
    llama = fmt("llama")
    item = mcq(choices=("Yes", "No"), gold=0, answer_space="bool", question="Is it so?")
    prompt = builder(llama, variant=LabelVariant.bare).build(shown(item, labels=("Yes", "No")))[0].prompt
    assert [llama.tokenizer.decode(ids[:1]) for ids in prompt.label_ids] == ["Yes", "No"]
    assert "A." not in prompt.text


def test_labels_that_cannot_be_read_are_an_error_of_the_run(fmt: Callable[[str], Any]) -> None:
    item = shown(mcq(), labels=("first option", "second option", "third option"))
    with pytest.raises(LabelError, match="'first option' is 2 tokens"):
        builder(fmt("llama")).build(item)


def retemplated(fmt: Any, template: str, **fields: Any) -> Any:
    """The tiny Llama's format with another chat template."""
    from copy import deepcopy

    tokenizer = deepcopy(fmt.tokenizer)
    tokenizer.chat_template = template
    return replace(fmt, processor=tokenizer, tokenizer=tokenizer, **fields)


CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant{% endif %}"
)


@pytest.mark.parametrize("placement", list(Placement))
def test_a_line_break_that_the_generation_prompt_leaves_out_is_read_past(
    fmt: Callable[[str], Any], placement: Placement
) -> None:
    """A template that renders conversations as ChatML does, and only stops one line break earlier, reads the same."""
    short = retemplated(fmt("llama"), CHATML)
    full = retemplated(fmt("llama"), CHATML.replace("assistant{%", "assistant\n{%"))
    assert (short.turn_opening, full.turn_opening) == ("\n", "")
    texts, expected = (
        [one.prompt.text for one in builder(made, placement=placement).build(shown(mcq()))] for made in (short, full)
    )
    assert texts == expected


def test_the_measured_token_does_not_depend_on_the_items_text(fmt: Callable[[str], Any]) -> None:
    """A last option that ends in a quotation mark, a bracket or Chinese must not switch the label's variant."""
    made = builder(fmt("llama"), placement=Placement.prompt_end)
    endings = ["plain", 'he said "so"', "(a", "答案：", "a\n"]
    ids = {made.build(shown(mcq(choices=("x", ending))))[0].prompt.label_ids for ending in endings}
    assert len(ids) == 1


def test_the_cut_at_the_prompts_end_is_not_fooled_by_repeated_text(
    fmt: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    for last in ("m", "end", "user", "three"):
        text = (
            builder(fmt("llama"), placement=Placement.prompt_end).build(shown(mcq(choices=("x", last))))[0].prompt.text
        )
        assert text.endswith(f"B. {last}")
    pictures = mcq(choices=("<image 1> cm", "<image 2>"), images=(picture(28, 28, 1), picture(28, 28, 2)))
    text = builder(fmt("qwen25vl"), placement=Placement.prompt_end).build(shown(pictures))[0].prompt.text
    assert text.endswith("B. <|vision_start|><|image_pad|><|vision_end|>")


def test_a_trigger_is_byte_exact_or_refused(fmt: Callable[[str], Any]) -> None:
    trigger = replace(DIRECT, name="t", text="Answer: ", placement=Placement.prompt_end)
    made = PromptBuilder(fmt("llama"), [replace(DIRECT, placement=Placement.prompt_end), trigger])
    assert made.build(shown(mcq()))[1].prompt.text.endswith("C. three\nAnswer: ")
    trimming = retemplated(fmt("llama"), CHATML.replace("m['content']", "m['content'] | trim"))
    with pytest.raises(PromptError, match="strips the outer white space of the user's text"):
        PromptBuilder(trimming, [DIRECT, replace(trigger, placement=Placement.user)]).build(shown(mcq()))


def test_a_template_that_drops_the_text_is_refused(fmt: Callable[[str], Any]) -> None:
    parts_only = "{% for m in messages %}{% for p in m['content'] %}{{ p['text'] }}{% endfor %}{% endfor %}A:"
    with pytest.raises(PromptError, match="does not show the user's text"):
        builder(retemplated(fmt("llama"), parts_only)).build(shown(mcq()))
    no_system = CHATML.replace("{% for m in messages %}", "{% for m in messages if m['role'] != 'system' %}")
    with pytest.raises(PromptError, match="does not show the system's text"):
        builder(retemplated(fmt("llama"), no_system), system="Be brief.").build(shown(mcq()))


def test_thinking_that_cannot_be_switched_off_is_refused(fmt: Callable[[str], Any]) -> None:
    always = retemplated(fmt("llama"), CHATML.replace("assistant{%", "assistant\n<think>\n{%"))
    with pytest.raises(ConfigError, match=r"opens a think block in every prompt.*prompt\.thinking=default"):
        PromptBuilder(always, conditions(thinking=Thinking.disabled)).build(shown(mcq()))
    assert PromptBuilder(always, conditions()).build(shown(mcq()))[0].prompt.text.endswith("<think>\n")


def test_a_switch_with_one_state_that_is_ignored_is_refused(smollm2_tokenizer: Any) -> None:
    from thinkgap.backends.format import TextFormat
    from thinkgap.errors import ModelError
    from thinkgap.schema import ThinkingSwitch

    with pytest.raises(ModelError, match="render the same prompt"):
        TextFormat("t", smollm2_tokenizer, smollm2_tokenizer, False, 4096, ThinkingSwitch(disabled={"thinking": False}))


def test_a_template_that_writes_the_date_gets_one_date(fmt: Callable[[str], Any]) -> None:
    import datetime

    template = "Today is {{ strftime_now('%d %b %Y') }}. " + CHATML
    made = retemplated(fmt("llama"), template, date=datetime.date(2024, 7, 26))
    assert builder(made).build(shown(mcq()))[0].prompt.text.startswith("Today is 26 Jul 2024. ")


def test_think_tags_are_control_tokens_even_if_not_marked_special(fmt: Callable[[str], Any]) -> None:
    with pytest.raises(PromptError, match="'</think>', a control token of qwen3"):
        builder(fmt("qwen3")).build(shown(mcq(question="What does </think> do?")))


def test_yes_and_no_are_read_in_either_case(fmt: Callable[[str], Any]) -> None:
    """A box asks for `yes`, a sentence opens with `Yes`: the answer is the same."""
    llama = fmt("llama")
    item = shown(mcq(choices=("Yes", "No"), gold=0, answer_space="bool"), labels=("Yes", "No"))
    ids = builder(llama).build(item)[0].prompt.label_ids
    assert [[llama.tokenizer.decode([token]) for token in own] for own in ids] == [["Yes", "yes"], ["No", "no"]]


def test_pictures_are_upright_and_16_bit_greys_are_scaled() -> None:
    import io

    import numpy as np
    from PIL import Image

    from thinkgap.backends.format import open_image
    from thinkgap.types import ImageRef

    grey = Image.fromarray((np.linspace(0, 65535, 256).astype(np.uint16))[None].repeat(2, axis=0))
    sink = io.BytesIO()
    grey.save(sink, "PNG")
    scaled = np.asarray(open_image(ImageRef("x", sink.getvalue)))
    assert scaled.shape == (2, 256, 3)
    assert np.abs(scaled[0, :, 0].astype(int) - np.arange(256)).max() <= 1
    turned = Image.new("RGB", (20, 40))
    exif = turned.getexif()
    exif[0x0112] = 6
    sink = io.BytesIO()
    turned.save(sink, "JPEG", exif=exif)
    assert open_image(ImageRef("y", sink.getvalue)).size == (40, 20)


def test_prompts_without_label_ids_take_labels_of_several_tokens(fmt: Callable[[str], Any]) -> None:
    item = shown(mcq(), labels=("Aardvarkish one", "B", "C"))
    with pytest.raises(LabelError):
        builder(fmt("llama")).build(item)
    plain = builder(fmt("llama"), reads_labels=False).build(item)
    assert [one.prompt.label_ids for one in plain] == [(), ()]
    read, unread = builder(fmt("llama")).build(shown(mcq())), builder(fmt("llama"), reads_labels=False)
    for own, other in zip(read, unread.build(shown(mcq())), strict=True):
        assert (own.prompt.sha256, own.prompt.input_ids) == (other.prompt.sha256, other.prompt.input_ids)
