"""The loader: accounting for every row, limits on bad rows, filters, samples and notes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from data_examples import SCIENCEQA, STRATEGYQA, load, picture, png, write_jsonl, write_parquet

from thinkgap.data import load as load_module
from thinkgap.errors import ConfigError, DataError
from thinkgap.schema import DuplicateOptions, ImageFilter


def _scienceqa(folder: Path, rows: list[dict[str, Any]]) -> Path:
    full = [SCIENCEQA | {"question": f"q{number}"} | row for number, row in enumerate(rows)]
    return write_parquet(folder / "test.parquet", {name: [row[name] for row in full] for name in SCIENCEQA})


def test_every_row_is_accounted_for(tmp_path: Path) -> None:
    rows = [{}, {"answer": 9}, {"image": picture(1)}, {"subject": "art"}, {"choices": ["x", "x"]}]
    loaded = load("scienceqa", _scienceqa(tmp_path, rows), subjects=["natural science"], max_bad=0.4)
    assert [bad.id for bad in loaded.bad] == ["scienceqa/test/000001", "scienceqa/test/000004"]
    assert (len(loaded.items), loaded.n_rows, dict(loaded.n_filtered)) == (2, 5, {"subjects": 1})
    assert len(loaded.items) + len(loaded.bad) + sum(loaded.n_filtered.values()) == loaded.n_rows


def test_filters_are_counted(tmp_path: Path) -> None:
    rows = [{}, {"image": picture(1)}, {"image": picture(2), "subject": "art"}, {"subject": "art"}]
    path = _scienceqa(tmp_path, rows)
    only = load("scienceqa", path, images=ImageFilter.only)
    assert ([item.id[-1] for item in only.items], dict(only.n_filtered)) == (["1", "2"], {"images: only": 2})
    none = load("scienceqa", path, images=ImageFilter.none, subjects=["art"])
    assert [item.id[-1] for item in none.items] == ["3"]
    assert dict(none.n_filtered) == {"images: none": 2, "subjects": 1}


def test_too_many_bad_rows_stop_the_run(tmp_path: Path) -> None:
    path = _scienceqa(tmp_path, [{"answer": 7} if number < 8 else {} for number in range(100)])
    assert len(load("scienceqa", path, max_bad=0.08).bad) == 8
    exact = _scienceqa(tmp_path / "exact", [{"answer": 7} if number < 29 else {} for number in range(100)])
    assert len(load("scienceqa", exact, max_bad=0.29).bad) == 29
    with pytest.raises(DataError) as caught:
        load("scienceqa", path, max_bad=0.079)
    for part in ("8 of 100 rows", "dataset.max_bad", "scienceqa/test/000000: answer 7 is out of range", "and 3 more"):
        assert part in str(caught.value)


def test_one_bad_row_in_a_hundred_is_allowed_by_default(tmp_path: Path) -> None:
    load("scienceqa", _scienceqa(tmp_path, [{"answer": 7} if number < 1 else {} for number in range(100)]))
    with pytest.raises(DataError, match="2 of 100"):
        load("scienceqa", _scienceqa(tmp_path, [{"answer": 7} if number < 2 else {} for number in range(100)]))


def test_bad_rows_count_before_filters(tmp_path: Path) -> None:
    path = _scienceqa(tmp_path, [{"answer": 7, "subject": "art"}, {}])
    with pytest.raises(DataError, match="1 of 2 rows"):
        load("scienceqa", path, subjects=["natural science"])


def test_no_items_left_says_which_filter_removed_how_many(tmp_path: Path) -> None:
    path = _scienceqa(tmp_path, [{}, {}])
    with pytest.raises(DataError, match=r"no items left of 2 rows \(images: only removed 2"):
        load("scienceqa", path, images=ImageFilter.only)


def test_unreadable_images_are_bad_rows_of_the_sample(tmp_path: Path) -> None:
    broken = {"bytes": png(1)[:40], "path": None}
    path = _scienceqa(tmp_path, [{"image": broken}, {"image": picture(2)}, {}, {}])
    with pytest.raises(DataError, match="1 of 4 sampled items are bad"):
        load("scienceqa", path)
    loaded = load("scienceqa", path, max_bad=0.25)
    assert [item.id[-1] for item in loaded.items] == ["1", "2", "3"]
    assert loaded.bad[0].id == "scienceqa/test/000000"
    assert "cannot be read" in loaded.bad[0].reason


def test_only_images_of_sampled_items_are_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _scienceqa(tmp_path, [{"image": picture(number)} for number in range(20)])
    decoded = []
    monkeypatch.setattr(load_module, "check_image", decoded.append)
    loaded = load("scienceqa", path, limit=3)
    assert decoded == [item.images[0].load() for item in loaded.items]


def test_groups_and_ids_do_not_depend_on_filters_or_samples(tmp_path: Path) -> None:
    rows = [{"image": picture(number % 7), "subject": "abc"[number % 3]} for number in range(40)]
    path = _scienceqa(tmp_path, rows)
    groups = {item.id: item.group_id for item in load("scienceqa", path).items}
    assert len(set(groups.values())) == 7
    for settings in ({"limit": 9}, {"subjects": ["b"]}, {"limit": 5, "seed": 3}):
        for item in load("scienceqa", path, **settings).items:
            assert groups[item.id] == item.group_id


def test_a_row_that_links_two_groups_does_so_even_if_it_is_filtered(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "question": "one", "answer": "1", "context": "c1", "subject": "keep"},
        {"id": "b", "question": "one", "answer": "1", "context": "c2", "subject": "drop"},
        {"id": "c", "question": "two", "answer": "2", "context": "c2", "subject": "keep"},
    ]
    first, last = load("jsonl", write_jsonl(tmp_path / "f.jsonl", rows), subjects=["keep"]).items
    assert first.group_id == last.group_id


def test_limits(tmp_path: Path) -> None:
    path = _scienceqa(tmp_path, [{} for _ in range(6)])
    assert len(load("scienceqa", path, limit=4).items) == 4
    assert len(load("scienceqa", path, limit=6).items) == 6
    loaded = load("scienceqa", path, limit=7)
    assert len(loaded.items) == 6
    assert any("limit 7 is more than the 6 items" in note for note in loaded.notes)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"limit": 0}, "dataset.limit is 0"),
        ({"limit": -5}, "dataset.limit is -5"),
        ({"max_bad": 1.5}, "dataset.max_bad"),
        ({"max_bad": -0.1}, "dataset.max_bad"),
        ({"subjects": []}, "dataset.subjects is empty"),
        ({"subjects": ["natural sience"]}, "did you mean 'natural science'"),
    ],
)
def test_settings_that_cannot_be_honoured(tmp_path: Path, settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        load("scienceqa", _scienceqa(tmp_path, [{}]), **settings)


def test_unknown_names() -> None:
    with pytest.raises(ConfigError, match="'sciencqa' is no adapter; did you mean 'scienceqa'"):
        load("sciencqa", "x")
    with pytest.raises(ConfigError, match="mmlu has no 'anatomie'; did you mean 'anatomy'"):
        load("mmlu", "x", subjects=["anatomie"])


def test_notes_on_another_number_of_rows(tmp_path: Path) -> None:
    path = _scienceqa(tmp_path, [{}, {}])
    assert load("scienceqa", path).notes == ("2 rows; the published test split has 4,241",)
    assert load("scienceqa", path, split="dev").notes == ()


@pytest.mark.parametrize(("n", "notes"), [(687, 0), (686, 1)])
def test_strategyqa_says_when_it_is_not_the_studys_split(tmp_path: Path, n: int, notes: int) -> None:
    rows = [STRATEGYQA | {"qid": str(number), "question": f"q{number}"} for number in range(n)]
    loaded = load("strategyqa", write_jsonl(tmp_path / "test.jsonl", rows))
    assert len(loaded.notes) == notes
    assert all("not the study's 687 items" in note for note in loaded.notes)


def test_subjects_that_exist_but_are_not_in_the_source_are_noted(tmp_path: Path) -> None:
    row = {"question": "q", "subject": "anatomy", "choices": ["a", "b"], "answer": 0}
    loaded = load("mmlu", write_jsonl(tmp_path / "x.jsonl", [row]), split="x", subjects=["anatomy", "virology"])
    assert "the source has no items of virology" in loaded.notes


def test_equal_options_are_bad_unless_the_published_set_is_wanted_whole(tmp_path: Path) -> None:
    columns = {
        "question": ["q0?", "q1?"],
        "subject": ["anatomy"] * 2,
        "choices": [["x", "w", "y", "z"], ["x", "x ", "y", "z"]],
        "answer": [0, 0],
    }
    folder = write_parquet(tmp_path / "test.parquet", columns).parent
    skipped = load("mmlu", folder, max_bad=1.0)
    assert [item.question for item in skipped.items] == ["q0?"]
    assert "options A and B are the same" in skipped.bad[0].reason
    kept = load("mmlu", folder, duplicate_options=DuplicateOptions.keep)
    assert len(kept.items) == 2
    assert not kept.bad
    (note,) = [note for note in kept.notes if "equal options" in note]
    assert "1 item(s)" in note
    assert "mmlu/test/000001" in note
