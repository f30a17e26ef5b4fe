"""Stable random choices: uniform, without repetition, and the same for the same key for ever."""

from __future__ import annotations

from collections import Counter

import pytest

from thinkgap.demo.world.draws import Deck, Draws


def test_the_stream_is_pinned() -> None:
    draws = Draws("pinned", 1)
    assert [draws.below(1000) for _ in range(5)] == [488, 668, 341, 964, 597]
    assert Draws("x", 1).below(10**9) == Draws("x", 1).below(10**9)
    assert len({Draws(*key).below(10**9) for key in (("x", 1), ("x", 2), ("y", 1), ("x", "1", ""))}) == 4


def test_choices_are_uniform() -> None:
    draws = Draws("uniform")
    counts = Counter(draws.below(7) for _ in range(7_000))
    assert set(counts) == set(range(7))
    assert all(count == pytest.approx(1_000, abs=150) for count in counts.values())
    assert sum(draws.chance(0.3) for _ in range(5_000)) == pytest.approx(1_500, abs=150)
    firsts = Counter(tuple(draws.several("abc", 2)) for _ in range(6_000))
    assert len(firsts) == 6
    assert all(count == pytest.approx(1_000, abs=150) for count in firsts.values())
    assert not draws.chance(0.0)
    assert draws.chance(1.0)


def test_nothing_is_drawn_twice_and_the_cards_stay_as_they_are() -> None:
    cards = list(range(10))
    drawn = Draws("several").shuffled(cards)
    assert sorted(drawn) == cards == list(range(10)) != drawn


def test_a_deck_deals_every_card_once_a_round() -> None:
    deck = Deck(Draws("deck"), "abcd")
    for _ in range(3):
        assert sorted(deck.draw() for _ in range(4)) == list("abcd")
