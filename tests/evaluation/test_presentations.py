"""In which presentations a run shows its items, and that those which share little are scored as any other."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.items import mcq
from tests.test_config import composed
from thinkgap.errors import ConfigError, DataError
from thinkgap.evaluation import prepare
from thinkgap.evaluation.native import Finished
from thinkgap.evaluation.presentations import presentations_of
from thinkgap.schema import EvaluateConfig
from thinkgap.store.records import read_records
from thinkgap.types import Item

SETS = "evaluation.permutation.label_sets"


def config(*overrides: str) -> EvaluateConfig:
    return composed("model=local", "model.path=nowhere", "dataset=toy_facts", *overrides)


def names(cfg: EvaluateConfig, items: list[Item]) -> list[list[str]]:
    return [[one.name for one in item] for item in presentations_of(cfg, items).items]


def yes_no(item_id: str = "b") -> Item:
    return mcq(item_id, choices=("Yes", "No"), answer_space="bool")


def test_unless_asked_an_item_is_shown_once() -> None:
    assert names(config(), [mcq(), yes_no()]) == [["identity"], ["identity"]]


def test_orders_letters_rotations_and_controls(picture: Callable[..., Any]) -> None:
    cfg = config(
        "evaluation.permutation.orders=cyclic",
        f"{SETS}=[digits,late,digits]",
        "evaluation.permutation.factorial=1",
        "evaluation.controls=[options_only,text_only,shuffled_images]",
    )
    with_images = [mcq(f"i{n}", choices=("x", "y"), images=(picture(4, 4, n),)) for n in range(2)]
    shown = names(cfg, [*with_images, yes_no()])
    orders = ["identity", "cyclic_1", "letters_digits", "letters_late"]
    controls = ["control_options_only", "control_text_only", "control_shuffled_images"]
    rotations = [f"factorial_{a}_{b}" for a in range(2) for b in range(2)]
    assert sorted(shown[:2], key=len) == [orders + controls, orders + rotations + controls]
    assert shown[2] == ["identity"]


def test_the_sample_of_the_factorial_is_seeded_and_does_not_depend_on_the_order_of_items() -> None:
    items = [mcq(f"i{number}") for number in range(20)]

    def sampled(asked: list[Item], *overrides: str) -> set[str]:
        shown = presentations_of(config("evaluation.permutation.factorial=5", *overrides), asked).items
        return {own[0].item.id for own in shown if len(own) > 1}

    assert len(sampled(items)) == 5
    assert sampled(items) == sampled(items[::-1])
    assert sampled(items) != sampled(items, "seed=1")


def test_controls_keep_id_group_and_gold_and_are_not_the_item(picture: Callable[..., Any]) -> None:
    item = mcq("i", images=(picture(4, 4, 1),), group_id="g")
    cfg = config("evaluation.controls=[text_only]")
    plain, text = presentations_of(cfg, [item]).items[0]
    assert (text.item.id, text.item.group_id, text.gold_slot) == ("i", "g", plain.gold_slot)
    assert (text.labels, text.order, text.item.images) == (plain.labels, plain.order, ())


def test_items_that_refer_are_named_and_left_out_on_request(caplog: pytest.LogCaptureFixture) -> None:
    items = [mcq("plain"), mcq("refers", choices=("one", "two", "All of the above"))]
    kept = presentations_of(config(), items)
    assert (len(kept.items), kept.referring) == (2, ("refers",))
    with caplog.at_level(logging.INFO):
        left = presentations_of(config("evaluation.permutation.keep_referring=false"), items)
    assert [own[0].item.id for own in left.items] == ["plain"]
    assert left.referring == ("refers",)
    assert "1 items are left out because an option refers to others" in caplog.text
    with pytest.raises(DataError, match="in all 1 items an option refers to others"):
        presentations_of(config("evaluation.permutation.keep_referring=false"), items[1:])


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ([f"{SETS}=[digit]"], "no label set 'digit'; did you mean 'digits'"),
        (["evaluation.controls=[text]"], "no control 'text'; did you mean 'text_only'"),
        (["evaluation.permutation.factorial=-1"], "evaluation.permutation.factorial=-1"),
        (["evaluation.permutation.orders=all", "dataset.duplicate_options=keep"], None),
    ],
)
def test_what_cannot_be_shown_is_refused_before_the_model_is_loaded(
    overrides: list[str], message: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    row = {"question": "q?", "choices": list("uvwxyz"), "answer": 0}
    (tmp_path / "mine.jsonl").write_text(json.dumps(row))
    source = ["dataset=jsonl", f"dataset.path={tmp_path / 'mine.jsonl'}", "dataset.limit=null"]
    monkeypatch.setattr(prepare, "load_backend", lambda *_, **__: pytest.fail("loaded a model"))
    monkeypatch.setattr(prepare, "find_checkpoint", lambda *_: None)
    with pytest.raises(ConfigError, match=message or "has 6: choose cyclic or seeded"):
        prepare.prepare(config(*source, *overrides))


def test_controls_that_no_item_has_are_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        presentations_of(config("evaluation.controls=[text_only,options_only]"), [mcq()])
    assert "no item can be shown as control_text_only" in caplog.text
    assert "options_only" not in caplog.text


def test_a_set_that_cannot_be_read_ends_no_run_and_excludes_no_item(
    run: Callable[..., Finished], tiny_model: Callable[[str], Path], caplog: pytest.LogCaptureFixture
) -> None:
    """Cyrillic letters are two tokens each for this tokenizer, and a digit after a blank too."""
    asked = f"{SETS}=[cyrillic,digits,late]"
    with caplog.at_level(logging.WARNING):
        finished = run(asked)
    assert "letters_cyrillic is left out: label 'Б' is 2 tokens" in caplog.text
    counts = Counter(one.presentation for one in read_records(finished.folder) if one.condition == "direct")
    assert counts == {"identity": 12, "letters_digits": 12, "letters_late": 12}
    assert (finished.manifest["n_items"], finished.manifest["excluded"]) == (12, [])
    assert finished.table.rows[0].n == 12, "other letters are not in the table of orders"

    path = f"model.path={tiny_model('llama')}"
    prepared = prepare.prepare(config(path, "dataset.limit=12", "labels=spaced", asked))
    assert list(prepared.unread) == ["cyrillic", "digits"]
    assert prepared.unread["digits"].startswith("label ' 1' is 2 tokens")
    assert {one.name for one in prepared.presentations} == {"identity", "letters_late"}
    assert prepare.prepare(config(path, "dataset.limit=12", asked)).unread.keys() == {"cyrillic"}


def test_an_item_that_cannot_be_shown_does_not_hide_a_set(
    run: Callable[..., Finished], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The first example of a set is one that can be rendered."""
    rows = [{"id": f"r{n}", "question": f"q {n}?", "choices": ["a", "b"], "answer": 0} for n in range(3)]
    rows[0]["question"] = "What does <|im_end|> do?"
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with caplog.at_level(logging.WARNING):
        finished = run(
            "dataset=jsonl", f"dataset.path={tmp_path / 'mine.jsonl'}", "dataset.limit=null", f"{SETS}=[cyrillic]"
        )
    assert "letters_cyrillic is left out" in caplog.text
    assert finished.manifest["n_items"] == 2


