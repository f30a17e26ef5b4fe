"""Ready-made label sets and how they go over the slots of an item."""

from __future__ import annotations

import pytest
from data_examples import make_item

from thinkgap.data.label_sets import with_labels
from thinkgap.data.present import identity
from thinkgap.errors import ConfigError
from thinkgap.presentation_names import LABEL_SETS
from thinkgap.types import LETTERS, Presentation


def options(k: int) -> tuple[str, ...]:
    return tuple(f"option {number}" for number in range(k))


@pytest.mark.parametrize("name", LABEL_SETS)
def test_labels_are_single_characters_that_differ(name: str) -> None:
    labels = LABEL_SETS[name].labels
    assert len(labels) == len(set(labels)) >= 9
    if name not in ("numeric", "roman"):
        assert all(len(label) == 1 and not label.isspace() for label in labels)


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("reversed", ("C", "B", "A")),
        ("late", ("P", "Q", "R")),
        ("lower", ("a", "b", "c")),
        ("numeric", ("1", "2", "3")),
        ("roman", ("i", "ii", "iii")),
        ("digits", ("1", "2", "3")),
        ("greek", ("α", "β", "γ")),
        ("cyrillic", ("Б", "Г", "Д")),
        ("nonword", ("#", "@", "&")),
    ],
)
def test_only_the_labels_change(name: str, labels: tuple[str, ...]) -> None:
    item = make_item(gold=2)
    shown = Presentation(item, (2, 0, 1), identity(item).labels)
    assert with_labels(shown, name) == Presentation(item, (2, 0, 1), labels, f"letters_{name}")


def test_no_set_shares_a_label_with_the_first_letters_but_reversed() -> None:
    """Else a preference for the token A would show under that set too; Cyrillic А and Greek Α only look like it."""
    for name, one in LABEL_SETS.items():
        if name != "reversed":
            assert not set(one.labels) & set(LETTERS[:10] + "АВЕКМНОРСТУХ" + "ΑΒΕ"), name


def test_a_set_too_short_leaves_the_item_out() -> None:
    nine, ten, eleven = (identity(make_item(choices=options(k))) for k in (9, 10, 11))
    assert with_labels(nine, "digits") is not None
    assert with_labels(ten, "digits") is None
    for name in ("late", "greek", "cyrillic", "nonword"):
        assert with_labels(ten, name) is not None
        assert with_labels(eleven, name) is None
    for name, most in (("lower", 20), ("numeric", 20), ("roman", 17)):
        assert with_labels(identity(make_item(choices=options(most))), name) is not None
        assert with_labels(identity(make_item(choices=options(most + 1))), name) is None
    reversed_ten = with_labels(ten, "reversed")
    assert reversed_ten is not None
    assert reversed_ten.labels == tuple("JIHGFEDCBA")


def test_what_shows_no_letters_has_no_other_labels() -> None:
    assert with_labels(identity(make_item(answer_space="bool", choices=("Yes", "No"), gold=1)), "digits") is None
    assert with_labels(identity(make_item(answer_space="open", choices=(), gold=None)), "digits") is None


def test_an_unknown_set_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"no label set 'greeks'; did you mean 'greek'"):
        with_labels(identity(make_item()), "greeks")
