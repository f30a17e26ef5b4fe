"""Items with something taken away, and images that change owners."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from data_examples import image_stub, make_item

from thinkgap.data.controls import control, shuffled_images
from thinkgap.errors import ConfigError
from thinkgap.types import Item


def with_images(item_id: str, *names: str, **fields: Any) -> Item:
    return make_item(**{"id": item_id, "group_id": item_id, "images": tuple(map(image_stub, names))} | fields)


def shown(items: list[Item], seed: int = 0) -> dict[str, tuple[str, ...]]:
    """Item id -> names of the images that it is given."""
    return {name: tuple(one.sha256 for one in images) for name, images in shuffled_images(items, seed).items()}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("What is it?", "What is it?"),
        ("<image 1>\nWhat is it?", "What is it?"),
        ("What is it?\n<image 1> <image 2>", "What is it?"),
        ("a\n\n<image 1>\nb", "a\n\nb"),
        ("a\n\nb <image 1>", "a\n\nb"),
        ("In <image 1> and <image 2>, which?", "In and, which?"),
        ("See <image 1> <image 2> here", "See here"),
        ("See<image 1>here", "See here"),
        ("What is in <image 1>?", "What is in?"),
        ("Two (<image 1>) more", "Two more"),
        ("<image 1>", ""),
        ("two  blanks <image 1> stay  two", "two  blanks stay  two"),
        ("if x<image and y>1", "if x<image and y>1"),
    ],
)
def test_marks_leave_no_trace(text: str, left: str) -> None:
    item = with_images("i", "a", "b", question=text, context=text)
    changed = control(item, "text_only", {})
    assert changed is not None
    assert (changed.question, changed.context, changed.images) == (left, left, ())


@pytest.mark.parametrize("name", ["text_only", "options_only", "shuffled_images"])
def test_a_control_is_paired_with_its_item(name: str) -> None:
    item = with_images("i", "a", group_id="group", gold=2, context="A hint.")
    changed = control(item, name, {"i": (image_stub("b"),)})
    assert changed is not None
    assert (changed.id, changed.group_id, changed.gold, changed.choices) == ("i", "group", 2, item.choices)
    assert changed != item


def test_options_stay_alone() -> None:
    changed = control(with_images("i", "a", context="A hint."), "options_only", {})
    assert changed is not None
    assert (changed.question, changed.context, changed.images) == ("", "", ())
    assert control(make_item(), "options_only", {}) is not None, "text items have options too"


def test_where_there_is_nothing_to_take_away_or_to_leave() -> None:
    assert control(make_item(), "text_only", {}) is None
    assert control(make_item(), "shuffled_images", {}) is None
    assert control(with_images("i", "a"), "shuffled_images", {}) is None, "no others"
    yes_no = with_images("i", "a", answer_space="bool", choices=("Yes", "No"))
    assert control(yes_no, "options_only", {}) is None
    assert control(yes_no, "text_only", {}) is not None
    pictures = with_images("i", "a", "b", choices=("<image 1>", "<image 2>"))
    for name in ("text_only", "options_only", "shuffled_images"):
        assert control(pictures, name, {"i": (image_stub("x"), image_stub("y"))}) is None


def test_literal_marks_without_images_are_text() -> None:
    """An item without images may quote a mark; it stands for nothing."""
    assert control(make_item(choices=("<image 1>", "<b>", "<i>")), "options_only", {}) is not None


def test_an_unknown_control_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"no control 'textonly'; did you mean 'text_only'"):
        control(make_item(), "textonly", {})


@pytest.mark.parametrize("seed", range(5))
def test_no_item_keeps_its_image_and_every_image_is_used(seed: int) -> None:
    items = [with_images(f"i{number}", f"image {number}") for number in range(9)]
    given = shown(items, seed)
    assert set(given) == {item.id for item in items}
    assert Counter(given.values()) == Counter((f"image {number}",) for number in range(9))
    assert not [item for item in items if given[item.id] == (item.images[0].sha256,)]


def test_it_depends_on_the_seed_and_not_on_the_order_of_items() -> None:
    items = [with_images(f"i{number}", f"image {number}") for number in range(9)]
    assert shown(items) == shown(items[::-1])
    assert shown(items) != shown(items, 1)


def test_the_same_file_under_other_ids_is_the_same_image() -> None:
    """Three of four items show one picture: a derangement of items would give it to one of them again."""
    items = [with_images(f"i{number}", "same") for number in range(3)] + [with_images("other", "another")]
    assert shown(items) == {"i0": ("another",), "i1": ("another",), "i2": ("another",), "other": ("same",)}
    assert shown(items[:3]) == {}, "there is no other image"


def test_images_of_the_same_group_are_the_last_choice() -> None:
    """Two drawings of one scene: either would answer the other's question."""
    pair = [with_images("i0", "scene", group_id="g"), with_images("i1", "scene drawn anew", group_id="g")]
    for seed in range(6):
        given = shown([*pair, with_images("i2", "another")], seed)
        assert given["i0"] == given["i1"] == ("another",)
    assert shown(pair) == {"i0": ("scene drawn anew",), "i1": ("scene",)}


def test_images_change_among_items_with_as_many() -> None:
    items = [
        with_images("one", "a"),
        with_images("two", "b", "c"),
        with_images("three", "d", "e"),
        make_item(id="none"),
    ]
    assert shown(items) == {"two": ("d", "e"), "three": ("b", "c")}


def test_sets_that_share_an_image_are_no_others() -> None:
    items = [with_images("i0", "a", "b"), with_images("i1", "b", "a"), with_images("i2", "a", "c")]
    assert shown(items) == {}
    items.append(with_images("i3", "x", "y"))
    for seed in range(4):
        given = shown(items, seed)
        assert all(given[f"i{number}"] == ("x", "y") for number in range(3))
        assert set(given["i3"]) < {"a", "b", "c"}


def test_pictures_that_are_options_stay_where_they_are() -> None:
    items = [with_images("i0", "a"), with_images("i1", "b"), with_images("i2", "c", choices=("<image 1>", "none"))]
    assert shown(items) == {"i0": ("b",), "i1": ("a",)}
