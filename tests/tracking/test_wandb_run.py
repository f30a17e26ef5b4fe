"""W&B with the real library, offline: what ends up in its files, and that its failures end nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
import wandb

from tests.tracking import wandb_file
from thinkgap.schema import LoggerConfig, WandbMode
from thinkgap.tracking.wandb_columns import uniform_columns
from thinkgap.tracking.wandb_mode import resolve_mode
from thinkgap.tracking.wandb_run import WandbTracker, wandb_run


@pytest.fixture(autouse=True)
def nobodys_machine(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home without credentials, and an empty current folder that must stay so."""
    for name in list(os.environ):
        if name.startswith("WANDB_") and name != "WANDB_SERVICE":
            monkeypatch.delenv(name)
    monkeypatch.delenv("NETRC", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
    cwd = tmp_path_factory.mktemp("cwd")
    monkeypatch.chdir(cwd)
    yield cwd
    wandb.teardown()  # it keeps keys and addresses for the rest of the process


def job(folder: Path, **changes: Any) -> AbstractContextManager[WandbTracker]:
    arguments: dict[str, Any] = {
        "config": {"model": {"name": "tiny"}, "seed": 3},
        "name": "tiny on toy",
        "group": "sweep-1",
        "job_type": "evaluate",
        "tags": ["tiny", "toy", "tiny", "x" * 100],
        "folder": folder,
    }
    cfg = changes.pop("cfg", LoggerConfig(tags=["mine"]))
    return wandb_run(cfg, **(arguments | changes))


def test_two_jobs_of_a_process_are_two_runs(tmp_path: Path, nobodys_machine: Path):
    rows = [{"condition": "direct", "k": None, "accuracy": 0.5}, {"condition": "think", "k": 2, "accuracy": 1}]
    for number in (1, 2):
        with job(tmp_path / str(number), config={"number": number, "model": {"name": "tiny"}}) as tracker:
            assert tracker.active
            tracker.summary({"direct/accuracy": number / 4, "absent": None, "nan": float("nan")})
            tracker.table("table", rows)
    first, second = (wandb_file.read(tmp_path / name) for name in ("1", "2"))
    assert first["id"] != second["id"]
    for number, found in ((1, first), (2, second)):
        assert found["config"]["number"] == number
        assert found["config"]["model"] == {"name": "tiny"}
        assert found["summary"]["direct/accuracy"] == number / 4
        assert not {"absent", "nan"} & found["summary"].keys()
        assert found["exit_code"] == 0
        assert (found["project"], found["name"], found["group"]) == ("thinkgap", "tiny on toy", "sweep-1")
        assert (found["job_type"], found["tags"]) == ("evaluate", ["tiny", "toy", "x" * 64, "mine"])
        (file,) = (tmp_path / str(number)).rglob("*.table.json")
        table = json.loads(file.read_text())
        assert table["columns"] == ["condition", "k", "accuracy"]
        assert table["data"] == [["direct", None, 0.5], ["think", 2, 1]]
    assert list(nobodys_machine.iterdir()) == []
    assert not list(Path.home().rglob("artifacts"))
    assert wandb.run is None
    assert "WANDB_DATA_DIR" not in os.environ


@pytest.mark.parametrize(("error", "code"), [(RuntimeError("lost"), 1), (KeyboardInterrupt(), 1), (SystemExit(0), 0)])
def test_an_exception_passes_through_and_marks_the_run(tmp_path: Path, error: BaseException, code: int):
    def work() -> None:
        with job(tmp_path) as tracker:
            tracker.summary({"a": 1})
            raise error

    with pytest.raises(type(error)) as caught:
        work()
    assert caught.value is error
    found = wandb_file.read(tmp_path)
    assert found["exit_code"] == code
    assert found["summary"]["a"] == 1
    with job(tmp_path / "next") as tracker:
        assert tracker.active
    assert wandb_file.read(tmp_path / "next")["exit_code"] == 0


def test_secrets_code_and_git_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MADE_UP_TOKEN", "made-up-value-1")
    config = {"served": {"api_key": "made-up-value-2", "base_url": "https://x?made-up-value-1"}, "max_tokens": 5}
    with job(tmp_path, config=config):
        pass
    found = wandb_file.read(tmp_path)
    assert found["config"]["served"] == {"base_url": "[removed]"}
    assert found["config"]["max_tokens"] == 5
    for file in (path for path in tmp_path.rglob("*") if path.is_file()):
        data = file.read_bytes()
        assert b"made-up-value" not in data, file
        assert b"nobodys_machine" not in data, file  # this file's own text
    assert not list(tmp_path.rglob("*.patch"))
    assert not list(tmp_path.rglob("output.log"))


def test_mixed_columns_become_text_one_by_one(tmp_path: Path):
    rows = [{"a": 1, "b": "x", "c": True, "d": [1]}, {"a": "n/a", "b": None, "c": 2}, {"a": None, "e": 0.5}]
    columns, data = uniform_columns(rows)
    assert columns == ["a", "b", "c", "d", "e"]
    assert data == [["1", "x", "True", "[1]", None], ["n/a", None, "2", None, None], [None, None, None, None, 0.5]]
    with job(tmp_path) as tracker:
        tracker.table("mixed", rows)
    assert list(tmp_path.rglob("mixed*.table.json"))


def test_a_failing_call_warns_once_and_ends_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    class Broken:
        summary = property(lambda self: (_ for _ in ()).throw(OSError("disk on fire")))

        def finish(self, exit_code: int) -> None:
            raise OSError("still on fire")

    tracker = WandbTracker(Broken())
    tracker.summary({"a": 1})
    tracker.summary({"a": 1})
    tracker.finish(0)
    assert [record.getMessage() for record in caplog.records] == [
        "W&B summary failed, the job goes on without it: OSError: disk on fire"
    ]
    tracker.table("t", [{"a": 1}])


def test_wandb_that_does_not_start_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    modes = []

    def fail(**arguments: Any) -> None:
        modes.append(arguments["mode"])
        raise ConnectionError("no route")

    monkeypatch.setattr(wandb, "init", fail)
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    with job(tmp_path) as tracker:
        tracker.summary({"a": 1})
        done = True
    assert done
    assert not tracker.active
    assert modes == ["online", "offline"]
    assert "no route" in caplog.text
    with pytest.raises(ZeroDivisionError), job(tmp_path):
        _ = 1 / 0


def test_online_without_network_falls_back_quickly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")  # nothing listens there
    monkeypatch.setattr("thinkgap.tracking.wandb_run.INIT_TIMEOUT", 2)
    start = time.perf_counter()
    with job(tmp_path) as tracker:
        tracker.summary({"a": 1})
    assert time.perf_counter() - start < 20
    assert wandb_file.read(tmp_path)["summary"]["a"] == 1


@pytest.mark.parametrize(
    ("mode", "variable", "key", "expected"),
    [
        (WandbMode.auto, None, False, "offline"),
        (WandbMode.auto, None, True, "online"),
        (WandbMode.online, None, False, "offline"),
        (WandbMode.offline, None, True, "offline"),
        (WandbMode.offline, "online", True, "offline"),
        (WandbMode.online, "offline", True, "offline"),
        (WandbMode.auto, "dryrun", True, "offline"),
        (WandbMode.auto, "disabled", True, "disabled"),
        (WandbMode.disabled, "online", True, "disabled"),
        (WandbMode.auto, "nonsense", True, "online"),
    ],
)
def test_modes(monkeypatch: pytest.MonkeyPatch, mode: WandbMode, variable: str | None, key: bool, expected: str):
    if variable:
        monkeypatch.setenv("WANDB_MODE", variable)
    if key:
        monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    assert resolve_mode(LoggerConfig(mode=mode)) == expected
    assert resolve_mode(LoggerConfig(mode=mode, enabled=False)) == "disabled"


def test_a_key_in_netrc_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    file = tmp_path / "made_up_netrc"
    file.write_text("machine api.wandb.ai login user password " + "0" * 40 + "\n")
    monkeypatch.setenv("NETRC", str(file))
    assert resolve_mode(LoggerConfig()) == "online"
    file.write_text("machine example.org login user password " + "0" * 40 + "\n")
    assert resolve_mode(LoggerConfig()) == "offline"


def test_disabled_does_not_import_wandb(tmp_path: Path):
    code = (
        "import sys; from pathlib import Path; from thinkgap.schema import LoggerConfig\n"
        "from thinkgap.tracking.wandb_run import wandb_run\n"
        "with wandb_run(LoggerConfig(enabled=False), config={}, name='n', group=None, job_type='evaluate', tags=[],\n"
        "               folder=Path(sys.argv[1])) as tracker:\n"
        "    tracker.summary({'a': 1}); tracker.table('t', [{'a': 1}])\n"
        "assert not tracker.active and 'wandb' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    assert list(tmp_path.iterdir()) == []
