"""Shares, what is refused before a process starts, and how processes end together."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch

from probes import train
from tests.test_config import composed_train
from thinkgap.cli_launchers import check_launch
from thinkgap.errors import ConfigError, DataError, ProcessError
from thinkgap.parallel import ALONE, World, in_world, start_world
from thinkgap.schema import TrainerConfig

TORCHRUN = {"TORCHELASTIC_RUN_ID": "none", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2"}


@dataclass
class Settings:
    """The settings of a job, so far as processes are concerned."""

    trainer: TrainerConfig = field(default_factory=TrainerConfig)


@pytest.mark.parametrize("n", [0, 1, 2, 7])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_shares_are_disjoint_and_make_the_whole(n: int, size: int) -> None:
    shares = [World(rank, size).share(range(n)) for rank in range(size)]
    assert sorted(thing for share in shares for thing in share) == list(range(n))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_shares_are_taken_in_turn() -> None:
    assert World(1, 3).share("abcdefg") == ["b", "e"]
    assert World(1, 2).share("a") == []


def test_one_process_is_the_first_and_starts_nothing() -> None:
    assert start_world(TrainerConfig(accelerator="cpu")) == ALONE == World()
    assert not torch.distributed.is_initialized()
    assert ALONE.is_first
    assert not World(1, 2).is_first
    ALONE.barrier()
    assert ALONE.from_first({"a": (1, 2)}) == {"a": [1, 2]}
    assert ALONE.gathered("x") == ["x"]


@pytest.mark.parametrize(
    ("cfg", "environment", "message"),
    [
        (TrainerConfig(devices=0), {}, "trainer.devices=0: must be at least 1"),
        (TrainerConfig(num_nodes=0), {}, "trainer.num_nodes=0: must be at least 1"),
        (
            TrainerConfig(devices=3),
            TORCHRUN,
            "torchrun launched 4 processes, and trainer.devices=3 times trainer.num_nodes=1 asks for 3",
        ),
        (TrainerConfig(devices=2), TORCHRUN, "torchrun launched 4 processes, and trainer.devices=2"),
        (TrainerConfig(devices=2), TORCHRUN | {"WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1"}, "launched 1 processes"),
        (TrainerConfig(devices=2, strategy="fsdp"), {}, "trainer.strategy=fsdp: several processes share out items"),
        (TrainerConfig(strategy="ddp_spawn"), TORCHRUN, "trainer.strategy=ddp_spawn"),
        (TrainerConfig(devices=2, accelerator="tpu_of_tomorrow"), {}, "trainer.accelerator=tpu_of_tomorrow"),
    ],
)
def test_what_cannot_be_started_is_refused(
    cfg: TrainerConfig, environment: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("started a process"))
    with pytest.raises(ConfigError, match=message):
        start_world(cfg)


@pytest.mark.parametrize(("devices", "environment"), [(2, {}), (1, TORCHRUN)])
def test_a_sweep_of_several_processes_is_refused(
    devices: int, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    job = in_world(lambda *_: pytest.fail("ran"))
    with pytest.raises(ConfigError, match="-m runs each of its jobs in one process, and [24] are asked for"):
        job(Settings(TrainerConfig(devices=devices)), tmp_path, "sweep")


def test_a_job_gets_its_world(tmp_path: Path) -> None:
    got: list[Any] = []
    cfg = Settings(TrainerConfig(accelerator="cpu"))
    in_world(lambda *given: got.append(given))(cfg, tmp_path, "sweep")
    assert got == [(cfg, tmp_path, "sweep", ALONE)]


@pytest.mark.parametrize(
    ("arguments", "environment", "message"),
    [
        (["-m", "seed=1,2"], TORCHRUN | {"RUN_ID": "x"}, "-m cannot be launched by torchrun"),
        (["--multirun", "seed=1,2"], TORCHRUN | {"RUN_ID": "x"}, "-m cannot be launched by torchrun"),
        (["seed=1"], TORCHRUN, "torchrun: each process would make its own folder; set RUN_ID=NAME"),
        (["seed=1"], TORCHRUN | {"RUN_ID": ""}, "set RUN_ID=NAME"),
        (["seed=1"], TORCHRUN | {"RUN_ID": "x"}, None),
        (["hydra.run.dir=x"], TORCHRUN, None),
        (["seed=1"], TORCHRUN | {"WORLD_SIZE": "1"}, None),
        (["-m", "seed=1,2"], {}, None),
    ],
)
def test_launches_by_torchrun_need_one_folder(
    arguments: list[str], environment: dict[str, str], message: str | None
) -> None:
    if message is None:
        check_launch(arguments, environment)
        return
    with pytest.raises(ConfigError, match=message):
        check_launch(arguments, environment)


def test_adapters_are_trained_in_one_process(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="probe=lm_head_lora trains heads in one process: start it without torchrun"):
        train(composed_train("probe=lm_head_lora"), tmp_path, None, World(1, 2))


def test_a_process_that_has_ended_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*_: object) -> None:
        raise RuntimeError("Connection closed by peer")

    monkeypatch.setattr(torch.distributed, "all_gather_object", closed)
    with pytest.raises(ProcessError, match="another process of this job ended before it was done"):
        World(0, 2).barrier()


def test_a_failure_ends_the_processes_that_were_launched() -> None:
    sleeping = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    ended = subprocess.Popen([sys.executable, "-c", ""])
    children: list[subprocess.Popen[Any]] = [sleeping, ended]
    before = time.monotonic()
    with pytest.raises(DataError, match="lost"), World(0, 1, None, children).ended_together():
        raise DataError("lost")
    assert time.monotonic() - before < 20
    assert sleeping.returncode is not None
    assert sleeping.returncode < 0
    assert not children, "Lightning's observer would kill this process for a child that failed"


def test_the_first_process_waits_for_the_others_at_the_end() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.5)"])
    with World(0, 1, None, [child]).ended_together():
        pass
    assert child.returncode == 0
