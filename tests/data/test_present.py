"""The identity presentation of each answer space, and seeded permutations."""

from __future__ import annotations

from collections import Counter

from data_examples import make_item

from thinkgap.data import identity
from thinkgap.data.present import permutations


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
