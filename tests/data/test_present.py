"""The identity presentation of each answer space, other orders, and letters apart from slots."""

from __future__ import annotations

from collections import Counter

import pytest
from data_examples import make_item

from thinkgap.data import identity
from thinkgap.data.present import factorial, orders, permutations
from thinkgap.errors import ConfigError
from thinkgap.presentation_names import is_order
from thinkgap.schema import OrderDesign


def test_options_are_lettered_in_the_sources_order() -> None:
    shown = identity(make_item(gold=2))
    assert (shown.order, shown.labels, shown.gold_slot, shown.name) == ((0, 1, 2), ("A", "B", "C"), 2, "identity")
    assert shown.contents == ("red", "green", "blue")


def test_bool_items_are_read_under_their_words() -> None:
    shown = identity(make_item(answer_space="bool", choices=("Yes", "No"), gold=1))
    assert (shown.labels, shown.contents, shown.gold_slot) == (("Yes", "No"), ("Yes", "No"), 1)


def test_open_items_have_no_slots() -> None:
    assert identity(make_item(answer_space="open", choices=(), gold=None)).k == 0


def test_permutations_start_with_the_sources_order_and_are_named() -> None:
    shown = permutations(make_item(), 4, seed=0)
    assert shown[0] == identity(make_item())
    assert [one.name for one in shown] == ["identity", "permutation_1", "permutation_2", "permutation_3"]
    assert {one.labels for one in shown} == {("A", "B", "C")}, "letters are regenerated, contents move"


def test_an_items_orders_depend_on_the_seed_and_its_id_only() -> None:
    orders = [one.order for one in permutations(make_item(), 8, seed=3)]
    assert orders == [one.order for one in permutations(make_item(), 8, seed=3)]
    assert orders[:4] == [one.order for one in permutations(make_item(), 4, seed=3)], "more orders keep the first ones"
    assert orders != [one.order for one in permutations(make_item(), 8, seed=4)]
    assert orders != [one.order for one in permutations(make_item(id="another"), 8, seed=3)]
    assert orders[1:4] == [(1, 2, 0), (1, 0, 2), (0, 2, 1)], "no release of a library changes them"


def test_orders_are_uniform() -> None:
    counts = Counter(one.order for one in permutations(make_item(), 6001, seed=0)[1:])
    assert len(counts) == 6
    assert all(850 < count < 1150 for count in counts.values()), counts


def test_what_shows_no_options_has_one_order() -> None:
    assert len(permutations(make_item(answer_space="bool", choices=("Yes", "No"), gold=1), 5, seed=0)) == 1


def test_seeded_orders_are_the_permutations() -> None:
    item = make_item()
    assert orders(item, OrderDesign.seeded, 4, 3) == permutations(item, 4, 3)


def test_cyclic_orders_show_every_content_in_every_slot_once() -> None:
    shown = orders(make_item(choices=("a", "b", "c", "d")), OrderDesign.cyclic, 1, 0)
    assert [one.name for one in shown] == ["identity", "cyclic_1", "cyclic_2", "cyclic_3"]
    assert [one.order for one in shown] == [(0, 1, 2, 3), (1, 2, 3, 0), (2, 3, 0, 1), (3, 0, 1, 2)]
    assert {one.labels for one in shown} == {("A", "B", "C", "D")}


def test_all_orders_are_named_by_the_contents_of_their_slots() -> None:
    shown = orders(make_item(), OrderDesign.all, 1, 0)
    names = ["identity", "order_0-2-1", "order_1-0-2", "order_1-2-0", "order_2-0-1", "order_2-1-0"]
    assert [one.name for one in shown] == names
    assert [one.order for one in shown] == [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    five = make_item(choices=("a", "b", "c", "d", "e"))
    assert len({one.order for one in orders(five, OrderDesign.all, 1, 0)}) == 120


def test_all_orders_of_many_options_are_refused() -> None:
    six = make_item(choices=tuple("abcdef"))
    with pytest.raises(ConfigError, match="item i has 6: choose cyclic or seeded"):
        orders(six, OrderDesign.all, 1, 0)


@pytest.mark.parametrize("design", OrderDesign)
def test_yes_no_items_have_one_order_in_every_design(design: OrderDesign) -> None:
    item = make_item(answer_space="bool", choices=("Yes", "No"), gold=1)
    assert orders(item, design, 5, 0) == [identity(item)]
    assert factorial(item) == []


@pytest.mark.parametrize("k", [2, 3, 5])
def test_every_content_meets_every_slot_with_every_letter_once(k: int) -> None:
    item = make_item(choices=tuple(f"option {number}" for number in range(k)))
    shown = factorial(item)
    met = Counter(
        (content, slot, label)
        for one in shown
        for slot, (content, label) in enumerate(zip(one.order, one.labels, strict=True))
    )
    assert len(shown) == k * k
    assert len(met) == k**3
    assert set(met.values()) == {1}


def test_factorial_presentations_are_named_by_their_rotations() -> None:
    shown = {one.name: one for one in factorial(make_item())}
    assert list(shown) == [f"factorial_{a}_{b}" for a in range(3) for b in range(3)]
    assert (shown["factorial_1_2"].order, shown["factorial_1_2"].labels) == ((1, 2, 0), ("C", "A", "B"))
    plain = identity(make_item())
    assert (shown["factorial_0_0"].order, shown["factorial_0_0"].labels) == (plain.order, plain.labels)


def test_orders_are_told_from_other_presentations_by_name() -> None:
    names = [one.name for design in OrderDesign for one in orders(make_item(), design, 3, 0)]
    assert all(map(is_order, names))
    assert not any(map(is_order, ("letters_late", "factorial_0_0", "control_text_only")))
