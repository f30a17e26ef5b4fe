"""`thinkgap.load`: frames of finished runs, their columns, and folders that are none."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import thinkgap
from benchmarks.load_records import write_records
from probes.predictions import SCHEMA as PREDICTIONS
from probes.predictions import Probed, write_predictions
from tests.analysis.annotation_runs import ordinary_run
from tests.conftest import ROOT
from tests.items import mcq
from tests.probes.predicted import prediction_rows, table_of
from tests.store.examples import record, run_records
from thinkgap.errors import StoreError
from thinkgap.frames import columns
from thinkgap.frames.long import LABEL_COLUMNS, LAYER_COLUMNS
from thinkgap.nothinking.columns import SCHEMA as RESPONSES
from thinkgap.store import RunFolder
from thinkgap.store.items import write_items
from thinkgap.store.likelihoods import OptionScores, write_likelihoods
from thinkgap.store.manifest import MANIFEST_FILE
from thinkgap.store.records import SCHEMA
from thinkgap.types import Record


def write_run(path: Path, records: list[Record], **manifest: object) -> Path:
    folder = RunFolder(path)
    folder.open({})
    folder.write_shard(records)
    folder.merge(("direct", "think"))
    if manifest:
        (path / MANIFEST_FILE).write_text(json.dumps(manifest), encoding="utf-8")
    return path


def model(revision: str, name: str = "m", **more: object) -> dict[str, object]:
    return {"config": {"model": {"name": name}}, "model": {"revision": revision, "path": "somewhere", **more}}


def test_records_keep_columns_and_lists(tmp_path: Path) -> None:
    frame = thinkgap.load(write_run(tmp_path / "run", run_records(6))).records
    assert list(frame.columns) == SCHEMA.names
    assert len(frame) == 12
    assert frame["condition"].dtype == "category"
    first = frame.iloc[0]
    assert list(first["label_logprobs"]) == [-1.0, -1.1]
    assert frame["label_logprobs"].list[0].tolist() == [-1.0] * 12
    assert frame["correct"].dtype == bool


def test_labels_have_a_row_for_each_slot(tmp_path: Path) -> None:
    shown = record("q1", pred_slot=2, order=(3, 0, 1, 2), label_logprobs=(-3.0, -2.0, -0.5, -4.0))
    reply = replace(shown, readout="generation", label_logprobs=(), pred_slot=-1, pred_content=-1)
    frame = thinkgap.load(write_run(tmp_path / "run", [shown, reply])).labels
    assert list(frame.columns) == list(LABEL_COLUMNS)
    own = frame[frame["readout"] == "native"]
    assert own[["slot", "content", "label", "gold", "predicted", "logprob"]].to_numpy().tolist() == [
        [0, 3, "A", False, False, -3.0],
        [1, 0, "B", True, False, -2.0],
        [2, 1, "C", False, True, -0.5],
        [3, 2, "D", False, False, -4.0],
    ]
    other = frame[frame["readout"] == "generation"]
    assert len(other) == 4
    assert other["logprob"].isna().all()
    assert not other["predicted"].any()


def test_layers_have_a_row_for_each_layer_and_slot(tmp_path: Path) -> None:
    two = {"k": 2, "order": (1, 0), "labels": ("A", "B"), "label_logprobs": (-0.2, -2.0), "gold_slot": 0}
    rows = [
        record("q1", lens_label_logprobs=((-1.0, -2.0), (-3.0, -4.0)), lens_label_mass=(0.5, 0.25), pred_slot=0, **two),
        record("q2"),
        record("q3", lens_label_logprobs=(), lens_label_mass=()),
    ]
    frame = thinkgap.load(write_run(tmp_path / "run", rows)).layers
    assert list(frame.columns) == list(LAYER_COLUMNS)
    own = frame[frame["item_id"] == "q1"]
    assert own[["layer", "slot", "content", "gold", "logprob", "label_mass"]].to_numpy().tolist() == [
        [0, 0, 1, True, -1.0, 0.5],
        [0, 1, 0, False, -2.0, 0.5],
        [1, 0, 1, True, -3.0, 0.25],
        [1, 1, 0, False, -4.0, 0.25],
    ]
    four = frame[frame["item_id"] == "q2"]
    assert four["logprob"].tolist() == [-2.0, -3.0, -math.inf, -1.0, -1.25, -0.1, -7.5, -math.pi]
    assert four["slot"].tolist() == [0, 1, 2, 3] * 2
    assert set(frame["item_id"]) == {"q1", "q2"}


def test_lists_of_another_length_are_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [record("q1"), record("q2", labels=("A", "B"))])
    with pytest.raises(StoreError, match=r"q2.*labels has 2 entries and not 4"):
        thinkgap.load(run).labels  # noqa: B018
    run = write_run(tmp_path / "lens", [record("q1", lens_label_mass=(0.5,))])
    with pytest.raises(StoreError, match="lens_label_mass has 1 entries and not 2"):
        thinkgap.load(run).layers  # noqa: B018


def test_absent_parts_are_empty_with_their_columns(tmp_path: Path) -> None:
    runs = thinkgap.load(write_run(tmp_path / "run", [record("q1")]))
    assert list(runs.responses.columns) == RESPONSES.names
    assert list(runs.predictions.columns) == PREDICTIONS.names
    for name in ("items", "replies", "likelihoods", "responses", "relevance", "judgements", "predictions", "settings"):
        assert len(getattr(runs, name)) == 0, name
    assert runs.manifest == {}


def test_further_files_of_a_run(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [record("q1")], config={"a": {"b": 1}, "c": []})
    write_items(run, {"set": [mcq("q1", meta={"area": "STEM"})]})
    write_likelihoods(run, [OptionScores("q1", "identity", "direct", (-1.0, -2.0), (-3.0, -4.0), (1, 2), (3, 4))])
    runs = thinkgap.load(str(run))
    assert runs.items["meta"][0] == {"area": "STEM"}
    assert runs.items["gold"].dtype == "Int32"
    assert list(runs.likelihoods["option_logprobs"][0]) == [-1.0, -2.0]
    assert runs.settings.to_dict("records") == [{"setting": "a.b", "value": 1}, {"setting": "c", "value": []}]
    assert runs.manifest["config"]["a"] == {"b": 1}


def test_responses_of_a_no_thinking_run(tmp_path: Path) -> None:
    frame = thinkgap.load(ordinary_run(tmp_path / "run")).responses
    assert len(frame) == 15
    assert frame["correct"].dtype == "boolean"
    assert frame["etr_strict"].sum() == 3
    assert frame["channels"][0] == {}


def test_predictions_of_probes_and_their_columns(tmp_path: Path) -> None:
    assert columns.PREDICTIONS.equals(PREDICTIONS)
    rows = prediction_rows([0, 1], {"direct": [0, 0]}, {Probed("direct", "direct", "study", "s"): [1, 1]})
    tmp_path.joinpath("run").mkdir()
    write_predictions(tmp_path / "run", [table_of(rows)])
    frame = thinkgap.load(tmp_path / "run").predictions
    assert frame["correct"].tolist() == [False, True]
    assert frame["native_correct"].tolist() == [True, False]


def test_patterns_and_lists_name_the_run(tmp_path: Path) -> None:
    one = write_run(tmp_path / "one", [record("q1"), record("q2", "think")])
    two = write_run(tmp_path / "two", [record("q3", "other")])
    (tmp_path / "notes").mkdir()
    for given in (tmp_path / "*", str(tmp_path / "*"), [one, two], [tmp_path / "*", one]):
        frame = thinkgap.load(given).records
        assert list(frame.columns) == ["run", *SCHEMA.names]
        assert list(zip(frame["run"], frame["item_id"], frame["condition"], strict=True)) == [
            ("one", "q1", "direct"),
            ("one", "q2", "think"),
            ("two", "q3", "other"),
        ]
    runs = thinkgap.load([one])
    assert "run" in runs.records.columns
    assert "run" in runs.labels.columns
    assert list(runs.manifest) == ["one"]
    deep = write_run(tmp_path / "deep" / "one", [record("q9")])
    assert set(thinkgap.load([one, deep]).records["run"]) == {str(one), str(deep)}
    assert len(thinkgap.load(tmp_path / "**").folders) == 3


def test_a_folder_whose_name_looks_like_a_pattern_is_itself(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a[1]", [record("q1")])
    assert "run" not in thinkgap.load(run).records.columns


def test_folders_that_are_no_finished_run(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"nowhere does not exist: .* the folder of a run"):
        thinkgap.load(tmp_path / "nowhere")
    with pytest.raises(StoreError, match=r"no folder of a run matches .*no\*"):
        thinkgap.load(tmp_path / "no*")
    with pytest.raises(StoreError, match="no folder was given"):
        thinkgap.load([])
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="is a file"):
        thinkgap.load(tmp_path / "file")
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreError, match="holds no run"):
        thinkgap.load(tmp_path / "empty")
    folder = RunFolder(tmp_path / "half")
    folder.open({})
    with pytest.raises(StoreError, match="half-written run .*it has no end, none of records.parquet"):
        thinkgap.load(tmp_path / "half")
    folder.write_shard([record("q1")])
    with pytest.raises(StoreError, match="half-written run .*1 shards are not merged"):
        thinkgap.load(tmp_path / "half")
    folder.merge(("direct",))
    assert len(thinkgap.load(tmp_path / "half").records) == 1
    folder.write_shard([record("q2")])
    with pytest.raises(StoreError, match="half-written"):
        thinkgap.load(tmp_path / "half")
    going = write_run(tmp_path / "going", [record("q1")], finished=None)
    with pytest.raises(StoreError, match="half-written"):
        thinkgap.load(going)


def test_files_of_another_version_and_damaged_ones(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [record("q1")], libraries={"thinkgap": "0.0.7"})
    file = run / "records.parquet"
    whole, table = file.read_bytes(), pq.read_table(file)
    pq.write_table(table.drop_columns("entropy"), file)
    with pytest.raises(StoreError, match="no column 'entropy': it was written by thinkgap 0.0.7"):
        thinkgap.load(run)
    place = table.schema.get_field_index("k")
    pq.write_table(table.set_column(place, "k", table.column("k").cast(pa.int64())), file)
    with pytest.raises(StoreError, match="'k' as int64, not int32: it was written by thinkgap 0.0.7"):
        thinkgap.load(run)
    file.write_bytes(whole[:-20])
    with pytest.raises(StoreError, match="damaged"):
        thinkgap.load(run)
    # A bit in the rows: the footer is whole, so it shows when rows are read.
    broken = bytearray(whole)
    broken[60] ^= 0xFF
    file.write_bytes(bytes(broken))
    with pytest.raises(StoreError, match="damaged"):
        thinkgap.load(run).records  # noqa: B018
    (run / MANIFEST_FILE).write_text("{")
    with pytest.raises(StoreError, match="manifest.json is damaged"):
        thinkgap.load(run)


def test_two_models_of_one_name_are_refused(tmp_path: Path) -> None:
    one = write_run(tmp_path / "one", [record("q1")], **model("sha256:aa"))
    two = write_run(tmp_path / "two", [record("q1")], **model("sha256:bb"))
    with pytest.raises(StoreError, match=r"one and two both call their model 'm', but its revision is 'sha256:aa'"):
        thinkgap.load([one, two])
    assert len(thinkgap.load([one, two], allow_mixed_models=True).records) == 2
    same = write_run(tmp_path / "same", [record("q1")], **model("sha256:aa", path="elsewhere"))
    other = write_run(tmp_path / "other", [record("q1")], **model("sha256:bb", name="n"))
    assert len(thinkgap.load([one, same, other]).folders) == 3
    random = write_run(tmp_path / "random", [record("q1")], **model("sha256:aa", random_weights=0))
    with pytest.raises(StoreError, match="random_weights"):
        thinkgap.load([one, random])


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = (
        "import sys, thinkgap; assert 'pandas' not in sys.modules; thinkgap.load; "
        "heavy = {'torch', 'transformers', 'wandb', 'hydra', 'scipy'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        thinkgap.lode  # noqa: B018


@pytest.mark.parametrize("layers", [0, 2])
def test_made_up_records_load_as_pandas_reads_them(tmp_path: Path, layers: int) -> None:
    write_records(tmp_path, 1_000, layers)
    frame, plain = thinkgap.load(tmp_path).records, pd.read_parquet(tmp_path / "records.parquet")
    assert len(thinkgap.load(tmp_path).layers) == 1_000 * layers * 4
    for name in SCHEMA.names:
        assert list(map(_plain, frame[name])) == list(map(_plain, plain[name])), name


def _plain(value: object) -> object:
    """Arrays and lists of any depth as lists."""
    return [_plain(one) for one in value] if isinstance(value, list | np.ndarray) else value


@pytest.mark.slow
def test_a_million_records_load_in_five_seconds(tmp_path: Path) -> None:
    write_records(tmp_path, 1_000_000)
    start = time.process_time()
    assert len(thinkgap.load(tmp_path).records) == 1_000_000
    assert time.process_time() - start < 5