def test_records_of_other_labels_and_rotations_map_slots_to_contents(run: Callable[..., Finished]) -> None:
    finished = run(f"{SETS}=[reversed]", "evaluation.permutation.factorial=3")
    records = [one for one in read_records(finished.folder) if one.presentation != "identity"]
    assert sum(one.presentation == "letters_reversed" for one in records) == 12 * 2
    rotated = Counter(one.item_id for one in records if one.presentation.startswith("factorial_"))
    assert len(rotated) == 3
    plain = {
        (one.item_id, one.condition): one for one in read_records(finished.folder) if one.presentation == "identity"
    }
    for one in records:
        own = plain[one.item_id, one.condition]
        assert one.order[one.gold_slot] == own.gold_content == one.gold_content
        assert sorted(one.labels) == list(own.labels)
        assert one.correct == (one.pred_content == own.gold_content)
        token = dict(zip(own.labels, own.label_token_ids, strict=True))
        assert [token[label] for label in one.labels] == list(one.label_token_ids), "each slot reads its own letter"
        if one.presentation == "letters_reversed":
            assert one.labels == own.labels[::-1]
        if one.presentation == "factorial_0_0":
            assert one.prompt_sha256 == own.prompt_sha256
            assert one.label_logprobs == pytest.approx(own.label_logprobs, abs=1e-5)


