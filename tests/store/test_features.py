"""Features: any selection equal to the naive stack, joined by digest, and what is missing or mixed is named."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
import torch

from tests.conftest import ROOT
from tests.store.cell_examples import CONTEXT, NAMES, STATES, D, cells, prompt
from tests.store.examples import record
from thinkgap.errors import StoreError
from thinkgap.scoring.engine import Scored
from thinkgap.store import RunFolder, collect_manifest, write_manifest
from thinkgap.store.cells import CellContents, CellStore
from thinkgap.store.features import ROWS, Features, RunFeatures, features_of_run
from thinkgap.store.states import DTYPES

ITEMS = tuple(f"q{number}" for number in range(7))


def test_states_can_be_required_without_reading_them(tmp_path: Path):
    scored = fill(tmp_path)
    features = Features.open(tmp_path)
    features.require(digests(scored), NAMES[:1])
    with pytest.raises(StoreError, match="lacks .* of 1 of 2 prompts; the first is missing"):
        features.require([digests(scored)[0], "missing"])
    with pytest.raises(StoreError, match="holds no state 'layer_99'"):
        features.require(digests(scored), ["layer_99"])
    for file in tmp_path.glob("*.safetensors"):
        data = bytearray(file.read_bytes())
        data[-1] ^= 1
        file.write_bytes(data)
    features.require(digests(scored))  # each file is compared with its digest once
    with pytest.raises(StoreError, match="is damaged"):
        Features.open(tmp_path).require(digests(scored))


def digests(scored: Sequence[Scored]) -> list[str]:
    return [cell.prompt.sha256 for cell in scored]


def stacked(scored: Sequence[Scored], names: Sequence[str] = NAMES) -> torch.Tensor:
    """`[n, S, d]` by the naive way."""
    return torch.stack([cell.states[NAMES.index(name)] for cell in scored for name in names if cell.states is not None])


def fill(folder: Path, wanted: CellContents = STATES) -> list[Scored]:
    """Three shards of unequal size with two conditions; one more without states."""
    scored = [*cells(ITEMS, contents=wanted), *cells(ITEMS, "think", wanted)]
    store = CellStore.open(folder, CONTEXT, wanted)
    for part in (scored[:2], scored[2:9], scored[9:]):
        store.write(part)
    CellStore.open(folder, CONTEXT).write(cells(["other"], contents=CellContents()))
    return scored


@pytest.mark.parametrize("dtype", DTYPES)
def test_any_selection_equals_the_naive_stack(tmp_path: Path, dtype: str):
    scored = fill(tmp_path, CellContents(NAMES, dtype))
    features = Features.open(tmp_path)
    assert (features.names, features.d, features.dtype) == (NAMES, D, dtype)
    chance = random.Random(0)
    for _ in range(20):
        chosen = chance.choices(scored, k=chance.randrange(1, 20))
        names = chance.sample(NAMES, chance.randrange(1, 5))
        found = features.states(digests(chosen), names)
        expected = stacked(chosen, names).view(len(chosen), len(names), D).to(DTYPES[dtype].torch)
        assert found.dtype == expected.dtype
        assert torch.equal(found, expected)
    everything = features.states(digests(scored))
    assert torch.equal(everything, stacked(scored).view(-1, 4, D).to(DTYPES[dtype].torch))
    assert features.states([]).shape == (0, 4, D)


def test_only_shards_with_the_asked_prompts_are_touched(tmp_path: Path):
    scored = fill(tmp_path)
    features = Features.open(tmp_path)
    by_size = sorted(tmp_path.glob("*.safetensors"), key=lambda file: file.stat().st_size)
    for file in by_size[1:]:
        file.unlink()
    assert torch.equal(features.states(digests(scored[:2])), stacked(scored[:2]).view(2, 4, D))
    with pytest.raises(StoreError, match="does not exist"):
        features.states(digests(scored[:3]))


def test_missing_prompts_are_counted_and_the_first_is_named(tmp_path: Path):
    scored = fill(tmp_path)
    features = Features.open(tmp_path)
    absent = [prompt("gone").sha256, prompt("gone too").sha256]
    with pytest.raises(StoreError, match=rf"of 2 of 5 prompts; the first is {absent[0]}\. .*capture\.enabled"):
        features.states([*digests(scored[:2]), *absent, digests(scored)[2]])
    without_states = cells(["other"], contents=CellContents())
    with pytest.raises(StoreError, match="of 1 of 1 prompts"):
        features.states(digests(without_states))
    with pytest.raises(StoreError, match=r"no state 'layer_3'; did you mean 'layer_"):
        features.states(digests(scored), ["layer_3"])


def test_layers_captured_later_stand_beside(tmp_path: Path):
    early = CellContents(("layer_10", "final_norm"), "float32")
    late = CellContents(("embeddings", "layer_2"), "float32")
    one, two = cells(ITEMS[:4], contents=early), cells(ITEMS[2:], contents=late, seed=1)
    for wanted, scored in ((early, one), (late, two)):
        CellStore.open(tmp_path, CONTEXT, wanted).write(scored)
    features = Features.open(tmp_path)
    assert features.names == ("embeddings", "layer_2", "layer_10", "final_norm")
    found = features.states(digests(two), ["layer_2"])[:, 0]
    assert torch.equal(found, torch.stack([cell.states[1] for cell in two if cell.states is not None]))
    found = features.states(digests(one), ["final_norm"])[:, 0]
    assert torch.equal(found, torch.stack([cell.states[1] for cell in one if cell.states is not None]))
    with pytest.raises(StoreError, match=r"lacks layer_2 of 2 of 4 .* which it holds layer_10, final_norm\."):
        features.states(digests(one), ["layer_2"])


def test_one_number_type_at_a_time(tmp_path: Path):
    half = CellContents(NAMES, "float16")
    scored = fill(tmp_path)
    CellStore.open(tmp_path, CONTEXT, half).write(scored[:3])
    with pytest.raises(StoreError, match="float16 and as float32; choose one with dtype="):
        Features.open(tmp_path)
    assert torch.equal(Features.open(tmp_path, "float32").states(digests(scored)), stacked(scored).view(-1, 4, D))
    found = Features.open(tmp_path, "float16").states(digests(scored[:3]))
    assert torch.equal(found, stacked(scored[:3]).view(-1, 4, D).half())
    with pytest.raises(StoreError, match="no bfloat16 states; it holds float16 and float32"):
        Features.open(tmp_path, "bfloat16")


@pytest.mark.parametrize(("ending", "reason"), [(".parquet", "does not match its name"), (".safetensors", "takes")])
def test_damaged_shards_are_skipped_and_left(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, ending: str, reason: str
):
    scored = fill(tmp_path)
    smallest = min(tmp_path.glob("*.safetensors"), key=lambda file: file.stat().st_size).with_suffix(ending)
    smallest.write_bytes(smallest.read_bytes()[:-1])
    features = Features.open(tmp_path)
    assert reason in caplog.text
    assert smallest.stem in caplog.text
    assert smallest.exists()
    assert torch.equal(features.states(digests(scored[2:])), stacked(scored[2:]).view(-1, 4, D))
    with pytest.raises(StoreError, match="of 2 of 14 prompts"):
        features.states(digests(scored))


def test_states_of_another_shard_are_not_taken(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    scored = fill(tmp_path)
    small, *_, large = sorted(tmp_path.glob("*.safetensors"), key=lambda file: file.stat().st_size)
    features = Features.open(tmp_path)
    small.write_bytes(large.read_bytes())
    with pytest.raises(StoreError, match="are not the states of its shard"):
        features.states(digests(scored))
    Features.open(tmp_path)
    assert small.stem in caplog.text


def test_contexts_are_compared_as_json(tmp_path: Path):
    context = {"numbers": {10: (1, 2), 9: None}, "text": "é"}
    scored = cells(ITEMS)
    CellStore.open(tmp_path, context, STATES).write(scored)
    assert len(CellStore.open(tmp_path, context, STATES)) == 7
    assert torch.equal(Features.open(tmp_path).states(digests(scored)), stacked(scored).view(7, 4, D))


def test_folders_without_states_are_explained(tmp_path: Path):
    with pytest.raises(StoreError, match=r"fingerprint\.json does not exist; give the folder"):
        Features.open(tmp_path)
    CellStore.open(tmp_path, CONTEXT).write(cells(ITEMS, contents=CellContents()))
    with pytest.raises(StoreError, match=r"holds no states; .*evaluation\.capture\.enabled=true"):
        Features.open(tmp_path)


def run_with_cells(root: Path, cell_folder: str | None = "../cells") -> tuple[Path, list[Scored]]:
    """A finished run of two conditions and two readouts over a cell folder beside it, which holds more."""
    scored = fill(root / "cells")
    folder = RunFolder(root / "run")
    folder.open({})
    asked = [cell.prompt for cell in random.Random(1).sample(scored, 9)]
    folder.write_shard(
        [
            record(one.presentation.item.id, one.condition.name, readout=readout, prompt_sha256=one.sha256)
            for one in asked
            for readout in ("native", "lens")
        ]
    )
    folder.merge(("think", "direct"))
    facts = {} if cell_folder is None else {"cells": cell_folder}
    write_manifest(folder.path, collect_manifest(facts, started=datetime.now(UTC)))
    return folder.path, scored


@pytest.mark.parametrize("absolute", [False, True])
def test_rows_of_a_run_get_their_own_states(tmp_path: Path, absolute: bool):
    run_dir, scored = run_with_cells(tmp_path, str(tmp_path / "cells") if absolute else "../cells")
    by_cell = {(cell.prompt.presentation.item.id, cell.prompt.condition.name): cell for cell in scored}
    for names, condition in [(None, None), (("layer_1", "embeddings"), None), (None, "direct")]:
        found = features_of_run(run_dir, names, condition)
        rows = found.rows.to_pylist()
        assert tuple(found.rows.column_names) == ROWS
        assert found.names == (names or NAMES)
        assert len(rows) == (9 if condition is None else sum(row["condition"] == "direct" for row in rows)) > 0
        expected = [by_cell[row["item_id"], row["condition"]] for row in rows]
        assert torch.equal(found.states, stacked(expected, found.names).view(len(rows), -1, D))
    assert features_of_run(str(run_dir)).rows.column("condition").to_pylist()[0] == "think"


def test_runs_that_cannot_be_joined_are_explained(tmp_path: Path):
    run_dir, _ = run_with_cells(tmp_path, None)
    with pytest.raises(StoreError, match=r"kept no cells; .*evaluation\.capture\.enabled=true"):
        features_of_run(run_dir)
    write_manifest(run_dir, {"cells": "../cells"})
    with pytest.raises(StoreError, match="no rows with condition 'thinks'; did you mean 'think'"):
        features_of_run(run_dir, condition="thinks")
    with pytest.raises(StoreError, match="no rows with readout 'vocabulary'"):
        features_of_run(run_dir, readout="vocabulary")
    write_manifest(run_dir, {"cells": "../moved"})
    with pytest.raises(StoreError, match="moved"):
        features_of_run(run_dir)


def test_the_documented_snippet_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    run_with_cells(tmp_path / "outputs")
    text = (ROOT / "docs" / "features.md").read_text(encoding="utf-8")
    (snippet,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    exec(snippet, scope)
    run = scope["run"]
    assert isinstance(run, RunFeatures)
    assert run.states.shape == (run.rows.num_rows, 1, D)
