"""Two processes give what one gives: launched by torchrun and by Lightning, with too few items, and after a failure."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from tests.commands import run_command, user_environment
from tests.conftest import ROOT
from tests.test_config import composed
from thinkgap.errors import ConfigError, StoreError
from thinkgap.evaluation.finished import Finished
from thinkgap.evaluation.native import run_native
from thinkgap.evaluation.prepare import prepare
from thinkgap.evaluation.several import check_same, require_all
from thinkgap.parallel import ALONE, World
from thinkgap.store.features import features_of_run
from thinkgap.store.records import read_records
from thinkgap.store.run_folder import RunFolder

ITEMS, EXCLUDED = 12, {"r0", "r1"}
TORCHRUN = ["torch.distributed.run", "--nproc-per-node", "2"]


@pytest.fixture(scope="module")
def settings(tiny_model: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Twelve items in several batches; the two longest, of the first two batches, cannot be shown."""
    file = tmp_path_factory.mktemp("items") / "mine.jsonl"
    rows = [
        {"id": f"r{n}", "question": f"q {n}? " + "word " * (40 - 2 * n), "choices": ["a", "b"], "answer": n % 2}
        for n in range(ITEMS)
    ]
    for row in rows[:2]:
        row["question"] = f"{row['question']} {'more ' * 100}<|im_end|>"
    file.write_text("\n".join(map(json.dumps, rows)))
    return [
        "model=local",
        f"model.path={tiny_model('llama')}",
        "dataset=jsonl",
        f"dataset.path={file}",
        "dataset.limit=null",
        "trigger=let_me_think",
        "logger=none",
        "trainer=cpu",
        "evaluation.batch_tokens=60",
    ]


def environment(**further: str) -> dict[str, str]:
    """As a user's, with one thread, and with the repository for processes that launchers start."""
    return user_environment(OMP_NUM_THREADS="1", PYTHONPATH=os.pathsep.join([str(ROOT / "src"), str(ROOT)]), **further)


def same(folder: Path, other: Path) -> bool:
    """Whether two runs hold the same bytes where no clock is in them."""
    return all((folder / name).read_bytes() == (other / name).read_bytes() for name in ("records.parquet", "table.md"))


def states(folder: Path) -> Mapping[tuple[str, str], np.ndarray]:
    features = features_of_run(folder, ["layer_2"])
    keys = zip(features.rows["item_id"].to_pylist(), features.rows["condition"].to_pylist(), strict=True)
    return dict(zip(keys, np.asarray(features.states), strict=True))


def test_two_processes_of_torchrun_give_the_records_and_states_of_one(settings: list[str], tmp_path: Path) -> None:
    settings = [*settings, "evaluation.capture.enabled=true", "evaluation.verify=3"]
    one = run_native(composed(*settings, f"paths.cells_dir={tmp_path / 'one_cells'}"), tmp_path / "one")
    command = [*TORCHRUN, str(ROOT / "evaluate.py"), *settings, f"paths.cells_dir={tmp_path / 'two_cells'}"]
    done = run_command(*command, cwd=tmp_path, environment=environment(RUN_ID="two"))
    assert done.returncode == 0, done.stderr
    two = tmp_path / "outputs" / "evaluate" / "two"
    assert same(one.folder, two)
    keys = [record.key for record in read_records(two)]
    assert len(keys) == len(set(keys)) == 2 * (ITEMS - len(EXCLUDED))
    alone, both = states(one.folder), states(two)
    assert alone.keys() == both.keys()
    assert all(np.array_equal(state, both[key]) for key, state in alone.items())
    # Each process has written its own cells.
    assert len(list((tmp_path / "two_cells").glob("*/shard-*.parquet"))) == 2
    manifest = json.loads((two / "manifest.json").read_text())
    assert {entry["item"] for entry in manifest["excluded"]} == EXCLUDED
    session = manifest["session"]
    assert (session["processes"], session["prompts"], session["reused_prompts"]) == (2, len(keys), 0)
    assert manifest["scoring"]["verified"]["plain"]["prompts"] == 3
    assert manifest["n_items"] == one.manifest["n_items"] == ITEMS - len(EXCLUDED)
    # The second process says nothing.
    assert done.stdout.count("records, manifest and tables") == 1
    assert "rank 1" not in done.stderr
    assert done.stderr.count("is excluded") == len(EXCLUDED)
    assert not (two / "shards").exists()


