"""Likelihoods of option strings through the engine, against each option's whole sequence through the model itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.items import mcq, shown
from thinkgap.backends.format import open_image
from thinkgap.backends.load import load_backend
from thinkgap.data.present import identity
from thinkgap.errors import LabelError
from thinkgap.evaluation.likelihood import ItemLikelihoods, likelihoods
from thinkgap.prompts.build import PreparedPrompt, PromptBuilder
from thinkgap.prompts.strings import option_strings, premise_prompt
from thinkgap.schema import LikelihoodConfig, ModelConfig, OptionForm, Scoring
from thinkgap.scoring.engine import Engine, Scored
from thinkgap.types import Condition, Item, Placement, Presentation, Prompt, Reading, Request

DIRECT = Condition("direct", "trigger", Request.label)
CONDITIONS = [
    DIRECT,
    replace(DIRECT, name="let", text="Let me think step by step.", requests=Request.rationale),
    # Its prompt is Direct's and the first token of some options: equal tokens, split elsewhere (trap 14).
    replace(DIRECT, name="opened", text="one", placement=Placement.assistant),
]
SETTINGS = LikelihoodConfig()


def items(backend: Any, picture: Callable[..., Any]) -> list[Item]:
    """Options that open one another, equal ones, long ones, yes and no; for image-text models with pictures."""
    made = [
        mcq("opens", choices=("one", "one hundred and one", "one hundred", "three")),
        mcq("equal", choices=("twelve", "three", "twelve"), question="Which of these numbers is the largest? " * 6),
        mcq("bool", question="Is it?", choices=("Yes", "No"), gold=0, answer_space="bool"),
    ]
    if backend.fmt.is_vision:
        made.append(mcq("one", images=(picture(100, 60, 1),)))
        made.append(mcq("two", question="<image 2> or <image 1>?", images=(picture(60, 200, 2), picture(90, 90, 3))))
    return made


def naive(backend: Any, prompt: Prompt, ids: tuple[int, ...]) -> float:
    """Log-likelihood of `ids` after `prompt` from one call of the model as its own documentation says."""
    fmt = backend.fmt
    if fmt.is_vision:
        pictures = [open_image(image) for image in prompt.images] or None
        inputs = dict(fmt.processor(text=[prompt.text], images=pictures, add_special_tokens=False, return_tensors="pt"))
    else:
        inputs = dict(fmt.tokenizer(prompt.text, add_special_tokens=False, return_tensors="pt"))
    length = inputs["input_ids"].shape[1]
    for key, added in (("input_ids", ids), ("attention_mask", (1,) * len(ids))):
        inputs[key] = torch.cat([inputs[key], torch.tensor([added])], dim=1)
    for key in ("token_type_ids", "mm_token_type_ids"):
        if key in inputs:
            inputs[key] = torch.cat([inputs[key], torch.zeros(1, len(ids), dtype=inputs[key].dtype)], dim=1)
    inner: Any = getattr(backend.model, "model", None)
    if hasattr(inner, "rope_deltas"):
        inner.rope_deltas = None
    with torch.inference_mode():
        logprobs = torch.log_softmax(backend.model(**inputs).logits[0, length - 1 : -1].float(), dim=-1)
    return float(logprobs.gather(1, torch.tensor(ids)[:, None]).sum())


def check(backend: Any, made: Sequence[Item], found: Sequence[ItemLikelihoods], builder: PromptBuilder) -> None:
    """Every sum, after the prompt and after the premise, against the naive loop."""
    assert [one.presentation.item.id for one in found] == [item.id for item in made]
    for one in found:
        assert one.excluded is None
        assert [prompt.condition.name for prompt in one.prompts] == [condition.name for condition in builder.conditions]
        strings = option_strings(builder, one.presentation)
        for prompt, scores in zip(one.prompts, one.scores, strict=True):
            assert scores.key == (one.presentation.item.id, "identity", prompt.condition.name)
            expected = [naive(backend, prompt, string.ids) for string in strings]
            assert scores.option_logprobs == pytest.approx(expected, abs=1e-4)
            premise = premise_prompt(builder, one.presentation, prompt.condition, "Answer:").prompt
            expected = [naive(backend, premise, string.ids) for string in strings]
            assert scores.premise_logprobs == pytest.approx(expected, abs=1e-4)
            assert scores.n_tokens == tuple(len(string.ids) for string in strings)
            assert scores.n_bytes == tuple(len(content.encode()) for content in one.presentation.contents)


@pytest.mark.parametrize("family", ["llama", "gemma3", "qwen25vl", "llava"])
@pytest.mark.parametrize("most_reads", [512, 3])
def test_sums_are_those_of_whole_sequences(
    most_reads: int, family: str, tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    backend = tiny_backend(family)
    builder = PromptBuilder(backend.fmt, CONDITIONS)
    made = items(backend, picture)
    sizes: list[int] = []
    engine = Engine.of(backend)

    def score(groups: Sequence[Sequence[PreparedPrompt]]) -> list[list[Scored]]:
        sizes.append(sum(map(len, groups)))
        return engine.score(groups)

    found = list(likelihoods([identity(item) for item in made], builder, score, SETTINGS, most_reads))
    check(backend, made, found, builder)
    assert max(sizes) <= most_reads
    if most_reads == 512:
        assert len(sizes) == 2, "one call for the premises and one for the prompts"
        assert engine.choice.method is Scoring.packed
    direct, _, opened = (prompt.input_ids for prompt in found[0].prompts)
    if family != "llava":
        first = option_strings(builder, found[0].presentation)[0].ids[:1]
        assert opened == direct + first, "equal tokens that are split elsewhere must not be mixed up"
    equal = found[1].scores
    assert all(one.option_logprobs[0] == one.option_logprobs[2] for one in equal), "equal strings tie exactly"


def test_a_released_model(smollm2_folder: Path, picture: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    backend = load_backend(ModelConfig(name="smollm2", path=str(smollm2_folder)), on_accelerator=False)
    # The tests of the engine look at this.
    monkeypatch.setattr("thinkgap.scoring.check.refusal_of", lambda *_: ("", 0.0))
    builder = PromptBuilder(backend.fmt, CONDITIONS[::2])
    made = items(backend, picture)[:1]
    check(backend, made, list(likelihoods(map(identity, made), builder, Engine.of(backend).score, SETTINGS)), builder)


def test_plain_scoring_reads_the_same(tiny_backend: Callable[[str], Any], picture: Callable[..., Any]) -> None:
    backend = tiny_backend("qwen25vl")
    builder = PromptBuilder(backend.fmt, CONDITIONS)
    shown_items = [identity(item) for item in items(backend, picture)]
    plain, packed = (
        list(likelihoods(shown_items, builder, Engine.of(backend, way).score, SETTINGS))
        for way in (Scoring.plain, Scoring.auto)
    )
    for a, b in zip(plain, packed, strict=True):
        for own, other in zip(a.scores, b.scores, strict=True):
            assert own.option_logprobs == pytest.approx(other.option_logprobs, abs=1e-4)
            assert own.premise_logprobs == pytest.approx(other.premise_logprobs, abs=1e-4)


def test_a_two_token_model_by_hand(tiny_backend: Callable[[str], Any]) -> None:
    """Trap 41: every next token has probability 1/2, after the premise 1/4: n tokens are n log 1/2, or n log 1/4."""
    builder = PromptBuilder(tiny_backend("llama").fmt, CONDITIONS[:2])
    calls: list[int] = []

    def score(groups: Sequence[Sequence[PreparedPrompt]]) -> list[list[Scored]]:
        calls.append(sum(map(len, groups)))
        return [
            [
                Scored(one.prompt, Reading((math.log(p),) * len(one.prompt.label_ids), 0.0, 0, 0.0))
                for one in group
                for p in (0.25 if "Answer:" in one.prompt.text else 0.5,)
            ]
            for group in groups
        ]

    presentations = [shown(mcq(f"i{number}", question=f"{number}?")) for number in range(3)]
    for found in likelihoods(presentations, builder, score, SETTINGS):
        for one in found.scores:
            assert one.option_logprobs == pytest.approx([n * math.log(1 / 2) for n in one.n_tokens])
            assert one.premise_logprobs == pytest.approx([n * math.log(1 / 4) for n in one.n_tokens])
    # The three items have the same options: after the premise they are read once, after the prompts three times.
    assert calls[1] == 3 * calls[0]
    assert len(calls) == 2


def test_items_with_the_same_images_share_a_group(
    tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    backend = tiny_backend("qwen25vl")
    builder = PromptBuilder(backend.fmt, CONDITIONS)
    one, other = picture(100, 60, 1), picture(60, 60, 2)
    made = [
        mcq("a", images=(one,)),
        mcq("b", question="Why?", images=(one,)),
        mcq("c", images=(other,)),
        mcq("d"),
        mcq("e", question="Why?"),
    ]
    shared: list[list[set[str]]] = []
    engine = Engine.of(backend)

    def score(groups: Sequence[Sequence[PreparedPrompt]]) -> list[list[Scored]]:
        shared.append([{one.prompt.presentation.item.id for one in group} for group in groups])
        return engine.score(groups)

    found = list(likelihoods(map(identity, made), builder, score, SETTINGS, 1000))
    assert shared[1] == [{"a", "b"}, {"c"}, {"d"}, {"e"}]
    check(backend, made, found, builder)


def test_an_item_that_cannot_be_read_is_left_out_with_its_reason(tiny_backend: Callable[[str], Any]) -> None:
    backend = tiny_backend("llama")
    builder = PromptBuilder(backend.fmt, CONDITIONS)
    made = [shown(mcq("a")), shown(mcq("b", choices=("one", "<image 1>", "two"))), shown(mcq("c"))]
    found = list(likelihoods(made, builder, Engine.of(backend).score, SETTINGS))
    assert [one.presentation.item.id for one in found] == ["a", "b", "c"]
    assert [bool(one.scores) for one in found] == [True, False, True]
    assert found[1].excluded is not None
    assert found[1].excluded.kind == "option is an image"


def test_labels_that_cannot_be_read_stop_the_run(tiny_backend: Callable[[str], Any]) -> None:
    backend = tiny_backend("llama")
    item = mcq()
    presentation = Presentation(item, (0, 1, 2), ("first label", "second label", "third label"))
    with pytest.raises(LabelError):
        list(likelihoods([presentation], PromptBuilder(backend.fmt, CONDITIONS), Engine.of(backend).score, SETTINGS))


def test_the_labelled_form_is_scored(tiny_backend: Callable[[str], Any]) -> None:
    backend = tiny_backend("llama")
    builder = PromptBuilder(backend.fmt, CONDITIONS)
    presentation = shown(mcq())
    settings = replace(SETTINGS, form=OptionForm.labelled)
    (found,) = likelihoods([presentation], builder, Engine.of(backend).score, settings)
    strings = option_strings(builder, presentation, OptionForm.labelled)
    expected = [naive(backend, found.prompts[1], string.ids) for string in strings]
    assert found.scores[1].option_logprobs == pytest.approx(expected, abs=1e-4)
    assert found.scores[1].n_bytes[0] == len("A. twelve")
