"""Items of a run with what was answered, as a picture."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hydra import compose, initialize_config_dir
from PIL import Image

from thinkgap import cli, schema
from thinkgap.demo import poster as posting
from thinkgap.demo.poster import main, poster
from thinkgap.demo.sheet import contact_sheet
from thinkgap.errors import StoreError
from thinkgap.evaluation.native import run_native
from thinkgap.schema import EvaluateConfig
from thinkgap.store.records import read_run


@pytest.fixture(scope="module")
def run(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("poster_run")
    schema.register()
    overrides = ["model=local", f"model.path='{model_folder}'", "dataset=digit_scenes", "dataset.limit=30"]
    overrides += ["trigger=[direct,let_me_think]", "logger=none", "trainer=cpu"]
    with initialize_config_dir(str(cli.CONF), version_base="1.3"):
        run_native(cli.typed(compose("evaluate", overrides), EvaluateConfig), folder)
    return folder


def test_it_shows_the_first_item_of_each_of_four_kinds_and_what_was_read(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def sheet(items: Any, notes: Any) -> bytes:
        seen.append((items, notes))
        return contact_sheet(items, notes)

    monkeypatch.setattr(posting, "contact_sheet", sheet)
    picture = Image.open(io.BytesIO(poster(run, ["direct", "let_me_think"])))
    ((items, notes),) = seen
    assert len(items) == 4
    assert len({item.subject for item in items}) == 4
    assert all(item.images for item in items)
    assert picture.width > 4 * 224
    records = read_run(run).to_pandas().set_index(["item_id", "condition"])
    ids = sorted(records.index.get_level_values(0).unique())
    for item, lines in zip(items, notes, strict=True):
        earlier = [
            other for other in ids if other < item.id and records.loc[(other, "direct"), "subject"] == item.subject
        ]
        assert all(records.loc[(other, "direct"), "n_image_tokens"] == 0 for other in earlier)
        for name, line in zip(("direct", "let_me_think"), lines, strict=True):
            record = records.loc[(item.id, name)]
            answered = "ABCDE"[record["pred_slot"]]
            assert line == f"{name}: {answered} ({'right' if answered == 'ABCDE'[item.gold] else 'wrong'})"


def test_notes_stand_below_their_item(made: Any) -> None:
    items = [item for item in made("digit_scenes", size=20) if item.images][:2]
    bare, noted = (
        np.asarray(Image.open(io.BytesIO(contact_sheet(items, notes))).convert("L"), dtype=int)
        for notes in (([], []), (["direct: B (right)"], []))
    )
    height = bare.shape[0]
    assert noted.shape[0] > height
    added = noted[height - 12 :] < 200
    assert added[:, : added.shape[1] // 2].any()
    assert not added[:, added.shape[1] // 2 :].any()


def test_what_cannot_be_shown_is_refused(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(StoreError, match="holds no condition 'reasoning'"):
        poster(run, ["reasoning"])
    assert main([str(tmp_path), str(tmp_path / "x.png")]) == 1
    assert capsys.readouterr().err.startswith("error: ")
    assert main([str(run), str(tmp_path / "x.png")]) == 0
    assert (tmp_path / "x.png").stat().st_size > 1000
