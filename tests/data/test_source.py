"""Rows from Parquet, JSONL and the hub: columns, images, shards, and failures that name the way out."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from data_examples import AI2D, BOOLQ, MMMU, SCIENCEQA, load, picture, png, write_jsonl, write_parquet

from thinkgap.errors import DataError


def _columns(*rows: dict[str, Any]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def _boolq(folder: Path, n: int = 2) -> Path:
    rows = [BOOLQ | {"question": f"q{number}"} for number in range(n)]
    return write_parquet(folder / "validation.parquet", _columns(*rows))


def test_importing_the_package_is_cheap() -> None:
    heavy = ("datasets", "pyarrow", "PIL", "pandas", "torch")
    code = f"import sys, thinkgap.data; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_parquet_and_jsonl_give_the_same_items(tmp_path: Path) -> None:
    rows = [BOOLQ | {"question": f"q{number}"} for number in range(3)]
    parquet = write_parquet(tmp_path / "a" / "validation.parquet", _columns(*rows))
    jsonl = write_jsonl(tmp_path / "b" / "validation.jsonl", rows)
    items = [load("boolq", path, split="validation").items for path in (parquet, parquet.parent, jsonl, jsonl.parent)]
    assert items[0] == items[1] == items[2] == items[3]
    assert len(items[0]) == 3


def test_the_record_has_files_with_digests(tmp_path: Path) -> None:
    import hashlib

    file = _boolq(tmp_path)
    source = load("boolq", tmp_path, split="validation").source
    assert source["files"] == [{"path": str(file), "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}]
    assert (source["path"], source["split"], source["config"]) == (str(tmp_path), "validation", None)


def test_nothing_is_written_beside_the_source(tmp_path: Path) -> None:
    _boolq(tmp_path)
    load("boolq", tmp_path, split="validation")
    assert [file.name for file in tmp_path.iterdir()] == ["validation.parquet"]


def test_a_changed_file_is_read_anew(tmp_path: Path) -> None:
    for n in (2, 3, 2):
        _boolq(tmp_path, n)
        assert len(load("boolq", tmp_path, split="validation").items) == n


def test_a_folder_name_with_brackets(tmp_path: Path) -> None:
    _boolq(tmp_path / "run[1]")
    assert len(load("boolq", tmp_path / "run[1]", split="validation").items) == 2


def test_shards_are_one_split_in_order(tmp_path: Path) -> None:
    for shard in range(3):
        rows = [BOOLQ | {"question": f"q{shard}{number}"} for number in range(2)]
        write_parquet(tmp_path / f"data/validation-0000{shard}-of-00003.parquet", _columns(*rows))
    loaded = load("boolq", tmp_path, split="validation")
    assert [item.question for item in loaded.items] == ["q00", "q01", "q10", "q11", "q20", "q21"]
    assert len(loaded.source["files"]) == 3


@pytest.mark.parametrize("as_feature", [True, False])
def test_images_as_feature_or_bare_struct_are_loaded_lazily(tmp_path: Path, as_feature: bool) -> None:
    import datasets

    rows = [SCIENCEQA | {"question": f"q{shade}", "image": picture(shade)} for shade in range(3)]
    file = tmp_path / "test.parquet"
    if as_feature:
        dataset = datasets.Dataset.from_list(rows).cast_column("image", datasets.Image())
        dataset.to_parquet(file)
    else:
        write_parquet(file, _columns(*rows))
    items = load("scienceqa", file).items
    gc.collect()
    kept = [held for held in gc.get_objects() if isinstance(held, bytes) and held == png(1)]
    assert not kept
    assert [image.load() for item in items for image in item.images] == [png(0), png(1), png(2)]


def test_image_files_of_a_jsonl_source(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png(3))
    file = write_jsonl(tmp_path / "test.jsonl", [AI2D | {"image": "a.png"}])
    assert load("ai2d", file).items[0].images[0].load() == png(3)


def test_a_missing_column_names_what_was_found(tmp_path: Path) -> None:
    columns = _columns(BOOLQ)
    columns["pasage"] = columns.pop("passage")
    for file in (
        write_parquet(tmp_path / "validation.parquet", columns),
        write_jsonl(tmp_path / "validation.jsonl", [{name: values[0] for name, values in columns.items()}]),
    ):
        with pytest.raises(DataError, match=r"no column 'passage'.*as text; did you mean 'pasage'.*answer \(boolean\)"):
            load("boolq", file, split="validation")


@pytest.mark.parametrize(
    ("column", "values", "found"),
    [
        ("answer", ["true"], "text"),
        ("answer", [1], "integer"),
        ("passage", [["a"]], "texts"),
        ("question", [3.5], "double|number"),
    ],
)
def test_a_column_of_another_kind(tmp_path: Path, column: str, values: list[Any], found: str) -> None:
    columns = _columns(BOOLQ) | {column: values}
    for file in (
        write_parquet(tmp_path / "validation.parquet", columns),
        write_jsonl(tmp_path / "validation.jsonl", [{name: values[0] for name, values in columns.items()}]),
    ):
        with pytest.raises(DataError, match=rf"column '{column}' .* holds ({found}), and dataset boolq needs"):
            load("boolq", file, split="validation")


def test_arrow_types_that_hold_the_same_kind(tmp_path: Path) -> None:
    import pyarrow as pa

    columns = _columns(SCIENCEQA, SCIENCEQA | {"question": "Who?"}) | {
        "question": pa.array(["Which?", "Who?"], pa.large_string()),
        "subject": pa.array(["s", "s"]).dictionary_encode(),
        "choices": pa.array([["a", "b"], ["c", "d"]], pa.large_list(pa.large_string())),
        "answer": pa.array([1, 0], pa.uint8()),
    }
    items = load("scienceqa", write_parquet(tmp_path / "test.parquet", columns)).items
    assert [(item.question, item.answer, item.subject) for item in items] == [("Which?", "b", "s"), ("Who?", "c", "s")]


def test_one_wrong_value_is_a_bad_row_and_not_a_wrong_column(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "validation.jsonl", [BOOLQ, BOOLQ | {"answer": "true"}])
    loaded = load("boolq", file, split="validation", max_bad=0.5)
    assert (len(loaded.items), len(loaded.bad)) == (1, 1)


def test_a_broken_parquet_file(tmp_path: Path) -> None:
    file = tmp_path / "validation.parquet"
    file.write_bytes(b"PAR1 no")
    with pytest.raises(DataError, match=r"validation\.parquet is no readable Parquet file"):
        load("boolq", file, split="validation")


def test_a_missing_local_path_is_no_hub_lookup(monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    monkeypatch.setattr(datasets, "load_dataset", lambda *args, **kwargs: pytest.fail("the hub was asked"))
    for path in ("./nowhere", "nowhere.jsonl", "a/b/c"):
        with pytest.raises(DataError, match=f"dataset.path {path} does not exist"):
            load("boolq", path)


def test_a_hub_failure_names_the_id_and_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    def fail(*args: Any, **kwargs: Any) -> None:
        raise ConnectionError("no route to host")

    monkeypatch.setattr(datasets, "load_dataset", fail)
    with pytest.raises(DataError) as caught:
        load("boolq", "google/boolq", split="validation")
    for part in ("google/boolq", "dataset.path to a local folder with validation.parquet", "no route to host"):
        assert part in str(caught.value)


def test_a_hub_data_set(monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    asked = []

    def answer(path: str, **arguments: Any) -> datasets.Dataset:
        asked.append((path, arguments))
        rows = [SCIENCEQA | {"image": picture(4)}]
        made = datasets.Dataset.from_list(rows).cast_column("image", datasets.Image())
        made.info.download_checksums = {f"hf://datasets/org/set@{'ab' * 20}/data/test.parquet": {}}
        return made

    monkeypatch.setattr(datasets, "load_dataset", answer)
    loaded = load("scienceqa", "org/set", revision="v2")
    assert asked == [("org/set", {"name": None, "split": "test", "revision": "v2"})]
    assert loaded.items[0].images[0].load() == png(4)
    assert loaded.source["revision"] == "ab" * 20
    assert loaded.source["fingerprint"]


def test_mmmu_reads_one_hub_configuration_per_subject(monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    asked = []

    def answer(path: str, *, name: str, **arguments: Any) -> datasets.Dataset:
        asked.append(name)
        return datasets.Dataset.from_list([MMMU | {"id": f"validation_{name}_1"}])

    monkeypatch.setattr(datasets, "load_dataset", answer)
    loaded = load("mmmu", "MMMU/MMMU", split="validation", subjects=["Music", "Art"])
    assert asked == ["Music", "Art"]
    assert [item.subject for item in loaded.items] == ["Music", "Art"]
    assert loaded.notes == ("2 rows; the published validation split has 60",)


def test_mmmu_folders_by_subject(tmp_path: Path) -> None:
    for subject in ("Music", "Art"):
        rows = _columns(MMMU | {"id": f"validation_{subject}_1"})
        write_parquet(tmp_path / subject / "validation-00000-of-00001.parquet", rows)
    loaded = load("mmmu", tmp_path, split="validation", subjects=["Art", "Music"])
    assert [item.subject for item in loaded.items] == ["Art", "Music"]
    assert loaded.notes == ("2 rows; the published validation split has 60",)
    assert len(load("mmmu", tmp_path, split="validation", config="Art").items) == 1
    with pytest.raises(DataError, match="Design"):
        load("mmmu", tmp_path, split="validation", subjects=["Art", "Design"])


def test_progress_bars_are_as_they_were(tmp_path: Path) -> None:
    import datasets

    _boolq(tmp_path)
    datasets.enable_progress_bars()
    load("boolq", tmp_path, split="validation")
    assert datasets.is_progress_bar_enabled()


def test_no_progress_bar_off_a_terminal(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    _boolq(tmp_path)
    load("boolq", tmp_path, split="validation")
    assert "Generating" not in "".join(capfd.readouterr())
