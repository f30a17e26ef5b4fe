"""Rewrites that a run asks for: matched items, hardest negatives of a real run, and settings that are refused."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.evaluation.no_thinking_runs import settings, started
from tests.items import mcq
from tests.test_config import composed
from thinkgap.data.verification import PROPOSED
from thinkgap.errors import ConfigError, DataError, StoreError
from thinkgap.evaluation.asking import load_datasets
from thinkgap.evaluation.native import Finished
from thinkgap.evaluation.variants import load_items, rankings_of, shown_variants
from thinkgap.schema import EvaluateConfig
from thinkgap.store.records import read_records

V = "evaluation.variants"
ROWS: tuple[dict[str, Any], ...] = (
    {"question": "How many legs has an ant?", "choices": ["6", "8", "4"], "answer": 0},
    {"question": "Which of the following is prime?", "choices": ["4", "7"], "answer": 1},
    {"question": "Which of these is prime?", "choices": ["4", "7"], "answer": 1},
    {"question": "Which of the following is even?", "choices": ["4", "7"], "answer": 0},
    {"question": "What barks?", "choices": ["a dog", "a cat"], "answer": 0},
    {"question": "What is a half?", "choices": ["1/2", "0.5"], "answer": 0},
    {"question": "What is 2 + 2?", "choices": ["4", "All of the above"], "answer": 0},
    {"question": "What is 5 x 5? Choose one answer from the following:", "choices": ["25", "10"], "answer": 0},
    {"question": "Does ice float?", "answer": True},
)


@pytest.fixture
def rows(tmp_path: Path) -> Callable[..., EvaluateConfig]:
    """`rows(*overrides)`: settings of a run on `ROWS`, whose ids are r0, r1, ..."""
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps({"id": f"r{n}", **row}) + "\n" for n, row in enumerate(ROWS)), encoding="utf-8")

    def config(*overrides: str) -> EvaluateConfig:
        return settings("model=local", "model.path=nowhere", *overrides, items=file)

    return config


def ids(cfg: EvaluateConfig) -> list[str]:
    return [item.id for item in load_items(cfg, cfg.dataset).items]


def test_matched_keeps_what_can_be_shown_in_every_way_and_counts_the_rest(
    rows: Callable[..., EvaluateConfig],
) -> None:
    asked = f"{V}.rewrites=[verification,open_numeric]"
    assert len(ids(rows(asked))) == len(ROWS), "unless asked, an item that cannot be rewritten is shown all the same"
    cfg = rows(asked, f"{V}.matched=true")
    loaded = load_items(cfg, cfg.dataset)
    assert [item.id for item in loaded.items] == ["r0", "r7"]
    no_wrong = "verification: no wrong option stands for itself and differs from the right one"
    assert loaded.n_filtered == {
        "open_numeric: its question depends on the options (which_of_following)": 2,
        "open_numeric: its question depends on the options (which_of_these)": 1,
        "open_numeric: its right option is no plain number": 1,
        no_wrong: 2,
        "verification: it has no options": 1,
    }
    assert len(loaded.items) + sum(loaded.n_filtered.values()) == loaded.n_rows
    shown = shown_variants(cfg, loaded.items)
    assert [[one.name for one in item.shown] for item in shown] == [
        ["verification_positive", "verification_negative", "open_numeric"]
    ] * 2
    assert not any(item.missing for item in shown)


def test_a_limit_counts_matched_items_and_does_not_depend_on_the_others(rows: Callable[..., EvaluateConfig]) -> None:
    asked = [f"{V}.rewrites=[open_text]", f"{V}.matched=true"]
    assert ids(rows(*asked)) == ["r0", "r4", "r5", "r6", "r7"]
    assert len(ids(rows(*asked, "dataset.limit=2"))) == 2
    assert set(ids(rows(*asked, "dataset.limit=2"))) < set(ids(rows(*asked, "dataset.limit=4")))


def test_matched_counts_are_in_the_manifest(
    rows: Callable[..., EvaluateConfig], tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    cfg = rows(f"model.path={tiny_model('llama')}", f"{V}.rewrites=[open_text]", f"{V}.matched=true")
    _, stored, manifest = started(cfg, tmp_path / "run")
    (described,) = manifest["datasets"].values()
    assert described["items"] == 5
    assert sum(described["filtered"].values()) == 4
    assert described["filtered"]["open_text: its question depends on the options (which_of_these)"] == 1
    assert {(row["item_id"], row["presentation"]) for row in stored} == {
        (item, presentation) for item in ("r0", "r4", "r5", "r6", "r7") for presentation in ("identity", "open_text")
    }
    opened = [row for row in stored if row["presentation"] == "open_text"]
    assert all(row["correct"] is not None and not row["undecided"] for row in opened)


def test_items_without_a_rewrite_are_told(
    rows: Callable[..., EvaluateConfig], caplog: pytest.LogCaptureFixture
) -> None:
    cfg = rows(f"{V}.rewrites=[open_text]")
    with caplog.at_level(logging.INFO):
        shown_variants(cfg, load_items(cfg, cfg.dataset).items)
    assert "4 of 9 items have no open_text: its question depends on the options" in caplog.text


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ([f"{V}.rewrites=[verify]"], "no rewrite 'verify'.*verification"),
        ([f"{V}.surface=[bullet]"], "no perturbation 'bullet'; did you mean 'bullets'"),
        ([f"{V}.matched=true"], "name some in evaluation.variants.rewrites or .surface"),
        ([f"{V}.negative=hardest"], "hardest_from=RUN"),
        ([f"{V}.hardest_from=somewhere"], "hardest_from=RUN"),
    ],
)
def test_settings_that_cannot_be_used(
    rows: Callable[..., EvaluateConfig], overrides: Sequence[str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        load_datasets(rows(*overrides))


def test_matched_without_any_item_says_what_removed_them(tmp_path: Path) -> None:
    file = tmp_path / "boolean.jsonl"
    file.write_text(json.dumps({"question": "Does ice float?", "answer": True}), encoding="utf-8")
    cfg = settings(f"{V}.rewrites=[open_numeric]", f"{V}.matched=true", items=file)
    with pytest.raises(DataError, match="open_numeric: it has no options removed 1"):
        load_items(cfg, cfg.dataset)


def test_hardest_negatives_are_the_second_labels_of_a_run(run: Callable[..., Finished], tmp_path: Path) -> None:
    earlier = run("evaluation.permutations=2", folder="earlier")
    config = earlier.manifest["config"]
    model = f"model.path={config['model']['path']}"
    hardest = [f"{V}.rewrites=[verification]", f"{V}.negative=hardest", f"{V}.hardest_from={earlier.folder}"]
    cfg = composed("model=local", model, "dataset=toy_facts", "dataset.limit=12", "logger=none", *hardest)
    items = load_items(cfg, cfg.dataset).items
    plain = {
        one.item_id: one
        for one in read_records(earlier.folder)
        if (one.presentation, one.condition, one.readout) == ("identity", "direct", "native")
    }
    assert plain.keys() == {item.id for item in items}
    proposed = {}
    for item, variants in zip(items, shown_variants(cfg, items), strict=True):
        positive, negative = variants.shown
        logprobs = plain[item.id].label_logprobs
        wrong = [content for content in range(len(item.choices)) if content != item.gold]
        assert int(negative.item.meta[PROPOSED]) == max(wrong, key=lambda content: logprobs[content])
        assert int(positive.item.meta[PROPOSED]) == item.gold
        proposed[item.id] = int(negative.item.meta[PROPOSED])
    later = run(*hardest, folder="later")
    presentations = {one.presentation for one in read_records(later.folder)}
    assert presentations == {"identity", "verification_positive", "verification_negative"}
    with pytest.raises(ConfigError, match="is a run of .*, not of elsewhere"):
        rankings_of(composed("model=local", "model.path=elsewhere", "dataset=toy_facts", *hardest))
    with pytest.raises(ConfigError, match="is a run on toy_facts, not on boolq"):
        rankings_of(composed("model=local", model, "dataset=boolq", *hardest))
    with pytest.raises(StoreError):
        rankings_of(composed("model=local", model, "dataset=toy_facts", *hardest[:2], f"{V}.hardest_from={tmp_path}"))


def test_an_item_that_the_earlier_run_did_not_read_has_no_hardest_negative(run: Callable[..., Finished]) -> None:
    earlier = run("dataset.limit=4", folder="earlier")
    model = f"model.path={earlier.manifest['config']['model']['path']}"
    hardest = [f"{V}.rewrites=[verification]", f"{V}.negative=hardest", f"{V}.hardest_from={earlier.folder}"]
    cfg = composed("model=local", model, "dataset=toy_facts", "dataset.limit=12", *hardest)
    found = shown_variants(cfg, [*load_items(cfg, cfg.dataset).items, mcq("unknown")])
    missing = [one.missing for one in found if one.missing]
    assert missing == [{"verification": "the earlier run has no reading of it"}] * 9
    matched = composed("model=local", model, "dataset=toy_facts", "dataset.limit=12", *hardest, f"{V}.matched=true")
    assert len(load_items(matched, matched.dataset).items) == 4
