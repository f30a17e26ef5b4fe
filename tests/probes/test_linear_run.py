"""`probe=linear` as a whole on tiny models: what it writes and prints, resume, features at hand, several processes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import probes
import probes.fitting
from probes.linear import run_linear
from probes.predictions import STUDY, Probed, read_predictions
from tests.backends.served.loopback import free_port
from tests.commands import Command, user_environment
from thinkgap.errors import ConfigError, StoreError
from thinkgap.schema import TrainConfig
from thinkgap.store.manifest import read_manifest

pytestmark = pytest.mark.usefixtures("shared_captures")
Linear = Callable[..., TrainConfig]
SMALL = ["probe.controls.mdl=false", "probe.controls.capacity=false", "probe.controls.learning_curve=false"]
QUICK = [*SMALL, "probe.epochs=3", "probe.batch_size=8", "trainer=cpu", "probe.exact.penalties=[0.01,1.0]"]


def contents(folder: Path) -> dict[str, bytes]:
    """Files of a run in which no clock and no path is."""
    names = {"predictions.parquet", "fits.json", "linear_probes.md", "roles.csv", "transfer.png", "fingerprint.json"}
    found = {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
        and (file.name in names or file.suffix in {".csv", ".safetensors"} or "controls" in file.parts)
    }
    assert names <= {Path(name).name for name in found}
    return found


@pytest.fixture(scope="module")
def runs() -> dict[str, Path]:
    """Folders of finished runs, by solver."""
    return {}


@pytest.fixture
def whole(
    linear: Linear, shared_captures: None, runs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """`whole(solver)`: the folder of a run that went through at once, one for all tests, which leave it as it is."""

    def finished(solver: str) -> Path:
        if solver not in runs:
            folder = tmp_path_factory.mktemp("runs") / solver
            run_linear(linear(*QUICK, f"probe.solver={solver}"), folder)
            runs[solver] = folder
        return runs[solver]

    return finished


@pytest.mark.parametrize("solver", ["adamw", "exact"])
def test_a_run_prints_and_keeps_what_it_found(
    linear: Linear, tmp_path: Path, capsys: pytest.CaptureFixture[str], solver: str
) -> None:
    cfg = linear(*QUICK, f"probe.solver={solver}", "probe.permutations=2")
    report = run_linear(cfg, tmp_path / "run")
    printed = capsys.readouterr().out
    assert report is not None
    for part in (
        "### Linear probes",
        "Gamma",
        "best layer",
        "selectivity",
        "In short: ",
        "### Transfer",
        "control task",
    ):
        assert part in printed, part
    names = {sheet.name for sheet in report.sheets}
    assert {"linear_probes", "linear_probes_orders", "probe_layers", "probe_transfer", "probe_controls"} <= names
    assert names <= {file.stem for file in (tmp_path / "run").glob("*.csv")}
    manifest = read_manifest(tmp_path / "run")
    assert manifest["splits"]["fit"]["items"] == 12
    assert manifest["finished"]
    found = read_predictions(tmp_path / "run")
    assert len(found) == 24
    assert {one.state for one in found.probes} == {"embeddings", "layer_0", "layer_1", "layer_2", "final_norm"}
    # What was saved says of the captured test run what the table says.
    run = Path(manifest["features"][-1])
    saved = probes.load(tmp_path / "run" / "probes" / "direct" / "study")
    rows = saved.read_run(run, "direct").sort_values(["item_id", "presentation"])
    assert rows.item_id.tolist() == found.item_id.tolist()
    assert rows.probe_slot.tolist() == found.probes[Probed("direct", "direct", STUDY, "final_norm")].tolist()
    assert rows.pred_slot.tolist() == found.native["direct"].tolist()


def test_with_features_at_hand_the_model_is_never_loaded(
    linear: Linear, whole: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = whole("exact")

    def refuse(*_arguments: Any, **_named: Any) -> Any:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr("probes.captures.load_model", refuse)
    monkeypatch.setattr("thinkgap.backends.load.load_backend", refuse)
    run_linear(linear(*QUICK, "probe.solver=exact"), tmp_path / "second")
    assert contents(first) == contents(tmp_path / "second")


@pytest.mark.parametrize("solver", ["adamw", "exact"])
def test_a_killed_run_goes_on_and_ends_the_same(
    linear: Linear, whole: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, solver: str
) -> None:
    cfg, expected = linear(*QUICK, f"probe.solver={solver}"), contents(whole(solver))
    written = probes.fitting.write_block
    blocks: list[int] = []

    def dies(folder: Path, number: int, fitted: Any) -> None:
        if len(blocks) == 1:
            raise KeyboardInterrupt
        blocks.append(number)
        written(folder, number, fitted)

    monkeypatch.setattr("probes.fitting.write_block", dies)
    with pytest.raises(KeyboardInterrupt):
        run_linear(cfg, tmp_path / "killed")
    assert blocks == [0], "one of the two blocks was kept"
    fitted: list[int] = []
    monkeypatch.setattr("probes.fitting.write_block", lambda *given: (fitted.append(given[1]), written(*given)))
    run_linear(cfg, tmp_path / "killed")
    assert fitted == [1], "only what was left is fitted"
    assert contents(tmp_path / "killed") == expected
    assert not list((tmp_path / "killed").rglob("*.ckpt"))


def test_a_folder_of_other_settings_is_refused(linear: Linear, whole: Callable[[str], Path], tmp_path: Path) -> None:
    shutil.copytree(whole("exact"), tmp_path / "run")
    before = contents(tmp_path / "run")
    with pytest.raises(StoreError, match=r"other settings.*hydra\.run\.dir(.|\n)*probe\.bias"):
        run_linear(linear(*QUICK, "probe.solver=exact", "probe.bias=false", "dataset.limit=9"), tmp_path / "run")
    assert contents(tmp_path / "run") == before, "what was refused has changed nothing"


def test_titles_and_cards_name_the_data_of_given_runs(
    linear: Linear, whole: Callable[[str], Path], tmp_path: Path
) -> None:
    """Not those of the training's own settings, which nothing was read by."""
    quick = [*QUICK, "probe.solver=exact", "probe.states=[final_norm]"]
    fit, _, test = read_manifest(whole("exact"))["features"]
    given = ["dataset=digit_scenes", f"probe.fit_features={fit}", f"probe.test_features={test}"]
    report = run_linear(linear(*quick, *given, "trigger.placement=assistant"), tmp_path / "second")
    assert report is not None
    title = report.sheets[0].title
    assert " on toy_facts (" in title
    assert "placement=user" in title
    assert probes.load(tmp_path / "second" / "probes" / "direct" / "study").card.dataset == "toy_facts"


