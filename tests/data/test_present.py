"""The identity presentation of each answer space."""

from __future__ import annotations

from data_examples import make_item

from thinkgap.data import identity


def test_options_are_lettered_in_the_sources_order() -> None:
    shown = identity(make_item(gold=2))
    assert (shown.order, shown.labels, shown.gold_slot, shown.name) == ((0, 1, 2), ("A", "B", "C"), 2, "identity")
    assert shown.contents == ("red", "green", "blue")


def test_bool_items_are_read_under_their_words() -> None:
    shown = identity(make_item(answer_space="bool", choices=("Yes", "No"), gold=1))
    assert (shown.labels, shown.contents, shown.gold_slot) == (("Yes", "No"), ("Yes", "No"), 1)


def test_open_items_have_no_slots() -> None:
    assert identity(make_item(answer_space="open", choices=(), gold=None)).k == 0