@pytest.mark.slow  # torchrun is the launcher that the others take
def test_lightning_launches_two_processes_for_one_item(settings: list[str], tmp_path: Path) -> None:
    settings = [one for one in settings if not one.startswith("dataset")]
    settings += ["dataset=toy_facts", "dataset.limit=1", "evaluation.reuse=false"]
    one = run_native(composed(*settings), tmp_path / "one")
    ddp = ["trainer=ddp", "trainer.accelerator=cpu"]
    done = run_command("evaluate.py", *settings, *ddp, cwd=tmp_path, environment=environment())
    assert done.returncode == 0, done.stderr
    (two,) = (tmp_path / "outputs" / "evaluate").iterdir()
    assert same(one.folder, two)
    assert json.loads((two / "manifest.json").read_text())["session"]["processes"] == 2
    assert done.stdout.count("records, manifest and tables") == 1


def test_a_failing_process_ends_the_others_and_one_process_goes_on(settings: list[str], tmp_path: Path) -> None:
    settings = [*settings, "evaluation.reuse=false"]
    one = run_native(composed(*settings), tmp_path / "one")
    script = "tests/evaluation/failing_process.py"
    asked = [*settings, "trainer.devices=2", f"hydra.run.dir={tmp_path / 'killed'}"]
    before = time.monotonic()
    done = run_command(script, *asked, cwd=tmp_path, environment=environment())
    assert time.monotonic() - before < 120
    assert done.returncode != 0
    assert "process 1 fails here" in done.stderr
    assert not (tmp_path / "killed" / "records.parquet").exists()
    assert list((tmp_path / "killed" / "shards").glob("part-r000-*.parquet"))
    assert list((tmp_path / "killed" / "shards").glob("part-r001-*.parquet"))
    resumed = run_native(composed(*settings), tmp_path / "killed")
    assert 0 < resumed.manifest["session"]["prompts"] < 2 * (ITEMS - len(EXCLUDED))
    assert same(one.folder, resumed.folder)


@pytest.mark.parametrize(
    ("overrides", "world", "message"),
    [
        (["trainer.devices=2"], ALONE, r"trainer.devices=2, trainer.num_nodes=1: this run has 1 processes, not 2"),
        (["evaluation=generation"], World(1, 2), "evaluation.generation.enabled=true is read in one process, not in 2"),
        (["evaluation=likelihood"], World(0, 3), "evaluation.likelihood.enabled=false, then in another folder"),
        (["model.device_map=auto"], World(0, 2), "model.device_map spreads one model over devices"),
    ],
)
def test_what_several_processes_cannot_do_is_refused(
    settings: list[str], tmp_path: Path, overrides: list[str], world: World, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        run_native(composed(*settings, *overrides), tmp_path / "run", world=world)
    assert not (tmp_path / "run" / "fingerprint.json").exists()


def test_rows_that_did_not_arrive_are_not_merged(run: Callable[..., Finished], tmp_path: Path) -> None:
    """A folder on a network may not show yet what another machine has written."""
    few = run("dataset.limit=4", "evaluation.reuse=false")
    items = {record.item_id for record in read_records(few.folder)}
    asked = prepare(composed(*few_settings(few), "dataset.limit=12"))
    missing = {item[0].item.id for item in asked.items} - items
    assert missing
    require_all(RunFolder(few.folder), asked, missing, World(0, 2))
    require_all(RunFolder(few.folder), asked, (), ALONE)
    with pytest.raises(StoreError, match=rf"{len(missing)} of 12 presentations were scored and are not in .*the first"):
        require_all(RunFolder(few.folder), asked, (), World(0, 2))


def few_settings(finished: Finished) -> list[str]:
    path = finished.manifest["config"]["model"]["path"]
    return ["model=local", f"model.path={path}", "dataset=toy_facts", "trigger=let_me_think", "logger=none"]


def test_processes_that_would_score_differently_are_refused() -> None:
    first = {"model": {"device": "cuda:0", "dtype": "bfloat16"}, "scoring": "packed", "seed": 0}
    own = first | {"model": {"device": "cuda:1", "dtype": "bfloat16"}}
    check_same(first, own, World(1, 2))
    assert own["model"] == {"device": "cuda:1", "dtype": "bfloat16"}
    with pytest.raises(ConfigError, match=r"process 1 would score otherwise than the first \(model, scoring differ\)"):
        check_same(first, own | {"model": {"device": "cpu"}, "scoring": "plain"}, World(1, 2))
