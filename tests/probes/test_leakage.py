"""Training items that share something with the reported ones are found, dropped and told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from probes.leakage import shared_items
from probes.lm_head_lora import run_lm_head_lora
from tests.items import mcq
from tests.store.examples import record
from thinkgap.errors import DataError
from thinkgap.schema import TrainConfig
from thinkgap.types import ImageRef, Item


def image(name: str) -> ImageRef:
    return ImageRef(name, lambda: b"")


def shared(train: list[Item], evaluation: list[Item], known: bool = True) -> dict[str, str]:
    rows = [[record(one.id, group_id=one.group_id) for one in items] for items in (train, evaluation)]
    by_id: list[Any] = [{one.id: one for one in items} if known else None for items in (train, evaluation)]
    return shared_items(rows[0], rows[1], by_id[0], by_id[1])


def test_each_kind_of_leak_is_found_and_named() -> None:
    evaluation = [
        mcq("e1", group_id="g1", question="One?", images=(image("x"), image("y"))),
        mcq("e2", group_id="g2", question="Two?"),
    ]
    train = [
        mcq("e1", group_id="g7", question="Other?"),
        mcq("t2", group_id="g2", question="Other, of the same group?"),
        mcq("t3", group_id="g3", question="Other, same picture?", images=(image("z"), image("y"))),
        mcq("t4", group_id="g4", question="Two?", choices=("three", "twelve", "seventeen and a half"), gold=2),
        mcq("t5", group_id="g5", question="One?", images=(image("z"),)),
        mcq("t6", group_id="g6", question="Two?", choices=("twelve", "three"), gold=0),
    ]
    assert shared(train, evaluation) == {"e1": "item id", "t2": "group", "t3": "image", "t4": "question"}
    assert shared(train, evaluation, known=False) == {"e1": "item id", "t2": "group"}
    assert shared(train[4:], evaluation) == {}


def jsonl(file: Path, rows: list[dict[str, Any]]) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data set of which 2 of 6 training questions are asked again in its test split."""
    made = [
        {"question": f"What is {n} and {n}?", "choices": [str(2 * n), str(n), "7"], "answer": 0} for n in range(20, 30)
    ]
    jsonl(tmp_path / "set" / "train.jsonl", made[:6])
    jsonl(tmp_path / "set" / "test.jsonl", made[4:])
    return tmp_path / "set"


def test_shared_items_are_dropped_with_a_count(
    config: Callable[..., TrainConfig], folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cfg = config("dataset=jsonl", f"dataset.path={folder}", "probe.conditions=[direct]")
    sheet = run_lm_head_lora(cfg, tmp_path / "run")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["n_train_items"] == 4
    assert len(manifest["dropped_train_items"]) == 2
    assert manifest["adapters"]["direct"]["rows"] == 4
    assert any(note.startswith("2 of 6 training items share something") for note in sheet.notes)
    assert "2 of 6 training items share something" in caplog.text
    assert next(iter(manifest["dropped_train_items"])) in caplog.text, "named"


def test_training_on_what_is_reported_is_refused(
    config: Callable[..., TrainConfig], folder: Path, tmp_path: Path
) -> None:
    cfg = config("dataset=jsonl", f"dataset.path={folder}", "probe.fit=test")
    with pytest.raises(DataError, match=r"no training item is left .* give another probe.fit"):
        run_lm_head_lora(cfg, tmp_path / "run")
