"""The card shows the figures that it is given, says what a variant differs in, and refuses what is not there."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from thinkgap.demo.card import card, main, write_card
from thinkgap.errors import StoreError


def condition(start: float, **changes: Any) -> dict[str, Any]:
    """Figures that are all different."""
    return {
        "n": 8,
        "accuracy": start + 0.001,
        "first_slot": start + 0.002,
        "gold_first": start + 0.003,
        "label_mass": start + 0.004,
        "gold_rank": 7.5,
        "top_token": "A",
        "permutations": 3,
        "permuted_mean": start + 0.005,
        "permuted_sd": 0.0123,
        "generation": {"accuracy": start + 0.006, "unparsed": 5, "first_slot": 0.5, "tokens": 2.0, "example": "A"},
        "letters_reversed": {"accuracy": start + 0.007, "first_slot": start + 0.008, "letter_a": start + 0.009},
    } | changes


MEASURED: dict[str, Any] = {
    "model": "here",
    "items": 8,
    "chance": 0.321,
    "kinds": {"which digit": 0.111, "sum": 0.222},
    "options": {"2": 0.333, "5": 0.444},
    "captions": {"n": 66, "token_accuracy": 0.987},
    "conditions": {
        "direct": condition(0.9),
        "let_me_think": condition(0.1),
        "reasoning": condition(0.2, permuted_sd=None, label_mass=2e-7),
        "answer": condition(0.7),
    },
}
SETTINGS: dict[str, Any] = {
    "name": "demo_vlm",
    "steps": 4000,
    "seed": 3,
    "facts": 100,
    "phases": [
        {"start": 0.0, "lessons": {"caption": 5}, "new_layers": 0, "options": 2, "rate": 1.0, "sums": 0.0},
        {
            "start": 0.25,
            "lessons": {"direct": 7, "caption": 1},
            "new_layers": 2,
            "options": 3,
            "rate": 0.5,
            "sums": 0.25,
        },
    ],
    "mixture": {"words": 0.15, "cued": 0.5},
    "sizes": {"hidden": 128, "layers": 5},
    "matrix_rate": 0.01,
    "other_rate": 0.003,
    "more_options": 0.91,
    "validate_every": 250,
    "validation_facts": 600,
    "save_every": 100,
}
TRAINING: dict[str, Any] = {"settings": SETTINGS, "parameters": 1234567, "seconds": 3540.0, "threads": 2}


def variant(name: str, measured: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    settings = copy.deepcopy(SETTINGS) | {"name": name} | changes
    return {"name": name, "measured": measured or MEASURED, "training": TRAINING | {"settings": settings}}


def row(text: str, name: str, table: int = 0) -> list[str]:
    """Cells of the line of a table that begins with `name`, in the table of that number."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return [cells for cells in rows if cells[0] == name][table]


def test_tables_show_the_figures_that_were_measured() -> None:
    text = card("demo_vlm", MEASURED, TRAINING, [])
    assert row(text, "let_me_think") == [
        "let_me_think", "10.1%", "10.2%", "10.3%", "0.104", "7.5", "10.5 ± 1.2", "10.6%", "5"
    ]  # fmt: skip
    assert row(text, "reasoning")[4:7] == ["2.0e-07", "7.5", "20.5"]
    assert row(text, "direct", 1) == ["direct", "90.2%", "90.8%", "90.9%"]
    assert row(text, "accuracy") == ["accuracy", "11.1%", "22.2%", "33.3%", "44.4%"]
    assert row(text, "") == ["", "which digit", "sum", "2 options", "5 options"]
    assert "8 test items (32.1% by guessing)" in text
    assert "mean ± SD are over 3 orders" in text
    assert (
        "With the letters from last to first: 90.7% right. Captions of 66 test pictures: 98.7% of tokens right" in text
    )
    assert "1,234,567 parameters, trained from scratch in 59 minutes on 2 CPU thread(s)" in text
    assert "What it depends on" not in text


def test_the_training_is_told_from_its_settings() -> None:
    text = card("demo_vlm", MEASURED, TRAINING, [])
    assert row(text, "from step") == [
        "from step", "caption", "direct", "layers", "options from", "of the rates", "about sums"
    ]  # fmt: skip
    assert row(text, "0") == ["0", "5", "0", "5", "2", "1", "0"]
    assert row(text, "1,000") == ["1,000", "1", "7", "7", "3", "0.5", "0.25"]
    assert "Shares within the lessons: words 0.15, cued 0.5. No reply is wrong. Seed 3, 4,000 steps" in text
    assert "Muon (0.01) on matrices, AdamW (0.003) on the rest" in text
    assert "passes 91.0%" in text
    assert text.endswith("Rebuild: `python -m thinkgap.demo.train demo=demo_vlm`; see docs/demo_model.md.\n")
    other = card("demo_vlm_article", MEASURED, TRAINING, [])
    assert "python -m thinkgap.demo.train demo=article`" in other


