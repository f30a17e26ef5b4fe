"""`items.parquet`: there and back, and files that are none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thinkgap.errors import StoreError
from thinkgap.store.items import ITEMS_FILE, items_of_runs, read_items, write_items
from thinkgap.types import Item

ONE = Item("b", "g", "Which?", ("x", "y"), 1, "mcq", "test", "Hint.", subject="s", answer="y", meta={"level": "3"})
OTHER = Item("a", "g2", "What?", (), None, "open", "test", answer="7")


def test_there_and_back(tmp_path: Path) -> None:
    write_items(tmp_path, {"d": [ONE, OTHER]})
    table = read_items(tmp_path)
    assert table is not None
    first, second = table.to_pylist()
    assert (first["item_id"], first["k"], first["gold"], first["space"], first["meta"]) == ("a", 0, None, "open", [])
    assert second == {
        "dataset": "d",
        "item_id": "b",
        "group_id": "g",
        "split": "test",
        "subject": "s",
        "space": "mcq",
        "question": "Which?",
        "context": "Hint.",
        "choices": ["x", "y"],
        "k": 2,
        "gold": 1,
        "answer": "y",
        "images": [],
        "meta": [("level", "3")],
    }


def test_order_of_items_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    write_items(tmp_path / "one", {"d": [ONE, OTHER]})
    write_items(tmp_path / "other", {"d": [OTHER, ONE]})
    assert (tmp_path / "one" / ITEMS_FILE).read_bytes() == (tmp_path / "other" / ITEMS_FILE).read_bytes()


def test_what_is_no_such_file(tmp_path: Path) -> None:
    assert read_items(tmp_path) is None
    (tmp_path / ITEMS_FILE).write_bytes(b"no parquet")
    with pytest.raises(StoreError, match="is damaged"):
        read_items(tmp_path)
    pq.write_table(pa.table({"dataset": ["d"]}), tmp_path / ITEMS_FILE)
    with pytest.raises(StoreError, match="another version"):
        read_items(tmp_path)


def test_a_lone_surrogate_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be stored"):
        write_items(tmp_path, {"d": [Item("a", "g", "\ud800", (), None, "open", "test")]})


def test_items_of_several_runs_are_each_there_once_with_what_any_of_them_knows(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    runs = [tmp_path / name for name in ("one", "two", "bare", "other")]
    for run in runs:
        run.mkdir()
    write_items(runs[0], {"d": [OTHER]})
    write_items(runs[1], {"d": [ONE, replace(OTHER, meta={"type": "sum"})], "e": [ONE]})
    table = items_of_runs(runs[:2])
    assert table is not None
    assert table.select(["dataset", "item_id", "meta"]).to_pylist() == [
        {"dataset": "d", "item_id": "a", "meta": [("type", "sum")]},
        {"dataset": "d", "item_id": "b", "meta": [("level", "3")]},
        {"dataset": "e", "item_id": "b", "meta": [("level", "3")]},
    ]
    assert items_of_runs(runs[:3]) is None, "what is known of some of the items would not do"
    assert not caplog.records
    write_items(runs[3], {"d": [replace(ONE, question="Who?")]})
    assert items_of_runs([runs[1], runs[3]]) is None
    assert "item b of d is not the same in all of these runs" in caplog.text
