"""Pictures: a sound PNG, digits apart from each other and from the edge, ink in its full tint, colours told apart."""

from __future__ import annotations

import io
from itertools import combinations

import numpy as np
import pytest
from PIL import Image

from thinkgap.data.images import check_image
from thinkgap.demo.world.pictures import ROOM, draw_picture
from thinkgap.demo.world.scenes import Mark, Scene
from thinkgap.demo.world.words import COLOURS, GROUND, PLACES, an, listing


def _pixels(data: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def _full(colour: str = "white") -> Scene:
    return Scene(tuple(Mark("8", colour, place) for place in PLACES))


@pytest.mark.parametrize("offset", [(0, 0), (ROOM, ROOM), (0, ROOM)])
def test_digits_never_touch_each_other_or_the_edge(offset: tuple[int, int]) -> None:
    for first in range(0, 1797, 200):
        data = draw_picture(_full(), range(first, first + 4), [offset] * 4)
        check_image(data)
        pixels = _pixels(data)
        assert pixels.shape == (56, 56, 3)
        for line in (0, 27, 28, 55):
            assert (pixels[line] == GROUND).all()
            assert (pixels[:, line] == GROUND).all()


def test_an_offset_moves_the_digit() -> None:
    scene = Scene((Mark("3", "red", "lower left"),))
    still, moved = (_pixels(draw_picture(scene, [3], [offset])) for offset in ((0, 0), (2, 1)))
    assert (np.roll(still, (1, 2), axis=(0, 1)) == moved).all()


@pytest.mark.parametrize("colour", COLOURS)
def test_full_ink_has_the_full_tint_and_the_rest_is_between(colour: str) -> None:
    pixels = _pixels(draw_picture(_full(colour), range(4), [(0, 0)] * 4)).reshape(-1, 3)
    assert (pixels == COLOURS[colour]).all(axis=1).any()
    low, high = np.minimum(GROUND, COLOURS[colour]), np.maximum(GROUND, COLOURS[colour])
    assert ((pixels >= low) & (pixels <= high)).all()


def test_colours_are_far_from_each_other_and_from_the_ground() -> None:
    for first, second in combinations([*COLOURS.values(), GROUND], 2):
        assert np.linalg.norm(np.subtract(first, second)) > 90


def test_lists_and_articles() -> None:
    assert [listing(parts) for parts in (["x"], ["x", "y"], ["x", "y", "z"])] == ["x", "x and y", "x, y and z"]
    assert [an(digit) for digit in ("0", "7", "8")] == ["a 0", "a 7", "an 8"]