@pytest.mark.parametrize(
    ("changes", "differs"),
    [
        ({}, "-"),
        ({"seed": 9, "validate_every": 5, "save_every": 7}, "-"),
        ({"mixture": {"words": 0.15, "cued": 0.0}}, "cued 0"),
        ({"mixture": {"words": 0.3, "cued": 0.25}}, "words 0.3, cued 0.25"),
        ({"phases": SETTINGS["phases"][:1]}, "lessons"),
        ({"steps": 20_000}, "20,000 steps"),
        ({"sizes": {"hidden": 64, "layers": 5}}, "hidden 64"),
        ({"facts": 50, "matrix_rate": 0.02}, "facts 50, matrix rate 0.02"),
        ({"mixture": {"words": 0.15, "cued": 0.0}, "steps": 8_000}, "cued 0, 8,000 steps"),
    ],
)
def test_a_variant_says_what_differs(changes: dict[str, Any], differs: str) -> None:
    text = card("demo_vlm", MEASURED, TRAINING, [variant("other", **changes)])
    assert row(text, "other")[1:3] == [differs, str(changes.get("seed", 3))]
    assert row(text, "demo_vlm")[1:3] == ["-", "3"]


def test_variants_are_read_under_the_triggers_only() -> None:
    measured = copy.deepcopy(MEASURED)
    measured["conditions"] = {"direct": condition(0.8), "reasoning": condition(0.3), "answer": condition(0.0)}
    text = card("demo_vlm", MEASURED, TRAINING, [variant("other", measured)])
    assert row(text, "demo_vlm")[3:] == [
        "90.1%", "10.1 to 20.1%", "10.2 to 20.2%", "10.9 to 20.9%", "10.6 to 20.6%"
    ]  # fmt: skip
    assert row(text, "other")[3:] == ["80.1%", "30.1%", "30.2%", "30.9%", "30.6%"]


def folder_of(root: Path, name: str, training: bool = True, measured: bool = True) -> Path:
    folder = root / name
    (folder / "model").mkdir(parents=True)
    found = variant(name)
    if training:
        (folder / "model" / "training.json").write_text(json.dumps(found["training"]), encoding="utf-8")
    if measured:
        (folder / "measured.json").write_text(json.dumps(found["measured"]), encoding="utf-8")
    points = [
        {"step": step, "loss/caption": 1 / step, "validation/direct": 0.5, "validation/direct/sum": 0.4}
        for step in (1, 2)
    ]
    (folder / "curves.jsonl").write_text("".join(json.dumps(point) + "\n" for point in points), encoding="utf-8")
    return folder


def test_the_card_is_written_into_the_models_folder(tmp_path: Path) -> None:
    first, second = folder_of(tmp_path, "one"), folder_of(tmp_path, "two")
    written = write_card(first, [second])
    assert written == first / "model" / "README.md"
    text = written.read_text(encoding="utf-8")
    assert text == card("one", MEASURED, variant("one")["training"], [variant("two")])
    assert text.startswith("---\n")
    assert row(text, "two")[0] == "two"


@pytest.mark.parametrize(
    ("there", "file", "way_out"),
    [
        ({"training": False}, "model/training.json", "start the training's command again to finish it"),
        ({"measured": False}, "measured.json", "run python -m thinkgap.demo.measure "),
    ],
)
def test_what_is_not_there_is_named_with_the_way_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], there: dict[str, bool], file: str, way_out: str
) -> None:
    good, bad = folder_of(tmp_path, "good"), folder_of(tmp_path, "bad", **there)
    for arguments in ((bad, []), (good, [bad])):
        with pytest.raises(StoreError) as caught:
            write_card(*arguments)
        assert f"{bad / file} is not there: {way_out}" in str(caught.value)
    assert main([str(good), str(bad)]) == 1
    assert capsys.readouterr().err.startswith(f"error: {bad / file} is not there")
    assert not (good / "model" / "README.md").exists()
    for file in ("measured.json", "model/training.json", "curves.jsonl"):
        kept = (good / file).read_text()
        (good / file).write_text("{")
        with pytest.raises(StoreError, match=file.rpartition("/")[2]):
            write_card(good)
        (good / file).write_text(kept)