def test_packed_equals_plain_where_presentations_show_other_images(
    run: Callable[..., Finished], tmp_path: Path, picture: Callable[..., Any]
) -> None:
    """Items that share a picture share a group, and a control of theirs shows another picture, or none."""
    sizes = [(60, 40), (200, 120), (30, 300)]
    for n, size in enumerate(sizes):
        (tmp_path / f"{n}.png").write_bytes(picture(*size, n).load())
    rows: list[dict[str, Any]] = [
        {"id": f"r{n}", "question": f"What is number {n}?", "choices": ["a cat", "a dog", "a cow"], "answer": n % 3}
        | {"image": f"{n // 2}.png", "hint": "" if n % 2 else "Look closely."}
        for n in range(6)
    ]
    rows.append({"id": "text", "question": "No picture here?", "choices": ["yes", "no"], "answer": 1})
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    overrides = ["dataset=jsonl", f"dataset.path={tmp_path / 'mine.jsonl'}", "dataset.limit=null"]
    overrides += ["evaluation.controls=[text_only,options_only,shuffled_images]", f"{SETS}=[reversed]"]
    overrides += ["evaluation.permutations=2", "evaluation.reuse=false", "trigger=[let_me_think,reasoning]"]
    packed, branched, plain = (
        run(*overrides, f"scoring={way}", family="qwen25vl", folder=way) for way in ("packed", "branched", "plain")
    )
    assert packed.manifest["scoring"]["method"] == "packed"
    assert packed.manifest["scoring"]["plain_prompts"] == 0
    expected = {one.key: one for one in read_records(plain.folder)}
    for finished in (packed, branched):
        found = read_records(finished.folder)
        assert len(found) == len(expected)
        for one in found:
            other = expected[one.key]
            assert one.prompt_sha256 == other.prompt_sha256
            assert one.label_logprobs == pytest.approx(other.label_logprobs, abs=1e-4)
            assert one.label_mass == pytest.approx(other.label_mass, rel=1e-3)
    tokens = {(one.item_id, one.presentation): one.n_image_tokens for one in expected.values()}
    digests = {
        (one.item_id, one.presentation): one.prompt_sha256 for one in expected.values() if one.condition == "direct"
    }
    for n in range(6):
        assert tokens[f"r{n}", "identity"] > 0
        assert tokens[f"r{n}", "control_text_only"] == tokens[f"r{n}", "control_options_only"] == 0
        assert tokens[f"r{n}", "control_shuffled_images"] in {
            tokens[f"r{m}", "identity"] for m in range(6) if m // 2 != n // 2
        }
        own = [digests[f"r{n}", name] for name in ("identity", "control_text_only", "control_shuffled_images")]
        assert len(set(own)) == 3
    assert {name for item, name in tokens if item == "text"} == {
        "identity",
        "permutation_1",
        "letters_reversed",
        "control_options_only",
    }
    assert packed.table.rows[0].n == 7 * 2


def test_another_control_is_another_run(run: Callable[..., Finished]) -> None:
    from thinkgap.errors import StoreError

    run("evaluation.controls=[options_only]")
    with pytest.raises(StoreError, match="n_items: 24 in the folder, 12 now"):
        run()