def test_one_condition_alone_has_no_gamma_and_says_so(
    linear: Linear, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_linear(linear(*QUICK, "probe.solver=exact", "trigger=direct"), tmp_path / "run")
    assert "Gamma" in capsys.readouterr().out
    stored = json.loads((tmp_path / "run" / "fits.json").read_text())
    assert stored["conditions"] == ["direct"]


def test_missing_label_rows_are_told_with_their_reason(
    linear: Linear, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = run_linear(linear(*QUICK, "probe.solver=exact", "labels=both"), tmp_path / "run")
    assert report is not None
    assert "probe_fixed_rows" not in {sheet.name for sheet in report.sheets}
    said = "No label rows of direct, let_me_think: label A is the sum of 2 tokens, which no linear readout is."
    assert capsys.readouterr().out.count(said) == 1


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("probe.epochs=0", "probe.epochs=0: must be at least 1"),
        ("probe.permutations=0", "probe.permutations=0: must be at least 1"),
        ("probe.exact.penalties=[]", "probe.exact.penalties=[]: give one or more"),
        ("probe.exact.penalties=[1.0,1.0]", "name each value once"),
        ("probe.adamw.learning_rates=[-1.0]", "numbers above 0"),
        ("probe.adamw.weight_decays=[-1.0]", "numbers from 0 up"),
        ("probe.conditions=[]", "probe.conditions is empty"),
        ("probe.conditions=[nope]", "nope"),
        ("probe.states=[layer_9]", "layer_9"),
        ("probe.state=layer_9", "layer_9"),
    ],
)
def test_settings_that_mean_nothing_are_refused(linear: Linear, tmp_path: Path, override: str, message: str) -> None:
    with pytest.raises((ConfigError, StoreError)) as refused:
        run_linear(linear(*QUICK, override), tmp_path / "run")
    assert message in str(refused.value)


def as_torchrun(rank: int, port: int, folder: Path) -> dict[str, str]:
    """The environment that torchrun gives one of two processes (`tests/evaluation` starts torchrun itself)."""
    variables = user_environment(OMP_NUM_THREADS="1", RUN_ID="two", THINKGAP_CACHE=str(folder / "cache"))
    variables |= {"THINKGAP_CELLS": str(folder / "cells"), "THINKGAP_CAPTURES": str(folder / "captures")}
    variables |= {"TORCHELASTIC_RUN_ID": "none", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "GROUP_RANK": "0"}
    variables |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    return variables


def test_two_processes_give_the_bytes_of_one(linear: Linear, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Extraction and heads are shared out among torchrun's; every reported figure is the same, byte for byte."""
    # Cells of other tests come from other batches, which may differ in the last digit.
    monkeypatch.setenv("THINKGAP_CELLS", str(tmp_path / "own" / "cells"))
    monkeypatch.setenv("THINKGAP_CAPTURES", str(tmp_path / "own" / "captures"))
    settings, port = [*QUICK, "dataset.limit=13", "probe.examples=13"], free_port()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as each of the two has
    try:
        cfg = linear(*settings)
        run_linear(cfg, tmp_path / "one")
    finally:
        torch.set_num_threads(threads)
    asked = ["model=local", f"model.path={cfg.model.path}", "dataset=toy_facts", "trigger=let_me_think"]
    asked += ["logger=none", "probe.select_examples=12", *settings]
    first, second = (
        Command("train.py", *asked, cwd=tmp_path, environment=as_torchrun(rank, port, tmp_path)) for rank in (0, 1)
    )
    done, other = first.finished(), second.finished()
    assert (done.returncode, other.returncode) == (0, 0), done.stderr + other.stderr
    assert (done.stdout + other.stdout).count("### Linear probes:") == 1, "one process talks"
    one, two = contents(tmp_path / "one"), contents(tmp_path / "outputs" / "train" / "two")
    for found in (one, two):
        del found["fingerprint.json"]  # it names the folder of the cells
    assert one.keys() == two.keys()
    assert [name for name in one if one[name] != two[name]] == []


def test_a_probe_without_bias_has_none(linear: Linear, tmp_path: Path) -> None:
    run_linear(linear(*QUICK, "probe.solver=exact", "probe.bias=false"), tmp_path / "run")
    bias = probes.load(tmp_path / "run" / "probes" / "direct" / "best").probe.bias
    assert torch.equal(bias, torch.zeros_like(bias))
