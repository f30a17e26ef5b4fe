"""The adapters on real rows of nine public sets, read from where they are and never copied."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from data_examples import load

from tests.nothinking.examples import answered
from thinkgap.data import LoadedDataset, identity
from thinkgap.data.images import check_image
from thinkgap.data.mmlu import AREAS
from thinkgap.data.mmmu import MMMU_10
from thinkgap.evaluation.asking import question_of
from thinkgap.nothinking.analyse import analyse
from thinkgap.nothinking.store import to_table
from thinkgap.nothinking.tables import response_sheets
from thinkgap.schema import DuplicateOptions, ImageFilter


@cache
def _load(folder: Path, name: str, split: str) -> LoadedDataset:
    return load(name, folder / name, split=split, duplicate_options=DuplicateOptions.keep)


@pytest.mark.parametrize(
    ("name", "split", "rows", "bad"),
    [
        ("boolq", "validation", 3_270, 0),
        ("strategyqa", "test", 2_290, 0),
        ("mmlu", "test", 14_042, 0),
        ("mmlu", "dev", 285, 0),
        ("mmlu", "validation", 1_531, 0),
        ("mmlu_pro", "test", 12_032, 1),
        ("gsm8k", "test", 1_319, 0),
        ("math", "test", 500, 0),
        ("scienceqa", "test", 328, 0),
        ("scienceqa", "train", 520, 0),
        ("scienceqa", "validation", 180, 0),
        ("mmmu", "validation", 9, 0),
        ("mmbench", "dev", 15, 0),
    ],
)
def test_counts(shared_data: Path, name: str, split: str, rows: int, bad: int) -> None:
    loaded = _load(shared_data, name, split)
    assert (loaded.n_rows, len(loaded.bad), len(loaded.items)) == (rows, bad, rows - bad)
    assert len({item.id for item in loaded.items}) == len(loaded.items)
    for item in loaded.items:
        shown = identity(item)
        assert item.answer.strip()
        assert item.group_id
        assert item.gold is None or shown.contents[shown.gold_slot] == item.answer


@pytest.mark.parametrize(
    ("name", "split", "complete"),
    [
        ("boolq", "validation", True),
        ("mmlu", "test", True),
        ("mmlu_pro", "test", True),
        ("gsm8k", "test", True),
        ("math", "test", False),
        ("scienceqa", "test", False),
        ("strategyqa", "test", False),
    ],
)
def test_published_counts(shared_data: Path, name: str, split: str, complete: bool) -> None:
    assert any("the published" in note for note in _load(shared_data, name, split).notes) is not complete


@pytest.mark.parametrize(
    ("name", "split", "sizes"),
    [
        ("scienceqa", "test", {2: 192, 3: 62, 4: 70, 5: 4}),
        ("mmbench", "dev", {3: 2, 4: 13}),
        ("mmmu", "validation", {4: 8, 5: 1}),
        ("mmlu", "test", {4: 14_042}),
        ("mmlu_pro", "test", {3: 20, 4: 607, 5: 52, 6: 92, 7: 157, 8: 320, 9: 801, 10: 9_982}),
        ("boolq", "validation", {2: 3_270}),
        ("gsm8k", "test", {0: 1_319}),
    ],
)
def test_numbers_of_options(shared_data: Path, name: str, split: str, sizes: dict[int, int]) -> None:
    assert Counter(len(item.choices) for item in _load(shared_data, name, split).items) == sizes


def test_mmlu_areas(shared_data: Path) -> None:
    items = _load(shared_data, "mmlu", "test").items
    sizes = Counter(item.meta["area"] for item in items)
    assert sizes == {"STEM": 3_153, "humanities": 4_705, "social": 3_077, "other": 3_107}
    assert len({item.subject for item in items}) == 57
    assert all(item.meta["area"] == AREAS[item.subject] for item in items)


def test_tables_by_mmlu_area_have_the_studys_sizes(shared_data: Path) -> None:
    """Every item answered once: n by area is 4,705, 3,077, 3,153 and 3,107, and anatomy's 135 are among STEM's."""
    said = analyse(answered("\\boxed{A}", mode="strict"), model="m")
    questions = [question_of("mmlu", identity(item)) for item in _load(shared_data, "mmlu", "test").items]
    rows = [replace(said, answered=replace(said.answered, question=one)) for one in questions]
    sheets = {sheet.name: sheet for sheet in response_sheets(to_table(rows).to_pandas())}
    areas = sheets["nothinking_areas"]
    assert [column.name for column in areas.columns[:5]] == ["model", "dataset", "area", "mode", "n"]
    assert {row[2]: row[4] for row in areas.rows} == {
        "STEM": 3_153,
        "humanities": 4_705,
        "other": 3_107,
        "social": 3_077,
    }
    subjects = Counter(one.subject for one in questions)
    assert {row[2]: row[4] for row in sheets["nothinking_subjects"].rows} == subjects
    assert len(subjects) == 57
    assert subjects["anatomy"] == 135
    assert sum(n for subject, n in subjects.items() if AREAS[subject] == "STEM") == 3_153


def test_mmlu_pro_defects(shared_data: Path) -> None:
    loaded = _load(shared_data, "mmlu_pro", "test")
    reasons = {bad.id: bad.reason for bad in loaded.bad}
    assert "disagree" in reasons["3983"]
    assert "3983" not in {item.id for item in loaded.items}
    assert "22 row(s): control characters were replaced" in loaded.notes
    texts = "".join(text for item in loaded.items for text in (item.question, *item.choices))
    assert not set(texts) & {chr(code) for code in range(32) if chr(code) not in "\t\n\r"}
    assert len({item.subject for item in loaded.items}) == 14


def test_boolq_groups_are_its_passages(shared_data: Path) -> None:
    items = _load(shared_data, "boolq", "validation").items
    assert len({item.group_id for item in items}) == len({" ".join(item.context.split()) for item in items}) == 2_938
    assert sum(item.gold == 0 for item in items) == 2_033


def test_scienceqa_images_and_groups(shared_data: Path) -> None:
    items = _load(shared_data, "scienceqa", "test").items
    with_image = [item for item in items if item.images]
    assert len(with_image) == 134
    group_of = {}
    for item in with_image:
        data = item.images[0].load()
        check_image(data)
        assert group_of.setdefault(item.images[0].sha256, item.group_id) == item.group_id
    only = load("scienceqa", shared_data / "scienceqa", images=ImageFilter.only)
    assert (len(only.items), dict(only.n_filtered)) == (134, {"images: only": 194})
    assert {item.subject for item in items} == {"natural science", "language science", "social science"}


def test_scienceqa_splits_share_no_group_by_accident_of_position(shared_data: Path) -> None:
    names = [{item.group_id for item in _load(shared_data, "scienceqa", split).items} for split in ("train", "test")]
    assert len(names[0] & names[1]) < 5


def test_scienceqa_loads_in_seconds(shared_data: Path) -> None:
    start = time.perf_counter()
    load("scienceqa", shared_data / "scienceqa")
    assert time.perf_counter() - start < 10


def test_mmmu_ten_subjects(shared_data: Path) -> None:
    everything = _load(shared_data, "mmmu", "validation")
    assert all("<image 1>" in item.question and len(item.images) == 1 for item in everything.items)
    ten = load("mmmu", shared_data / "mmmu", split="validation", subjects=list(MMMU_10))
    assert {item.subject for item in ten.items} == {"Biology", "Clinical_Medicine", "Design", "Energy_and_Power"}
    assert (len(ten.items), dict(ten.n_filtered)) == (8, {"subjects": 1})


def test_mmbench_optional_fields(shared_data: Path) -> None:
    items = {item.id: item for item in _load(shared_data, "mmbench", "dev").items}
    assert items["318"].context.startswith("The diagram below")
    assert [len(items[index].choices) for index in ("318", "2222", "1")] == [3, 3, 4]
    assert all(item.context.lower() != "nan" and len(item.images) == 1 for item in items.values())


def test_open_answers(shared_data: Path) -> None:
    for item in _load(shared_data, "gsm8k", "test").items:
        float(item.answer)
    for item in _load(shared_data, "math", "test").items:
        assert "boxed" not in item.answer
        assert item.answer in item.meta["solution"]
        assert item.answer.count("{") - item.answer.count(r"\{") == item.answer.count("}") - item.answer.count(r"\}")
    assert len({item.subject for item in _load(shared_data, "math", "test").items}) == 7


def test_strategyqa_is_not_the_studys_split(shared_data: Path) -> None:
    loaded = _load(shared_data, "strategyqa", "test")
    assert any("687" in note and "2,290" in note for note in loaded.notes)
    assert loaded.items[0].id == "e0044a7b4d146d611e73"


def test_samples_of_real_sets(shared_data: Path) -> None:
    small = load("mmlu", shared_data / "mmlu", limit=100).items
    large = load("mmlu", shared_data / "mmlu", limit=300).items
    assert {item.id for item in small} < {item.id for item in large}
    assert len({item.subject for item in small}) > 30
    assert len({item.subject for item in large}) == 57
