"""`python -m thinkgap.verify` on runs of tiny models: as recorded, and every way of not being so."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.evaluation.no_thinking_runs import items_file, settings
from thinkgap.evaluation.native import Finished
from thinkgap.evaluation.no_thinking import run_no_thinking
from thinkgap.store.atomic import write_parquet
from thinkgap.store.records import RECORDS_FILE, read_records, to_table
from thinkgap.verify import main, verify_run


@pytest.fixture
def finished(run: Callable[..., Finished], tmp_path: Path) -> Path:
    cells = f"paths.cells_dir={tmp_path / 'cells'}"
    return run("evaluation.permutations=2", cells, "evaluation.capture.enabled=true", "evaluation.lens=true").folder


def test_a_run_is_as_recorded(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = verify_run(finished, sample=15)
    assert (found.n, found.of, found.flips, found.other_prompts) == (15, 12 * 2 * 2, 0, 0)
    assert found.largest_difference < 1e-4
    assert found.same
    assert main([str(finished), "--sample", "3"]) == 0
    assert "as recorded" in capsys.readouterr().out


def test_another_seed_takes_another_sample_and_the_same_one_the_same(finished: Path) -> None:
    assert verify_run(finished, sample=5, seed=1) == verify_run(finished, sample=5, seed=1)


def changed(folder: Path, **fields: object) -> None:
    """Give the first label of every record another log-probability, or other fields."""
    records = read_records(folder)
    other = fields or {"label_logprobs": None}
    rows = [
        replace(
            one,
            **({"label_logprobs": (one.label_logprobs[0] + 0.01, *one.label_logprobs[1:])} if not fields else other),
        )
        for one in records
    ]
    write_parquet(folder / RECORDS_FILE, to_table(rows))


def test_records_that_were_changed_are_found(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed(finished)
    assert main([str(finished), "--sample", "5"]) == 1
    said = capsys.readouterr()
    assert "largest difference of a label log-probability 0.01" in said.out
    assert "is not what its settings give here" in said.err


def test_prompts_that_are_not_the_same_any_more_are_found(finished: Path) -> None:
    changed(finished, prompt_sha256="0" * 64)
    found = verify_run(finished, sample=4)
    assert (found.other_prompts, found.same) == (4, False)


def test_other_weights_are_found(finished: Path, tiny_model: Callable[[str], Path]) -> None:
    file = finished / "manifest.json"
    manifest = json.loads(file.read_text(encoding="utf-8"))
    manifest["config"]["model"]["random_weights"] = 7
    manifest["libraries"]["torch"] = "1.0"
    file.write_text(json.dumps(manifest), encoding="utf-8")
    found = verify_run(finished, sample=6)
    assert not found.same
    assert found.other_prompts == 0
    assert found.libraries["torch"][0] == "1.0"


def test_the_manifest_locks_the_environment(finished: Path) -> None:
    manifest = json.loads((finished / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["lock"]["torch"] == manifest["libraries"]["torch"]
    assert {"hydra-core", "pyarrow", "transformers"} <= set(manifest["lock"])


def test_what_cannot_be_computed_again_is_named(
    tmp_path: Path, tiny_model: Callable[[str], Path], finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = ("model=local", f"model.path={tiny_model('llama')}", "model.name=tiny", f"paths.cells_dir={tmp_path / 'c'}")
    items = items_file(tmp_path / "items.jsonl")
    run_no_thinking(settings(*model, items=items, mode="mode=strict"), tmp_path / "replies")
    for folder, message in (
        (tmp_path / "replies", "holds replies, not label readouts"),
        (tmp_path / "nothing", "manifest.json does not exist"),
    ):
        assert main([str(folder)]) == 1
        assert message in capsys.readouterr().err
    assert main([str(finished), "--sample", "0"]) == 1
