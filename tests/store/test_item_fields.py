"""Fields to group items by: which there are, what an item has of them, and in which order values come."""

from __future__ import annotations

from pathlib import Path

import pytest

from thinkgap.errors import ConfigError
from thinkgap.store.item_fields import check_fields, field_values, natural, sheet_name
from thinkgap.store.items import read_items, write_items
from thinkgap.types import Item

ITEMS = (
    Item("a", "g", "?", ("x", "y"), 0, "mcq", "test", subject="s", meta={"level": "Level 2", "subject": "not this"}),
    Item("b", "g", "?", ("x", "y", "z"), 0, "mcq", "test", subject="s", meta={"level": "Level 10"}),
    Item("c", "h", "?", (), None, "open", "test", answer="7", meta={"area": ""}),
)


def values(folder: Path, *by: str) -> dict[str, tuple[str, ...]]:
    write_items(folder, {"d": ITEMS})
    table = read_items(folder)
    assert table is not None
    found = field_values(table, by)
    assert {dataset for dataset, _ in found} == {"d"}
    return {item: value for (_, item), value in found.items()}


def test_every_item_has_its_values_or_says_that_it_has_none(tmp_path: Path) -> None:
    assert values(tmp_path, "level", "k") == {"a": ("Level 2", "2"), "b": ("Level 10", "3"), "c": ("(none)", "0")}
    assert values(tmp_path, "subject", "space", "group", "split") == {
        "a": ("s", "mcq", "g", "test"),
        "b": ("s", "mcq", "g", "test"),
        "c": ("(none)", "open", "h", "test"),
    }


@pytest.mark.parametrize(
    ("by", "message"),
    [
        (["levle"], "no item has a field 'levle'; did you mean 'level'?.*group, k, level, space, split, subject"),
        (["qqq"], "no item has a field 'qqq'; known: group, k, level, space, split, subject"),
        (["area"], "no item has a field 'area'"),  # there, and empty in all of them
        (["k", "k"], "name each field once"),
    ],
)  # fmt: skip
def test_fields_that_no_item_has_are_refused(by: list[str], message: str, tmp_path: Path) -> None:
    for refused in (lambda: check_fields(by, ITEMS), lambda: values(tmp_path, *by)):
        with pytest.raises(ConfigError, match=message.replace("?.*", r"\?.*")):
            refused()
    check_fields(["level", "k"], ITEMS)
    check_fields([], [])


def test_values_are_sorted_as_people_do() -> None:
    given = ["(none)", "Level 10", "Level 2", "10", "9", "b", "grade²"]
    assert [key for (key,) in sorted(((one,) for one in given), key=natural)] == [
        *("9", "10", "Level 2", "Level 10", "b", "grade²", "(none)")
    ]
    assert sorted([("a", "10"), ("a", "9"), ("(none)", "1")], key=natural)[-1] == ("(none)", "1")


def test_the_name_of_a_sheet_is_that_of_a_file() -> None:
    assert sheet_name(["subject", "k"]) == "by_subject_k"
    assert sheet_name(["../a b", "L2-category"]) == "by_..-a-b_L2-category"
