"""Sweeps by the engines of clusters, each for real: submitit's local executor, joblib, a local Ray, a one-node SLURM.

`THINKGAP_CLUSTER` names an interpreter that has the launchers (`pip install 'thinkgap[slurm,ray,joblib]'`), else this
one is asked. SLURM needs Debian's slurmctld, slurmd, slurm-client and munge, and root.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands import user_environment
from tests.conftest import ROOT
from thinkgap.store.records import read_records

pytestmark = pytest.mark.scale

# Without finished cells, which jobs that run at once share in another order than jobs in turn: then to the last bit.
JOBS = (
    "model=demo_vlm",
    "dataset.limit=100,150",
    "trigger=paper",
    "evaluation.permutations=2",
    "evaluation.reuse=false",
)
ITEMS = {"0_demo_vlm_digit_scenes": 100, "1_demo_vlm_digit_scenes": 150}
SMALL = ("hydra.launcher.gpus_per_node=null", "hydra.launcher.mem_gb=2", "hydra.launcher.cpus_per_task=1")
PYTHON = os.environ.get("THINKGAP_CLUSTER") or sys.executable


def launcher(plugin: str) -> None:
    """Skip unless the interpreter has the plugin."""
    if subprocess.run([PYTHON, "-c", f"import hydra_plugins.{plugin}"], capture_output=True).returncode:
        pytest.skip(f"{PYTHON} has no {plugin}: pip install 'thinkgap[slurm,ray,joblib]', or set THINKGAP_CLUSTER")


class Sweep:
    """A sweep of two jobs, started and waited for."""

    def __init__(self, folder: Path, *overrides: str, **environment: str) -> None:
        self.folder = folder / "sweep"
        given = [*JOBS, *overrides, f"hydra.sweep.dir={self.folder}", f"paths.cells_dir={folder / 'cells'}"]
        paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        self._log = (folder / "log").open("w+")
        self.process = subprocess.Popen(
            [PYTHON, "evaluate.py", "-m", *given],
            cwd=ROOT,
            env=user_environment(OMP_NUM_THREADS="1", PYTHONPATH=paths, **environment),
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )

    def wait(self) -> str:
        """Wait for the end, which must be a good one; what was said."""
        status = self.process.wait(timeout=600)
        self._log.seek(0)
        text = self._log.read()
        assert status == 0, text[-4000:]
        return text


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same sweep by Hydra alone."""
    sweep = Sweep(tmp_path_factory.mktemp("plain"), "logger=none")
    sweep.wait()
    return sweep.folder


def assert_same(folder: Path, plain: Path) -> None:
    for name, n in ITEMS.items():
        records = read_records(folder / name)
        assert len({one.item_id for one in records}) == n
        assert records == read_records(plain / name)


@pytest.mark.parametrize(
    ("plugin", "option"),
    [
        ("hydra_submitit_launcher", "slurm_local"),
        ("hydra_joblib_launcher", "joblib"),
        ("hydra_ray_launcher", "ray"),
    ],
)
def test_a_sweep_gives_what_hydra_alone_gives(plugin: str, option: str, plain: Path, tmp_path: Path) -> None:
    launcher(plugin)
    wandb = ("logger.mode=offline", "hydra.launcher.n_jobs=2" if option == "joblib" else "logger.project=sweep")
    sweep = Sweep(tmp_path, f"hydra/launcher={option}", *wandb)
    sweep.wait()
    assert_same(sweep.folder, plain)
    # Each job is a W&B run of its own, all in one group named after the sweep.
    from tests.tracking.wandb_file import read

    told = [read(sweep.folder / name) for name in ITEMS]
    assert {one["group"] for one in told} == {"sweep"}
    assert len({one["id"] for one in told}) == 2
    assert {one["exit_code"] for one in told} == {0}


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A SLURM of one node, this machine with two CPUs; the variable that tells its commands where it is."""
    needed = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "squeue")
    missing = [name for name in needed if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"needs root and Debian's slurmctld, slurmd, slurm-client, munge (not there: {missing or 'root'})")
    folder = tmp_path_factory.mktemp("slurm")
    host = socket.gethostname().partition(".")[0]
    lines = {
        "ClusterName": "one", "SlurmctldHost": host, "SlurmUser": "root", "SlurmdUser": "root",
        "AuthType": "auth/munge", "ProctrackType": "proctrack/linuxproc", "TaskPlugin": "task/none",
        "JobAcctGatherType": "jobacct_gather/none", "SelectType": "select/cons_tres", "SelectTypeParameters": "CR_CPU",
        "StateSaveLocation": folder / "state", "SlurmdSpoolDir": folder / "spool", "MpiDefault": "none",
        "SlurmctldPidFile": folder / "ctld.pid", "SlurmdPidFile": folder / "d.pid", "ReturnToService": 2,
        "SlurmctldLogFile": folder / "ctld.log", "SlurmdLogFile": folder / "d.log", "KillWait": 5,
    }  # fmt: skip
    for name in ("state", "spool"):
        (folder / name).mkdir()
    text = "".join(f"{name}={value}\n" for name, value in lines.items())
    text += f"NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=8000 State=UNKNOWN\n"
    text += f"PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP\n"
    (folder / "slurm.conf").write_text(text)
    environment = {"SLURM_CONF": str(folder / "slurm.conf")}
    own_munge = subprocess.run(["pgrep", "munged"], capture_output=True).returncode != 0
    if own_munge:
        run = Path("/run/munge")
        run.mkdir(exist_ok=True)
        shutil.chown(run, "munge")
        subprocess.run(["runuser", "-u", "munge", "--", "munged", "--force"], check=True)
    daemons = [subprocess.Popen([name, "-D"], env=os.environ | environment) for name in ("slurmctld", "slurmd")]
    try:
        until = time.monotonic() + 60
        while "idle" not in told(environment, "sinfo", "-h", "-o", "%T"):
            assert time.monotonic() < until, (folder / "ctld.log").read_text()[-2000:]
            time.sleep(0.5)
        yield environment
    finally:
        for one in daemons:
            one.terminate()
        for one in daemons:
            with contextlib.suppress(subprocess.TimeoutExpired):
                one.wait(timeout=20)
            one.kill()
        if own_munge:
            subprocess.run(["pkill", "munged"], check=False)


def told(environment: dict[str, str], *command: str) -> str:
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True).stdout


def test_a_job_that_slurm_kills_and_puts_back_ends_the_same(slurm: dict[str, str], plain: Path, tmp_path: Path) -> None:
    launcher("hydra_submitit_launcher")
    sweep = Sweep(tmp_path, "hydra/launcher=slurm", *SMALL, "logger=none", **slurm)
    first = sweep.folder / "0_demo_vlm_digit_scenes"
    until = time.monotonic() + 120
    while not (first / "fingerprint.json").exists():
        assert time.monotonic() < until, "the first job did not begin"
        time.sleep(0.1)
    (job,) = [one for one in told(slurm, "squeue", "-h", "-o", "%i").split() if one.endswith("_0")]
    assert not (first / "records.parquet").exists()
    subprocess.run(["scontrol", "requeue", job], env=os.environ | slurm, check=True)
    sweep.wait()
    assert_same(sweep.folder, plain)
    restarts = told(slurm, "scontrol", "show", "job", job)
    assert "Restarts=1" in restarts
