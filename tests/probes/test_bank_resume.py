"""A killed fit of a block goes on to the same bytes; fits under torchrun; what a logger and a caller are told."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from pytorch_lightning.loggers import Logger
from pytorch_lightning.utilities import rank_zero_only
from torch import Tensor

from probes import bank_trainer
from probes.bank_fit import fit_block_adamw
from tests.probes.test_bank_fit import CPU, FIT, PLACES, SELECT, fitted, same, settings
from thinkgap.errors import StoreError


class Killed(Exception):
    """Stands for a kill."""


def epochs_of(folder: Path | None, stop: int | None = None, **changed: Any) -> tuple[list[int], Any]:
    """Fit, and die while epoch `stop` ends, before its checkpoint is written: the epochs begun, and the result."""
    told: list[int] = []

    def curve(epoch: int, *_: Tensor) -> None:
        told.append(epoch)
        if epoch == stop:
            raise Killed

    seed = changed.pop("seed", 0)
    try:
        return told, fit_block_adamw(PLACES, FIT, SELECT, settings(**changed), CPU, seed, folder, curve=curve)
    except Killed:
        return told, None


def test_a_killed_fit_with_falling_rates_ends_with_the_same_bytes(tmp_path: Path) -> None:
    assert epochs_of(tmp_path, stop=3, decay=True) == ([1, 2, 3], None)
    told, result = epochs_of(tmp_path, decay=True)
    assert told == [3, 4, 5]
    assert same(result, fitted(decay=True))
    assert not same(result, fitted()), "or rates did not fall"


def test_a_killed_fit_ends_with_the_same_bytes(tmp_path: Path) -> None:
    whole = fitted()
    # The best epoch of some head must lie before the kill, and of some after it, or this would show little.
    assert {setting.epoch for result in whole for setting in result.settings} >= {1, 5}
    assert epochs_of(tmp_path, stop=1) == ([1], None)
    assert not list(tmp_path.iterdir()), "nothing to go on from yet"
    assert epochs_of(tmp_path, stop=4) == ([1, 2, 3, 4], None)
    assert [file.name for file in tmp_path.iterdir()] == ["last.ckpt"]
    told, result = epochs_of(tmp_path)
    assert told == [4, 5]
    assert same(result, whole)
    again, result = epochs_of(tmp_path)
    assert again == [], "the last epoch is done"
    assert same(result, whole)


def test_a_kill_amid_an_epoch_repeats_that_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(self: Any, trainer: pl.Trainer, module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if trainer.current_epoch == 2 and batch_idx == 1:
            raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(bank_trainer._Bar, "on_train_batch_end", die)
        assert epochs_of(tmp_path) == ([1, 2], None)
    told, result = epochs_of(tmp_path)
    assert told == [3, 4, 5]
    assert same(result, fitted())


def test_a_checkpoint_holds_no_objects_and_no_second_copy(tmp_path: Path) -> None:
    epochs_of(tmp_path, stop=3)
    content = torch.load(tmp_path / "last.ckpt", weights_only=True)
    assert content["best"]["epoch"].shape == (6, 4)
    assert content["key"]["places"][0] == ["direct", "layer_0"]
    assert content["key"]["settings"][1] == [0.05, 1.0]


def test_a_write_that_was_cut_off_is_not_taken_and_removed(tmp_path: Path) -> None:
    epochs_of(tmp_path, stop=3)
    (tmp_path / ".last.ckpt.0123.tmp").write_bytes(b"half of it")
    told, _ = epochs_of(tmp_path)
    assert told == [3, 4, 5]
    assert [file.name for file in tmp_path.iterdir()] == ["last.ckpt"]


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"seed": 1}, "seed"),
        ({"learning_rates": [0.05, 0.004]}, "settings"),
        ({"batch_size": 8, "epochs": 6}, "epochs, batch_size"),
        ({"bias": False}, "bias"),
    ],
)
def test_a_checkpoint_of_another_fit_is_refused(tmp_path: Path, changed: dict[str, Any], named: str) -> None:
    epochs_of(tmp_path, stop=2)
    with pytest.raises(StoreError, match=f"last.ckpt is of a fit with other {named}: delete it"):
        epochs_of(tmp_path, **changed)


def test_a_checkpoint_of_other_rows_is_refused(tmp_path: Path) -> None:
    epochs_of(tmp_path, stop=2)
    other = replace(FIT, gold=(FIT.gold + 1) % FIT.k)
    with pytest.raises(StoreError, match="with other data: delete it"):
        fit_block_adamw(PLACES, other, SELECT, settings(), CPU, 0, tmp_path)


def test_a_checkpoint_of_other_selection_rows_is_refused(tmp_path: Path) -> None:
    """Its best epochs are the best on rows that no longer count."""
    epochs_of(tmp_path, stop=2)
    labels = replace(SELECT, gold=(SELECT.gold + 1) % SELECT.k)
    fewer = SELECT.chosen(range(len(SELECT) - 1))
    states = replace(SELECT, source=np.zeros_like(SELECT.source))
    for other in (labels, fewer, states):
        with pytest.raises(StoreError, match="with other data: delete it"):
            fit_block_adamw(PLACES, FIT, other, settings(), CPU, 0, tmp_path)


@pytest.mark.parametrize("content", [b"", b"no checkpoint", b"PK\x03\x04 cut"])
def test_a_damaged_checkpoint_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "last.ckpt").write_bytes(content)
    with pytest.raises(StoreError, match=r"last.ckpt is damaged .*: delete it"):
        epochs_of(tmp_path)


def test_under_torchrun_each_process_fits_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second of two processes in a process group: no collective is called, and the result is the usual one."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    whole = fitted()
    variables = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "GROUP_RANK": "0"}
    variables |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1", "TORCHELASTIC_RUN_ID": "none"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(rank_zero_only, "rank", 1)

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a collective was called")

    torch.distributed.init_process_group("fake", store=FakeStore(), rank=1, world_size=2)
    try:
        for name in ("barrier", "broadcast", "all_reduce", "all_gather", "broadcast_object_list"):
            monkeypatch.setattr(torch.distributed, name, refuse)
        assert epochs_of(tmp_path, stop=3) == ([1, 2, 3], None)
        told, result = epochs_of(tmp_path)
    finally:
        torch.distributed.destroy_process_group()
    assert told == [3, 4, 5]
    assert same(result, whole)
    assert {name: os.environ.get(name) for name in variables} == variables
    assert vars(rank_zero_only)["rank"] == 1


def test_slurms_signals_are_left_to_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lightning would answer SIGUSR1 with a checkpoint in the working folder and a requeued job."""
    for name, value in {"SLURM_NTASKS": "2", "SLURM_JOB_NAME": "probes", "SLURM_PROCID": "1"}.items():
        monkeypatch.setenv(name, value)
    before, found = signal.getsignal(signal.SIGUSR1), []
    curve = lambda *_: found.append(signal.getsignal(signal.SIGUSR1))  # noqa: E731
    fit_block_adamw(PLACES[:1], FIT, SELECT, settings(epochs=1), CPU, 0, curve=curve)
    assert found == [before]


