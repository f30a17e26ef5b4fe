"""The export reads back to equal items, also as ScienceQA; the contact sheet shows every item."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from thinkgap.data import load_dataset_items
from thinkgap.demo.export import export, main
from thinkgap.demo.sheet import contact_sheet
from thinkgap.errors import ConfigError
from thinkgap.schema import DatasetConfig, GenerationConfig


def _cfg(name: str, **settings: object) -> DatasetConfig:
    return DatasetConfig(name=name, path="generated", **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["digit_scenes", "number_facts"])
@pytest.mark.parametrize("limit", [None, 60])
def test_an_export_reads_back_to_equal_items(tmp_path: Path, name: str, limit: int | None) -> None:
    cfg = _cfg(name, limit=limit, seed=4, split="validation", generation=GenerationConfig(size=120))
    file = export(tmp_path / "new" / "folder", cfg)
    before = load_dataset_items(cfg).items
    for path in (file, file.parent):
        after = load_dataset_items(DatasetConfig(name=name, path=str(path), split="validation"))
        assert after.items == before
        assert not after.notes
        assert [[image.load() for image in item.images] for item in after.items] == [
            [image.load() for image in item.images] for item in before
        ]
    assert file.read_bytes() == export(tmp_path / "again", cfg).read_bytes()


def test_the_schema_is_scienceqas(tmp_path: Path) -> None:
    cfg = _cfg("digit_scenes", generation=GenerationConfig(size=60))
    file = export(tmp_path, cfg)
    own = load_dataset_items(cfg).items
    read = load_dataset_items(DatasetConfig(name="scienceqa", path=str(file))).items
    for first, second in zip(own, read, strict=True):
        assert (first.question, first.choices, first.gold, first.context, first.images, first.subject) == (
            second.question,
            second.choices,
            second.gold,
            second.context,
            second.images,
            second.subject,
        )
        assert "rationale" not in second.meta


def test_other_tools_see_pictures(tmp_path: Path) -> None:
    import datasets

    export(tmp_path, _cfg("digit_scenes", generation=GenerationConfig(size=30, image_free=0.0)))
    loaded = datasets.load_dataset("parquet", data_files=str(tmp_path / "test.parquet"), split="train")
    assert isinstance(loaded, datasets.Dataset)
    assert isinstance(loaded.features["image"], datasets.Image)
    assert loaded[0]["image"].size == (56, 56)


def test_settings_of_generation_do_not_apply_to_a_file(tmp_path: Path) -> None:
    file = export(tmp_path, _cfg("digit_scenes", generation=GenerationConfig(size=20)))
    with pytest.raises(ConfigError, match="dataset.generation.size is set, and .* is read as it is"):
        load_dataset_items(DatasetConfig(name="digit_scenes", path=str(file), generation=GenerationConfig(size=20)))


def test_the_command_writes_data_and_sheet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sheet = tmp_path / "looks" / "sheet.png"
    arguments = [str(tmp_path), "--split", "train", "--size", "90", "--limit", "40", "--image-free", "0.5"]
    assert main([*arguments, "--sheet", str(sheet), "--scenes", "6"]) == 0
    said = capsys.readouterr().out
    assert "40 items" in said
    assert "6 of them" in said
    with Image.open(sheet) as image:
        assert image.width > 900
        assert image.height > 600
    items = load_dataset_items(DatasetConfig(name="digit_scenes", path=str(tmp_path), split="train")).items
    assert len(items) == 40


def test_refusals_are_said_without_a_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path), "--limit", "0"]) == 1
    assert main([str(tmp_path), "--dataset", "number_facts", "--image-free", "0.5"]) == 1
    (tmp_path / "file").write_text("")
    assert main([str(tmp_path / "file"), "--size", "6"]) == 1
    said = capsys.readouterr().err
    assert said.count("error: ") == 3
    assert "dataset.limit is 0" in said
    assert "file cannot be made: File exists; choose another" in said
    assert not list(tmp_path.glob("*.parquet"))


def test_the_module_runs(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "thinkgap.demo.export", str(tmp_path), "--size", "12", "--dataset", "number_facts"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "36 items, 0 with a picture" in done.stdout


def test_the_sheet_shows_pictures_and_words() -> None:
    items = load_dataset_items(_cfg("digit_scenes", generation=GenerationConfig(size=40))).items
    pictured = next(item for item in items if item.images)
    told = next(item for item in items if not item.images)
    sizes = {}
    for name, shown in (("one", [pictured]), ("two", [pictured, told]), ("five", [pictured] * 5), ("none", [])):
        with Image.open(io.BytesIO(contact_sheet(shown))) as image:
            sizes[name] = image.size
            colours = image.convert("RGB").getcolors(1 << 20)
            assert colours is not None
            assert (len(colours) > 20) == bool(shown)
    (width, height), (more, _) = sizes["one"], sizes["two"]
    assert more == 2 * width
    assert sizes["five"] == (4 * width, 2 * height)
