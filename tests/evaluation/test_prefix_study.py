"""`evaluation=prefix_study` end to end on the embedded default: every table, readouts against a plain way, resume."""

from __future__ import annotations

import json
import math
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

from analysis.table import main
from tests.test_config import composed
from tests.tracking import wandb_file
from thinkgap.evaluation.native import Finished, run_native
from thinkgap.evaluation.prepare import Prepared, prepare
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.readouts.frames import rows_of, where
from thinkgap.readouts.sheet import Missing
from thinkgap.store.records import facts_of, read_run

N = 16
CONDITIONS = ["direct", "let_me_think"]
SHEETS = [
    "readouts", "first_slot", "readouts_by_k", "permutation", "permutation_consistency", "permutation_orders",
    "permutation_by_k", "permutation_prior", "position_shift", "gold_probability", "label_sets", "factorial",
    "factorial_effects", "label_tokens", "vocabulary", "vocabulary_change", "top_tokens", "layers", "likelihood",
    "likelihood_length", "generation", "replies", "aligned", "controls", "surface", "verdict",
]  # fmt: skip
OVERRIDES = (
    "evaluation=prefix_study",
    f"dataset.limit={N}",
    "trigger=let_me_think",
    "evaluation.permutations=3",
    "evaluation.permutation.factorial=4",
    "evaluation.generation.max_new_tokens=100",
    "evaluation.draws=200",
)


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cells")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, cells: Path) -> Iterator[Finished]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WANDB_MODE", "offline")
        cfg = composed(*OVERRIDES, f"paths.cells_dir={cells}")
        yield run_native(cfg, tmp_path_factory.mktemp("study") / "run")


@pytest.fixture(scope="module")
def frame(finished: Finished) -> pd.DataFrame:
    return read_run(finished.folder).to_pandas()


@pytest.fixture(scope="module")
def prepared(cells: Path) -> Prepared:
    return prepare(composed(*OVERRIDES, "logger=none", f"paths.cells_dir={cells}"))


def test_every_table_is_there_and_full(finished: Finished) -> None:
    found = {sheet.name: sheet for sheet in finished.report.sheets}
    assert list(found) == SHEETS
    for name, sheet in found.items():
        assert sheet.rows, name
        conditions = {row[place] for place, column in enumerate(sheet.columns) if column.name == "condition"
                      for row in sheet.rows}  # fmt: skip
        wanted = {"let_me_think"} if name in ("position_shift", "vocabulary_change") else set(CONDITIONS)
        assert conditions == wanted, name
        # What is missing is missing for a reason that holds for this run, never because a readout forgot an item.
        reasons = {cell.reason for row in sheet.rows for cell in row if isinstance(cell, Missing)}
        assert not any("no records" in reason or "not generated" in reason for reason in reasons), (name, reasons)
    assert (finished.folder / "sheets" / "generation.csv").read_text().startswith("condition,n,accuracy,")


def test_every_readout_has_a_row_for_every_item(frame: pd.DataFrame) -> None:
    own = frame[frame["presentation"] == "identity"]
    readouts = ["native", "generation", "aligned", *(f"likelihood_{name}" for name in ("sum", "token", "byte", "pmi"))]
    counts = Counter(zip(own["readout"], own["condition"], strict=True))
    assert counts == {(r, c): N for r in readouts for c in CONDITIONS}
    assert not frame.duplicated(["item_id", "presentation", "condition", "readout"]).any()


def test_the_run_ends_with_the_verdict(finished: Finished, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(finished.folder)]) == 0
    text = capsys.readouterr().out
    assert text == (finished.folder / "table.md").read_text()
    last = text.strip().splitlines()[-2:]
    assert last[0].startswith("- direct: label requested, label read: match; native ")
    assert last[1].startswith("- let_me_think: rationale requested, label read: mismatch; native ")
    assert last[1].endswith("do not report the native figure as the model's accuracy")


