"""Images that are preprocessed once give what the processor gives each time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any

import pytest
import torch

from tests.items import mcq, shown
from tests.models import VISION
from tests.scoring.prompts import TRIGGERS
from thinkgap.backends.format import open_image
from thinkgap.backends.image_memo import _KEPT, ImageMemo
from thinkgap.prompts.build import PreparedPrompt, PromptBuilder


@pytest.fixture(params=VISION)
def backend(request: pytest.FixtureRequest, tiny_backend: Callable[[str], Any]) -> Iterator[Any]:
    """A tiny model whose memory of images is empty."""
    found = tiny_backend(request.param)
    before = found.fmt.images
    found.fmt.images = ImageMemo(found.fmt.processor.image_processor)
    yield found
    found.fmt.images = before


def made(backend: Any, item: Any, orders: int) -> list[PreparedPrompt]:
    builder = PromptBuilder(backend.fmt, TRIGGERS)
    chosen = list(permutations(range(len(item.choices))))[:orders]
    return [prepared for order in chosen for prepared in builder.build(shown(item, order))]


def without_memory(backend: Any, prepared: PreparedPrompt) -> Any:
    """What the processor gives when it has seen nothing before."""
    memo = backend.fmt.images
    backend.fmt.images = ImageMemo(backend.fmt.processor.image_processor)
    try:
        return backend.fmt.encode(prepared.prompt.text, prepared.prompt.images)
    finally:
        backend.fmt.images = memo


def assert_same_tensors(backend: Any, prompts: list[PreparedPrompt]) -> None:
    for prepared in prompts:
        fresh = without_memory(backend, prepared)
        assert prepared.prompt.input_ids == fresh.input_ids
        assert prepared.tensors.keys() == fresh.tensors.keys()
        for key, value in fresh.tensors.items():
            assert torch.equal(prepared.tensors[key], value), key


def test_one_image_is_preprocessed_once(backend: Any, picture: Callable[..., Any]) -> None:
    prompts = made(backend, mcq("one", images=(picture(100, 60, 1),)), orders=5)
    assert len(prompts) == 30
    assert backend.fmt.images.calls == 1
    assert_same_tensors(backend, prompts)


def test_options_that_are_images_are_preprocessed_once_each(backend: Any, picture: Callable[..., Any]) -> None:
    images = (picture(100, 60, 1), picture(60, 200, 2), picture(90, 90, 3))
    item = mcq("options", question="Which?", choices=("<image 1>", "<image 2>", "<image 3>"), images=images)
    prompts = made(backend, item, orders=6)
    # Three alone, and once together to see that this is the same.
    assert backend.fmt.images.calls == 4
    assert_same_tensors(backend, prompts)


def test_an_image_that_was_forgotten_is_preprocessed_again(backend: Any, picture: Callable[..., Any]) -> None:
    items = [mcq(f"i{number}", images=(picture(40 + number, 60, number),)) for number in range(_KEPT + 1)]
    first = made(backend, items[0], orders=1)
    for item in items[1:]:
        made(backend, item, orders=1)
    again = made(backend, items[0], orders=1)
    assert backend.fmt.images.calls == len(items) + 1
    assert torch.equal(first[0].tensors["pixel_values"], again[0].tensors["pixel_values"])


class Crowded:
    """An image processor whose result for one image depends on the others."""

    def __call__(self, images: list[Any], **settings: Any) -> dict[str, Any]:
        return {"pixel_values": torch.full((len(images), 2), float(len(images)))}


def test_a_processor_that_mixes_images_is_asked_for_each_set(picture: Callable[..., Any]) -> None:
    memo = ImageMemo(Crowded())
    one, two = picture(10, 10, 1), picture(10, 10, 2)
    for _ in range(2):
        for images in ((one, two), (two, one), (one,)):
            found = memo(memo.pictures(images, lambda image: image.sha256[:4] + "!"), return_tensors="pt")
            assert found["pixel_values"].tolist() == [[len(images)] * 2] * len(images)
    # Alone twice and once together to find out, the other order once, and nothing the second time.
    assert memo.calls == 4


def test_other_settings_are_another_result(picture: Callable[..., Any]) -> None:
    memo = ImageMemo(lambda images, **settings: {"pixel_values": torch.tensor([[settings["scale"]]])})
    (shown_picture,) = memo.pictures([picture(10, 10, 1)], lambda image: object())
    assert [memo([shown_picture], scale=scale)["pixel_values"].item() for scale in (1, 2, 1)] == [1, 2, 1]
    assert memo.calls == 2


class Widest:
    """An image processor that pads the images of a prompt to the widest of them and then scales them to one size."""

    def __call__(self, images: list[Any], **settings: Any) -> dict[str, Any]:
        return {"pixel_values": torch.full((len(images), 1), float(max(image.width for image in images)))}


def test_a_processor_that_mixes_images_of_unequal_size_only(picture: Callable[..., Any]) -> None:
    """Images of equal size in the first prompt do not show that results may be put together."""
    memo = ImageMemo(Widest())
    same, also, wide = picture(10, 10, 1), picture(10, 10, 2), picture(20, 10, 3)
    for images in ((same, also), (same, wide)):
        expected = Widest()([open_image(image) for image in images])["pixel_values"]
        assert torch.equal(memo(memo.pictures(images, open_image))["pixel_values"], expected)


def test_the_processor_is_left_as_it_is(backend: Any, picture: Callable[..., Any]) -> None:
    before = backend.fmt.processor.image_processor
    made(backend, mcq("one", images=(picture(100, 60, 1),)), orders=1)
    assert backend.fmt.processor.image_processor is before
    assert "ImageProcessor" in repr(backend.fmt.processor)
