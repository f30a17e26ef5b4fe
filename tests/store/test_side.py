"""Side tables: written whole, read back, refused when damaged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from thinkgap.errors import StoreError
from thinkgap.store.side import REPLIES, read_side, write_side


def row(item: str, condition: str, **changes: Any) -> dict[str, Any]:
    values: dict[str, Any] = {
        "item_id": item,
        "presentation": "identity",
        "condition": condition,
        "prompt_sha256": "0",
        "text": "The answer is <B>.\n",
        "n_tokens": 4,
        "finish": "stop",
        "status": "ok",
        "rule": "statement",
        "answer": None,
        "permissive": "B",
        "first_token_id": 3,
        "first_token": " The",
        "forced_slot": 1,
        "forced_difference": 1e-7,
    }
    return values | changes


def test_there_and_back_in_a_fixed_order(tmp_path: Path) -> None:
    assert read_side(tmp_path, "replies") is None
    write_side(tmp_path, "replies", [row("b", "let"), row("a", "let"), row("c", "direct")], REPLIES)
    found = read_side(tmp_path, "replies")
    assert found is not None
    assert list(zip(found["condition"], found["item_id"], strict=True)) == [("direct", "c"), ("let", "a"), ("let", "b")]
    assert found["text"].tolist() == ["The answer is <B>.\n"] * 3
    assert [answer for answer in found["answer"] if isinstance(answer, str)] == []


def test_what_cannot_be_stored_or_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"replies\.parquet cannot be stored"):
        write_side(tmp_path, "replies", [row("a", "let", n_tokens="many")], REPLIES)
    path = write_side(tmp_path, "replies", [row("a", "let")], REPLIES)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(StoreError, match="damaged"):
        read_side(tmp_path, "replies")
