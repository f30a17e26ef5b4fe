"""Several processes of one job: how many there are, which one this is, and what they tell each other.

Each process holds the whole model and scores its share of the items. Only small values pass between them, over gloo and
between CPUs, wherever the models are. torchrun has launched them, or Lightning does. Knows no item and no model.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from thinkgap.errors import ConfigError, ProcessError
from thinkgap.schema import TrainerConfig

if TYPE_CHECKING:
    import torch

T = TypeVar("T")
_LAUNCHER = "THINKGAP_LAUNCHER"
"""Variable with the process id of the one that Lightning launched this one from."""
_TIMEOUT = timedelta(days=7)
"""How long a process waits for others that work; one that has ended is noticed at once."""
_GRACE = 2.0
_PATIENCE = 30.0
"""Seconds that processes of a failed job have to end by themselves, and then to keep what they finished."""


@dataclass(frozen=True)
class World:
    """The processes of this job; one, unless `start_world` made more."""

    rank: int = 0
    """Which one this is, from 0."""
    size: int = 1
    device: torch.device | None = None
    """Where this one computes; None leaves it to the trainer's settings."""
    _children: list[subprocess.Popen[Any]] = field(default_factory=list, repr=False, compare=False)

    @property
    def is_first(self) -> bool:
        """Whether this process writes what there is one of, and talks."""
        return self.rank == 0

    def share(self, things: Sequence[T]) -> list[T]:
        """What of `things` is this process's: every `size`-th; disjoint from the others' shares, maybe empty."""
        return list(things[self.rank :: self.size])

    def barrier(self) -> None:
        """Wait until every process is here; raises as `gathered`."""
        self.gathered(None)

    def from_first(self, value: T) -> T:
        """The first process's `value`; raises as `gathered`.

        Args:
            value: JSON data; lists come back for tuples. That of other processes is not looked at.
        """
        return self.gathered(value if self.is_first else None)[0]

    def gathered(self, value: Any) -> list[Any]:
        """The `value` of every process, by rank; each gets all of them.

        Args:
            value: small JSON data; lists come back for tuples.

        Raises:
            ProcessError: another process has ended.
        """
        text = json.dumps(value)
        texts: list[Any] = [text] * self.size
        if self.size > 1:
            import torch.distributed

            try:
                torch.distributed.all_gather_object(texts, text)
            except RuntimeError as error:
                raise ProcessError(
                    "another process of this job ended before it was done (its message is above or in its log); the "
                    "same command goes on from what is finished, if its folder is given with RUN_ID or hydra.run.dir"
                ) from error
        return [json.loads(one) for one in texts]

    @contextlib.contextmanager
    def ended_together(self) -> Iterator[None]:
        """Let no process go on alone when the block fails here, and leave none behind when it ends."""
        try:
            yield
            self.barrier()
        except BaseException:
            self._disconnect()  # the others wait for this one no more
            self._end_children()
            raise
        self._disconnect()
        for child in self._children:
            child.wait()

    def _disconnect(self) -> None:
        if self.size > 1:
            import torch.distributed

            torch.distributed.destroy_process_group()

    def _end_children(self) -> None:
        children = list(self._children)
        # Lightning looks at this very list, and kills this process too when one of them has failed.
        self._children.clear()
        for patience, ended in ((_GRACE, subprocess.Popen.terminate), (_PATIENCE, subprocess.Popen.kill)):
            until = time.monotonic() + patience
            while any(child.poll() is None for child in children) and time.monotonic() < until:
                time.sleep(0.05)
            for child in children:
                if child.poll() is None:
                    ended(child)


ALONE = World()
"""The world of a job in one process."""


class Job(Protocol):
    """Settings of a job."""

    trainer: TrainerConfig


AnyJob = TypeVar("AnyJob", bound=Job)