class _Notes(Logger):
    """Keeps what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[int | None, dict[str, float]]] = []

    @property
    def name(self) -> str:
        return "notes"

    @property
    def version(self) -> int:
        return 0

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        self.told.append((step, metrics))

    def log_hyperparams(self, params: Any, *_: Any, **__: Any) -> None:
        assert not params


def test_a_logger_is_told_a_few_figures_by_epoch(tmp_path: Path) -> None:
    notes, losses, done = _Notes(), [], []

    def curve(epoch: int, fit_loss: Tensor, accuracy: Tensor, loss: Tensor) -> None:
        losses.append(float(fit_loss.mean()))

    result = fit_block_adamw(PLACES, FIT, SELECT, settings(), CPU, 0, tmp_path, done.append, curve, notes)
    assert done == [6]
    assert [step for step, _ in notes.told] == [1, 2, 3, 4, 5]
    assert [metrics["fit_loss"] for _, metrics in notes.told] == losses
    last = dict(notes.told[-1][1])
    del last["fit_loss"]
    assert last == {
        f"{one.place.condition}/{one.place.state}/select_accuracy": one.setting.select_accuracy for one in result
    }


class _Steps:
    """A bar that can be looked at."""

    def __init__(self, made: dict[str, Any]) -> None:
        self.made, self.done, self.closed = made, 0, False

    def update(self, n: int) -> None:
        self.done += n

    def close(self) -> None:
        self.closed = True


def test_the_bar_counts_steps_and_is_closed_after_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six batches of 16 of 90 rows, five epochs: 30 steps; killed while the third ends, resumed after the second."""
    bars: list[_Steps] = []
    monkeypatch.setattr(bank_trainer, "progress", lambda **made: bars.append(_Steps(made)) or bars[-1])
    epochs_of(tmp_path, stop=3)
    epochs_of(tmp_path)
    assert [bar.closed for bar in bars] == [True, True]
    assert [(bar.made["total"], bar.made["initial"], bar.done) for bar in bars] == [(30, 0, 18), (30, 12, 18)]
    assert bars[0].made["description"] == "direct layer_0 and 5 more"


def test_torchs_own_switch_is_left_as_it_was() -> None:
    assert not torch.are_deterministic_algorithms_enabled()
    fitted(PLACES[:1], epochs=1)
    assert not torch.are_deterministic_algorithms_enabled()
