"""Every supported family against the plain use of its model: structure, positions, batching, images."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from tests.items import mcq, shown
from tests.models import FAMILIES, VISION
from tests.plain import score_plain
from thinkgap.backends import families
from thinkgap.backends.format import open_image
from thinkgap.backends.hf import collate
from thinkgap.errors import ModelError
from thinkgap.prompts.build import PreparedPrompt, PromptBuilder
from thinkgap.types import Condition, Request

DIRECT = Condition("direct", "trigger", Request.label)
LET = replace(DIRECT, name="let", text="Let me think step by step.", requests=Request.rationale)


def prepared_prompts(backend: Any, picture: Callable[..., Any]) -> list[PreparedPrompt]:
    """Prompts of unequal length, with no, one and two pictures of different sizes for image-text models."""
    items = [mcq("short", question="Why?"), mcq("long", question="Which of these numbers is the largest? " * 6)]
    if backend.fmt.is_vision:
        items += [
            mcq("one", images=(picture(100, 60, 1),)),
            mcq("two", question="<image 2> or <image 1>?", images=(picture(60, 200, 2), picture(90, 90, 3))),
        ]
    builder = PromptBuilder(backend.fmt, [DIRECT, LET])
    return [prepared for item in items for prepared in builder.build(shown(item))]


@pytest.mark.parametrize("family", FAMILIES)
def test_batched_equals_single_and_the_models_own_logits(
    family: str, tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    """Traps 15, 16 and 18: nothing may depend on what shares the batch, nor on padding."""
    backend = tiny_backend(family)
    prompts = prepared_prompts(backend, picture)
    batched = backend.next_token_logits(prompts)
    for row, prepared in enumerate(prompts):
        single = backend.next_token_logits([prepared])[0]
        assert torch.allclose(batched[row], single, atol=1e-4), prepared.prompt.presentation.item.id
        own = plain_logits(backend, prepared)
        assert torch.allclose(single, own, atol=1e-4), prepared.prompt.presentation.item.id
        assert single.argmax() == own.argmax()


def plain_logits(backend: Any, prepared: PreparedPrompt) -> torch.Tensor:
    """Last logits of the model called as its own documentation says: processor's batch in, no positions given."""
    fmt, prompt = backend.fmt, prepared.prompt
    if fmt.is_vision:
        pictures = [open_image(image) for image in prompt.images] or None
        inputs = fmt.processor(text=[prompt.text], images=pictures, add_special_tokens=False, return_tensors="pt")
    else:
        inputs = fmt.tokenizer(prompt.text, add_special_tokens=False, return_tensors="pt")
    inner: Any = getattr(backend.model, "model", None)
    if hasattr(inner, "rope_deltas"):
        inner.rope_deltas = None
    with torch.inference_mode():
        return backend.model(**inputs).logits[0, -1]


@pytest.mark.parametrize("family", FAMILIES)
def test_readings_do_not_depend_on_batch_size(
    family: str, tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    backend = tiny_backend(family)
    prompts = prepared_prompts(backend, picture)
    one, odd = (score_plain(backend, prompts, size) for size in (1, 3))
    for a, b in zip(one, odd, strict=True):
        assert a.label_logprobs == pytest.approx(b.label_logprobs, abs=1e-4)
        assert a.top_token_id == b.top_token_id


@pytest.mark.parametrize("family", ["qwen25vl", "qwen3vl"])
def test_positions_left_behind_by_an_earlier_image_are_ignored(
    family: str, tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    """huggingface/transformers#36013 and its kin: stale rope deltas."""
    backend = tiny_backend(family)
    prompts = prepared_prompts(backend, picture)
    fresh = backend.next_token_logits(prompts)
    backend.model.model.rope_deltas = torch.full((len(prompts), 1), 17)
    assert torch.equal(backend.next_token_logits(prompts), fresh)


@pytest.mark.parametrize("family", ["qwen25vl", "qwen3vl"])
def test_image_positions_are_three_dimensional(
    family: str, tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    backend = tiny_backend(family)
    prompts = [one for one in prepared_prompts(backend, picture) if one.prompt.images]
    inputs = collate(prompts, backend.pad_id)
    positions = families.position_ids(backend.model, inputs)
    assert positions.shape == (3, *inputs["input_ids"].shape)
    image = inputs["input_ids"] == backend.fmt.image_token_id
    assert not torch.equal(positions[1][image], positions[2][image]), "height and width positions differ"


@pytest.mark.parametrize("family", FAMILIES)
def test_structure_reproduces_the_logits(family: str, tiny_backend: Callable[[str], Any]) -> None:
    backend = tiny_backend(family)
    assert backend.check_error < 1e-4
    assert len(backend.structure.layers) == 3


def test_a_wrong_norm_is_found_at_load(tiny_backend: Callable[[str], Any]) -> None:
    backend = tiny_backend("llama")
    wrong = replace(backend.structure, norm=torch.nn.Identity())
    with pytest.raises(ModelError, match="do not reproduce the logits"):
        families.verify(backend.model, wrong, "llama")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_wrong_scale_or_softcap_is_found_at_load(tiny_model: Callable[[str], Any], dtype: torch.dtype) -> None:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(tiny_model("llama"), dtype=dtype).eval()
    structure = families.find_structure(model, "llama")
    assert families.verify(model, structure, "llama") < 0.05
    for wrong in (replace(structure, scale=0.98), replace(structure, softcap=10.0)):
        with pytest.raises(ModelError, match="do not reproduce the logits"):
            families.verify(model, wrong, "llama")


def test_a_model_that_mixes_rows_of_a_batch_is_found_at_load(
    tiny_backend: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trap 18: padding without positions from the mask."""
    backend = tiny_backend("llama")
    monkeypatch.setattr(families, "positions_of", lambda mask: mask.long().cumsum(-1).flip(-1))
    with pytest.raises(ModelError, match="right-padded batch gives other logits"):
        families.verify(backend.model, backend.structure, "llama")


def test_an_unknown_architecture_is_named() -> None:
    class Odd:
        def get_decoder(self) -> object:
            return object()

        def get_output_embeddings(self) -> None:
            return None

    with pytest.raises(ModelError, match="odd .*no decoder layers, final norm, output head found"):
        families.find_structure(Odd(), "odd")


@pytest.mark.parametrize("family", VISION)
def test_image_tokens_equal_image_features(
    family: str, tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    """Trap 39: the model itself raises when they differ, so a pass over two pictures shows that they do not."""
    backend = tiny_backend(family)
    prepared = prepared_prompts(backend, picture)[-1]
    assert prepared.prompt.n_image_tokens > 0
    assert bool(torch.isfinite(backend.next_token_logits([prepared])).all())