def test_one_sheet_as_csv(finished: Finished, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(finished.folder), "--sheet", "verdict"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("run,condition,requests,verdict,native,native_low,")
    assert len(lines) == 3
    assert main([str(finished.folder), "--sheet", "verdicts"]) == 1
    assert "has no table 'verdicts'; it has readouts, first_slot" in capsys.readouterr().err


def test_wandb_has_the_tables_and_charts(finished: Finished) -> None:
    found = wandb_file.read(finished.folder)
    names = {path.name.split(".table.json")[0] for path in finished.folder.rglob("*.table.json")}
    for sheet in SHEETS:
        assert any(name.startswith(f"{sheet}_") for name in names), sheet
    for chart in ("readouts", "layers_accuracy", "vocabulary"):
        assert any(f"charts/{chart}" in key for key in found["history"]), (chart, list(found["history"]))
    assert found["summary"]["let_me_think/match"] is False
    assert 0 <= found["summary"]["let_me_think/generated"] <= 1


def rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return frame.to_dict(orient="records")


def asked(prepared: Prepared, condition: str, n: int) -> list[PreparedPrompt]:
    place = CONDITIONS.index(condition)
    return [prepared.builder.build(item[0])[place] for item in prepared.items[:n]]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_labels_after_the_reply_equal_a_plain_reading(
    finished: Finished, frame: pd.DataFrame, prepared: Prepared, condition: str
) -> None:
    """Prompt, reply and cue as one text of tokens through the model as it is; the label's tokens by hand."""
    backend = prepared.local.backend
    tokenizer = backend.fmt.tokenizer
    replies = pd.read_parquet(finished.folder / "replies.parquet").set_index(["item_id", "condition"])
    for one in asked(prepared, condition, 4):
        item = one.prompt.presentation.item.id
        text = str(replies.loc[(item, condition), "text"])
        cue = tokenizer(" The answer is", add_special_tokens=False)["input_ids"]
        ids = [*one.prompt.input_ids, *tokenizer(text, add_special_tokens=False)["input_ids"], *cue]
        images = {
            name: value for name, value in one.tensors.items() if value.shape[0:2] != (1, len(one.prompt.input_ids))
        }
        kinds = torch.zeros(1, len(ids), dtype=torch.long)
        if "mm_token_type_ids" in one.tensors:
            kinds[:, : len(one.prompt.input_ids)] = one.tensors["mm_token_type_ids"]
        with torch.inference_mode():
            logits = backend.model(input_ids=torch.tensor([ids]), mm_token_type_ids=kinds, **images).logits[0, -1]
        logprobs = torch.log_softmax(logits.float(), -1)
        # After a word, the letter's own token is the one with a blank before it.
        letters = [tokenizer(f"x {label}")["input_ids"][-1] for label in one.prompt.presentation.labels]
        (row,) = rows(rows_of(where(frame, frame["item_id"] == item), "aligned", condition))
        assert [list(own) for own in row["label_token_ids"]] == [[letter] for letter in letters]
        assert list(row["label_logprobs"]) == pytest.approx(logprobs[letters].tolist(), abs=1e-4)


def test_replies_are_read_by_the_extractor(finished: Finished, frame: pd.DataFrame) -> None:
    replies = pd.read_parquet(finished.folder / "replies.parquet")
    records = frame[frame["readout"] == "generation"].set_index(["item_id", "condition"])
    for row in rows(replies):
        record = records.loc[(row["item_id"], row["condition"])]
        if row["status"] != "ok":
            assert record["pred_slot"] == -1
            assert not record["correct"]
        else:
            assert record["labels"][record["pred_slot"]] == row["answer"]
            assert record["correct"] == (record["pred_slot"] == record["gold_slot"])
        assert row["forced_difference"] < 1e-4
        assert row["finish"] in ("stop", "length")
    assert Counter(replies["status"])["ok"] > 0.8 * len(replies)


def test_the_forced_token_is_the_native_answer(finished: Finished, frame: pd.DataFrame) -> None:
    replies = pd.read_parquet(finished.folder / "replies.parquet").set_index(["item_id", "condition"])
    for row in rows(rows_of(frame, "native")):
        assert replies.loc[(row["item_id"], row["condition"]), "forced_slot"] == row["pred_slot"]


def test_a_killed_run_ends_with_the_same_files(finished: Finished, cells: Path, tmp_path: Path) -> None:
    """Records and side tables gone, shards of the native readout left: what a kill during generation leaves."""
    folder = tmp_path / "run"
    shutil.copytree(finished.folder, folder, ignore=shutil.ignore_patterns("wandb"))
    before = {
        name: (folder / name).read_bytes() for name in ("records.parquet", "replies.parquet", "likelihoods.parquet")
    }
    from thinkgap.store.records import to_records
    from thinkgap.store.run_folder import RunFolder

    stored = read_run(folder)
    native = [record for record in to_records(stored) if record.readout == "native"]
    for name in before:
        (folder / name).unlink()
    run = RunFolder(folder)
    run.open(json.loads((folder / "fingerprint.json").read_text()))
    run.write_shard(native)
    run_native(composed(*OVERRIDES, "logger=none", f"paths.cells_dir={cells}"), folder)
    pd.testing.assert_frame_equal(read_run(folder).to_pandas(), read_run(finished.folder).to_pandas(), check_exact=True)
    for name, data in before.items():
        assert (folder / name).read_bytes() == data, name


def test_nothing_is_done_twice(finished: Finished, cells: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = (finished.folder / "manifest.json").read_bytes()
    again = run_native(composed(*OVERRIDES, "logger=none", f"paths.cells_dir={cells}"), finished.folder)
    assert (finished.folder / "manifest.json").read_bytes() == manifest
    assert again.table == finished.table


def test_the_manifest_says_how(finished: Finished) -> None:
    generation: dict[str, Any] = finished.manifest["generation"]
    assert generation["max_new_tokens"] == 100
    assert generation["method"] in ("shared", "plain")
    assert finished.manifest["excluded_from"] == {"likelihood": []}
    settings = facts_of(read_run(finished.folder)).settings
    assert settings["requests"] == {"direct": "label", "let_me_think": "rationale"}
    assert settings["kind"] == "prefix_study"


def test_without_generation_the_verdict_says_what_is_not_known(cells: Path, tmp_path: Path) -> None:
    run = run_native(composed(f"dataset.limit={N}", "logger=none", f"paths.cells_dir={cells}"), tmp_path / "run")
    assert [sheet.name for sheet in run.report.sheets] == ["verdict"]
    assert all(math.isnan(one.evidence.label_mass.value) is False for one in run.report.verdicts)
