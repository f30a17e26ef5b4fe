"""A trainer of one process alone, also where a launcher has told Lightning of others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import pytorch_lightning as pl
import torch
from pytorch_lightning.strategies import SingleDeviceStrategy
from torch.utils.data import DataLoader, TensorDataset

from thinkgap.errors import ConfigError
from thinkgap.evaluation.predict import device_of, fit_trainer
from thinkgap.parallel import World
from thinkgap.schema import TrainerConfig


class Slope(pl.LightningModule):
    """Fits y = w x by plain gradient descent at rate 0.1 from w = 0, and keeps what it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(()))
        self.seen: list[float] = []

    def training_step(self, batch: list[torch.Tensor], _index: int) -> torch.Tensor:
        x, y = batch
        self.seen += x.tolist()
        return ((self.w * x - y) ** 2).mean()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD([self.w], lr=0.1)


@pytest.fixture
def second_of_two(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[World]:
    """What process 1 of two sees under torchrun, with a process group (of its own) already there."""
    variables = {"RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "GROUP_RANK": "0"}
    variables |= {"TORCHELASTIC_RUN_ID": "none", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path / 'group'}", rank=0, world_size=1)
    yield World(1, 2, torch.device("cpu"))
    torch.distributed.destroy_process_group()


def test_a_fit_in_one_of_two_processes_sees_all_rows_and_syncs_nothing(second_of_two: World) -> None:
    cfg = TrainerConfig(accelerator="cpu", devices=2, strategy="ddp")
    trainer = fit_trainer(cfg, second_of_two, max_epochs=1)
    assert isinstance(trainer.strategy, SingleDeviceStrategy)
    assert (trainer.world_size, trainer.global_rank, trainer.num_devices) == (1, 0, 1)
    module = Slope()
    x, y = torch.tensor([1.0, 1.0, 2.0]), torch.tensor([2.0, 2.0, 4.0])
    trainer.fit(module, DataLoader(TensorDataset(x, y), batch_size=1))
    assert module.seen == [1.0, 1.0, 2.0]
    # d/dw (w x - y)^2 = 2 x (w x - y):
    # w1 = 0 - 0.1 * 2 * 1 * (0 - 2) = 0.4;  w2 = 0.4 - 0.1 * 2 * 1 * (0.4 - 2) = 0.72
    # w3 = 0.72 - 0.1 * 2 * 2 * (1.44 - 4) = 1.744
    assert float(module.w) == pytest.approx(1.744)


def test_the_device_is_that_of_the_process() -> None:
    cfg = TrainerConfig(accelerator="cpu")
    assert device_of(cfg) == torch.device("cpu")
    assert device_of(TrainerConfig(accelerator="tpu_of_tomorrow"), World(1, 2, torch.device("meta"))).type == "meta"
    assert fit_trainer(cfg, World(1, 2, torch.device("cpu"))).strategy.root_device == torch.device("cpu")
    assert fit_trainer(cfg).strategy.root_device == torch.device("cpu")
    with pytest.raises(ConfigError, match="trainer.accelerator=tpu_of_tomorrow"):
        fit_trainer(TrainerConfig(accelerator="tpu_of_tomorrow"))


def test_further_arguments_go_to_lightning() -> None:
    trainer = fit_trainer(TrainerConfig(accelerator="cpu"), max_epochs=7, gradient_clip_val=0.5)
    assert (trainer.max_epochs, trainer.gradient_clip_val) == (7, 0.5)
