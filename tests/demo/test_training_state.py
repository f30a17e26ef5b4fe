"""Saved states: a killed training ends exactly as one that was not, and files that do not fit are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from by_hand import new_training
from safetensors import safe_open

from thinkgap.demo.batches import Pass, School, Writer
from thinkgap.demo.lessons import LESSONS
from thinkgap.demo.session import train
from thinkgap.demo.state import (
    CURVES,
    STATE,
    claim_folder,
    load_state,
    read_curves,
    save_state,
    write_curves,
)
from thinkgap.demo.training import Lessons, Progress
from thinkgap.errors import StoreError
from thinkgap.schema import DemoConfig, DemoPhase, DemoSizes, DemoTrainConfig, LoggerConfig, TrainerConfig

Settings = Callable[..., DemoConfig]
NewPupil = Callable[..., Writer]


class KilledError(Exception):
    """Stands for a kill: nothing is written after it."""


def whole(demo: DemoConfig) -> DemoTrainConfig:
    return DemoTrainConfig(demo, TrainerConfig(accelerator="cpu", progress=False), LoggerConfig(enabled=False))


def state_of(folder: Path) -> tuple[dict[str, torch.Tensor], Any]:
    with safe_open(str(folder / STATE), "pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
        return tensors, json.loads((file.metadata() or {})["progress"])


def points_of(folder: Path) -> list[dict[str, Any]]:
    points = [json.loads(line) for line in (folder / CURVES).read_text(encoding="utf-8").splitlines()]
    return [{name: value for name, value in point.items() if name != "seconds"} for point in points]


@pytest.fixture(scope="module")
def demo(settings: Settings) -> DemoConfig:
    """More options after each of the first steps: a resumed training that forgot them would ask other questions.

    Layers join before and after the state that a killed training goes on from.
    """
    every = dict.fromkeys(LESSONS, 2)
    phases = [DemoPhase(0.0, every), DemoPhase(0.25, every, new_layers=1), DemoPhase(0.5, every, new_layers=2)]
    return settings(steps=12, save_every=5, validate_every=4, more_options=-1.0, phases=phases)


@pytest.fixture(scope="module")
def through(demo: DemoConfig, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a training without a break."""
    folder = tmp_path_factory.mktemp("through")
    train(whole(demo), folder)
    return folder