def in_world(work: Callable[[AnyJob, Path, str | None, World], object]) -> Callable[[AnyJob, Path, str | None], None]:
    """`work` in the processes that its settings or torchrun ask for, as a function for `cli.run_job`.

    Args:
        work: of the config, the job's folder, the name of its sweep, and the processes.
    """

    def job(cfg: AnyJob, folder: Path, sweep: str | None) -> None:
        size, _ = _counted(cfg.trainer, os.environ)
        if sweep is not None and size > 1:
            raise ConfigError(
                f"-m runs each of its jobs in one process, and {size} are asked for: start one command for each job, "
                "or set trainer.devices=1"
            )
        world = start_world(cfg.trainer)
        with world.ended_together():
            first = world.from_first(str(folder))
            if str(folder) != first:
                raise ConfigError(
                    f"the processes of this job have different folders, {first} and {folder}: set RUN_ID=NAME, the "
                    "same for all, or give hydra.run.dir=FOLDER"
                )
            work(cfg, folder, sweep, world)

    return job


def start_world(cfg: TrainerConfig) -> World:
    """The processes that the settings or torchrun ask for; one process needs no torch.distributed and starts nothing.

    Unless torchrun has launched this process, Lightning launches the others: they run this command again, in the same
    folder. Call it once, at the start of a job, and work inside `World.ended_together`.

    Raises:
        ConfigError: settings that are not torchrun's, or devices that are not there.
    """
    size, nodes = _counted(cfg, os.environ)
    if size == 1:
        return ALONE
    if cfg.strategy not in ("auto", "ddp"):
        raise ConfigError(
            f"trainer.strategy={cfg.strategy}: several processes share out items, and each holds the whole model; set "
            "trainer.strategy=ddp, or spread one model with trainer.devices=1 model.device_map=auto"
        )
    from lightning_fabric import Fabric
    from lightning_fabric.strategies.ddp import DDPStrategy
    from lightning_fabric.utilities.exceptions import MisconfigurationException

    devices = size // nodes
    try:
        computing = Fabric(accelerator=cfg.accelerator, devices=devices, num_nodes=nodes, strategy="ddp")
        meeting = DDPStrategy(process_group_backend="gloo", timeout=_TIMEOUT)
        fabric = Fabric(accelerator="cpu", devices=devices, num_nodes=nodes, strategy=meeting)
    except (MisconfigurationException, ValueError, RuntimeError) as error:
        raise ConfigError(
            f"trainer.accelerator={cfg.accelerator}, trainer.devices={devices}: {str(error).splitlines()[0]}"
        ) from error
    logging.getLogger("lightning_fabric").setLevel(logging.WARNING)
    _end_with_launcher()
    os.environ[_LAUNCHER] = str(os.getpid())
    fabric.launch()
    computing.accelerator.setup_device(computing.device)
    children: Any = getattr(meeting.launcher, "procs", [])
    return World(fabric.global_rank, fabric.world_size, computing.device, children)


def _counted(cfg: TrainerConfig, environment: Mapping[str, str]) -> tuple[int, int]:
    """How many processes there are to be, on how many machines.

    Raises:
        ConfigError: no process at all, or torchrun launched other than the settings ask for.
    """
    for name, value in (("devices", cfg.devices), ("num_nodes", cfg.num_nodes)):
        if value < 1:
            raise ConfigError(f"trainer.{name}={value}: must be at least 1")
    asked = cfg.devices * cfg.num_nodes
    if "TORCHELASTIC_RUN_ID" not in environment:
        return asked, cfg.num_nodes
    launched = int(environment["WORLD_SIZE"])
    if asked not in (1, launched):
        raise ConfigError(
            f"torchrun launched {launched} processes, and trainer.devices={cfg.devices} times "
            f"trainer.num_nodes={cfg.num_nodes} asks for {asked}: leave both out, or set torchrun --nproc-per-node"
        )
    return launched, launched // int(environment["LOCAL_WORLD_SIZE"])


def _end_with_launcher() -> None:
    """Let SIGTERM end this process when the one that Lightning launched it from is gone."""
    launcher = os.getppid()
    if os.environ.get(_LAUNCHER) != str(launcher):
        return

    def watch() -> None:
        while os.getppid() == launcher:
            time.sleep(1.0)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="launcher-watch", daemon=True).start()