def test_a_killed_training_ends_as_one_run_through(
    demo: DemoConfig, through: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = Lessons.at
    stood: list[tuple[int, int]] = []

    def at(self: Lessons, step: int) -> list[Pass]:
        stood.append((step, self.progress.step))
        if step == 7:
            raise KilledError
        return usual(self, step)

    monkeypatch.setattr(Lessons, "at", at)
    with pytest.raises(KilledError):
        train(whole(demo), tmp_path)
    assert stood == [(step, step) for step in range(8)], "examples made before their step do not know its options"
    assert state_of(tmp_path)[1]["step"] == 5
    assert not (tmp_path / "model").exists()
    monkeypatch.setattr(Lessons, "at", usual)
    train(whole(demo), tmp_path)

    (tensors, progress), (resumed, resumed_progress) = state_of(through), state_of(tmp_path)
    assert progress == resumed_progress
    assert (progress["step"], progress["options"]) == (12, {"letter_of": 5, "direct": 5})
    assert tensors.keys() == resumed.keys()
    assert all(torch.equal(tensors[name], resumed[name]) for name in tensors)
    assert "model.model.language_model.layers.4.mlp.up_proj.weight" in tensors
    points = points_of(through)
    assert points == points_of(tmp_path)
    assert [point["step"] for point in points] == [4, 5, 8, 10, 12]
    assert [point["step"] for point in points if "validation/direct" in point] == [4, 8, 12]
    weights = [(folder / "model" / "model.safetensors").read_bytes() for folder in (through, tmp_path)]
    assert weights[0] == weights[1]


def test_a_finished_training_is_not_trained_again(
    demo: DemoConfig, through: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (through / "model" / "model.safetensors").read_bytes(), points_of(through)

    def at(self: Lessons, step: int) -> list[Pass]:
        raise AssertionError(step)

    monkeypatch.setattr(Lessons, "at", at)
    train(whole(demo), through)
    assert ((through / "model" / "model.safetensors").read_bytes(), points_of(through)) == before


def test_a_folder_with_other_settings_is_refused_and_left_alone(demo: DemoConfig, through: Path) -> None:
    before = (through / STATE).read_bytes()
    with pytest.raises(StoreError) as caught:
        train(whole(replace(demo, seed=1)), through)
    assert str(through) in str(caught.value)
    assert "give another hydra.run.dir, or delete it" in str(caught.value)
    assert (through / STATE).read_bytes() == before
    assert state_of(through)[1]["step"] == 12


def test_no_file_is_a_pickle(through: Path) -> None:
    files = [file for file in through.rglob("*") if file.is_file()]
    assert {STATE, CURVES, "settings.json", "training.json", "model.safetensors"} <= {file.name for file in files}
    for file in files:
        assert file.suffix in (".safetensors", ".json", ".jsonl", ".jinja", ".lock"), file
        assert file.read_bytes()[:2] not in (b"PK", b"\x80\x02", b"\x80\x04", b"\x80\x05"), file


def test_the_finished_folder_says_how_it_was_trained(through: Path) -> None:
    about = json.loads((through / "model" / "training.json").read_text(encoding="utf-8"))
    assert (about["settings"]["steps"], about["settings"]["sizes"]["hidden"]) == (12, 32)
    assert about["threads"] == torch.get_num_threads()
    assert about["versions"]["torch"]
    assert about["seconds"] > 0
    tensors, _ = state_of(through)
    assert about["parameters"] == sum(value.numel() for name, value in tensors.items() if name.startswith("model."))


def stepped(school: School, writer: Writer, demo: DemoConfig, n: int = 2) -> Any:
    module = new_training(demo, writer)
    lessons = Lessons(demo, school, writer, module.progress)
    for step in range(n):
        module.training_step(lessons.at(step), step)
    return module


def test_a_state_goes_into_a_new_training_bit_by_bit(
    school: School, pupil: NewPupil, settings: Settings, tmp_path: Path
) -> None:
    demo = settings()
    first = stepped(school, pupil(), demo)
    stood = Progress(2, {"letter_of": 3, "direct": 4}, {"letter_of": 0.25, "direct": 0.625})
    vars(first.progress).update(vars(stood))
    save_state(tmp_path, first)
    second = new_training(demo, pupil(seed=1))
    assert load_state(tmp_path, second)
    assert second.progress == stood
    for (name, old), new in zip(first.model.named_parameters(), second.model.parameters(), strict=True):
        assert torch.equal(old, new), name
    for name, optimizer in first.optimizers_by_name.items():
        old, new = optimizer.state_dict()["state"], second.optimizers_by_name[name].state_dict()["state"]
        assert old.keys() == new.keys()
        assert len(old) == len(optimizer.param_groups[0]["params"])
        for number, state in old.items():
            assert state.keys() == new[number].keys()
            assert all(torch.equal(torch.as_tensor(state[key]), torch.as_tensor(new[number][key])) for key in state)


def test_without_a_state_nothing_is_loaded(pupil: NewPupil, settings: Settings, tmp_path: Path) -> None:
    module = new_training(settings(), pupil())
    assert not load_state(tmp_path, module)
    assert module.progress == Progress()


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def _emptied(file: Path) -> None:
    file.write_bytes(b"")


def _without_progress(file: Path) -> None:
    from safetensors.torch import load_file, save_file

    save_file(load_file(str(file)), str(file))


@pytest.mark.parametrize(
    "damage", [_cut, _emptied, _without_progress, None], ids=lambda one: getattr(one, "__name__", "")
)
def test_a_state_that_does_not_fit_names_itself_and_the_way_out(
    school: School, pupil: NewPupil, settings: Settings, tmp_path: Path, damage: Callable[[Path], None] | None
) -> None:
    module = stepped(school, pupil(), settings({"matching": 1}), 1)
    save_state(tmp_path, module)
    sizes = {}
    if damage is None:
        sizes = {"hidden": 48}
    else:
        damage(tmp_path / STATE)
    other = new_training(settings(sizes=DemoSizes(**sizes)), pupil(**sizes))
    with pytest.raises(StoreError) as caught:
        load_state(tmp_path, other)
    assert str(tmp_path / STATE) in str(caught.value)
    assert "delete it to begin anew" in str(caught.value)


def test_curves_beyond_the_state_are_taken_again(tmp_path: Path) -> None:
    assert read_curves(tmp_path, 10) == []
    points = [{"step": step, "loss": step / 2} for step in (5, 10, 15)]
    write_curves(tmp_path, points)
    assert read_curves(tmp_path, 10) == points[:2]
    assert read_curves(tmp_path, 4) == []


def test_a_folder_is_claimed_once(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "one"
    claim_folder(folder, {"seed": 1, "steps": 2})
    claim_folder(folder, {"steps": 2, "seed": 1})
    with pytest.raises(StoreError, match="another hydra.run.dir"):
        claim_folder(folder, {"seed": 1, "steps": 3})
