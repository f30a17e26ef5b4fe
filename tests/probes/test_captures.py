"""Captures are made once, found again without the language model, and computed again where they are damaged."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import torch

import probes.capture_key
import probes.capture_run
import probes.captures
from probes.capture_key import capture_facts, checkpoint_facts, facts_digest
from probes.capture_run import capture_of, wanted_states
from probes.captures import Captures
from probes.runs import Run, open_run
from tests.test_config import composed
from thinkgap.backends.locate import Checkpoint
from thinkgap.data import load_dataset_items
from thinkgap.errors import ConfigError, StoreError
from thinkgap.evaluation.native import run_native
from thinkgap.parallel import World
from thinkgap.schema import EvaluateConfig, ModelConfig, TrainConfig
from thinkgap.types import Item

Linear = Callable[..., TrainConfig]


@pytest.fixture(autouse=True)
def told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


def asked(cfg: TrainConfig) -> tuple[EvaluateConfig, list[Item]]:
    """The capture of the test split, and its items."""
    evaluation = capture_of(cfg, cfg.dataset)
    return evaluation, list(load_dataset_items(cfg.dataset).items)


def states(run: Run) -> torch.Tensor:
    return torch.cat([run.features.states(one.astype(str).tolist(), run.states) for one in run.prompts.values()])


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Call it, and no model can be loaded from there on."""

    def refuse(*_arguments: Any, **_named: Any) -> Any:
        raise AssertionError("a model was loaded")

    def forbid() -> None:
        monkeypatch.setattr("probes.captures.load_model", refuse)
        monkeypatch.setattr("thinkgap.evaluation.prepare.load_backend", refuse)
        monkeypatch.setattr("thinkgap.backends.load.load_backend", refuse)
        monkeypatch.setattr("probes.capture_run.run_native", refuse)

    return forbid


def test_a_capture_is_found_again_without_the_model(
    linear: Linear, no_model: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    cfg = linear("probe.permutations=2")
    made = Captures().get(*asked(cfg))
    assert made.states == ("embeddings", "layer_0", "layer_1", "layer_2", "final_norm")
    assert list(made.prompts) == ["direct", "let_me_think"]
    assert len(made.rows) == 12 * 2
    assert "features present" not in caplog.text
    no_model()
    found = Captures().get(*asked(cfg))
    assert f"features present: llama on toy_facts (test), 12 items, in {made.folder}" in caplog.text
    assert found.folder == made.folder
    assert torch.equal(states(found), states(made))
    with pytest.raises(AssertionError, match="a model was loaded"):
        Captures().get(*asked(linear()))


def test_states_are_those_of_an_evaluation(linear: Linear, tmp_path: Path) -> None:
    """The same settings through `evaluate.py`'s own code, with a store of cells of its own."""
    cfg = linear()
    run = Captures().get(*asked(cfg))
    overrides = ["model=local", f"model.path={cfg.model.path}", "dataset=toy_facts", "dataset.limit=12", "logger=none"]
    overrides += ["trigger=let_me_think", "evaluation.capture.enabled=true", "evaluation.capture.embeddings=true"]
    overrides += ["evaluation.capture.final_norm=true", f"paths.cells_dir={tmp_path / 'other'}"]
    run_native(composed(*overrides), tmp_path / "run")
    own = open_run(tmp_path / "run")
    assert own.rows.equals(run.rows)
    assert torch.allclose(states(own), states(run), atol=1e-4)


def test_one_model_for_all_captures_of_a_training(linear: Linear, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[object] = []
    load = probes.captures.load_model

    def counted(cfg: EvaluateConfig) -> Any:
        loaded.append(cfg)
        return load(cfg)

    monkeypatch.setattr(probes.captures, "load_model", counted)
    captures, cfg = Captures(), linear()
    folders = [
        captures.get(*asked(replace(cfg, dataset=replace(cfg.dataset, split=split)))).folder
        for split in ("train", "validation", "test")
    ]
    assert len(set(folders)) == 3
    assert len(loaded) == 1


def damage_nothing(folder: Path, cells: Path) -> None:
    (folder / "capture.json").unlink()  # as a killed training leaves it


def delete_cells(folder: Path, cells: Path) -> None:
    for file in cells.iterdir():
        file.unlink()


def flip_a_byte_of_the_states(folder: Path, cells: Path) -> None:
    (file,) = cells.glob("*.safetensors")
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)


def break_the_manifest(folder: Path, cells: Path) -> None:
    (folder / "manifest.json").write_text("{")


@pytest.mark.parametrize("damage", [damage_nothing, delete_cells, flip_a_byte_of_the_states, break_the_manifest])
def test_what_is_damaged_is_computed_again(
    linear: Linear, damage: Callable[[Path, Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    cfg = linear()
    made = Captures().get(*asked(cfg))
    before = states(made)
    damage(made.folder, Path(made.manifest["cells"]))
    again = Captures().get(*asked(cfg))
    assert "features present" not in caplog.text
    assert ("cannot be used and is computed again" in caplog.text) == (damage is not damage_nothing)
    assert again.folder == made.folder
    assert torch.allclose(states(again), before, atol=1e-5)
    Captures().get(*asked(cfg))
    assert "features present" in caplog.text


def key(cfg: TrainConfig) -> str:
    evaluation, items = asked(cfg)
    checkpoint = checkpoint_facts(cfg.model)
    assert checkpoint is not None
    return facts_digest(capture_facts(evaluation, items, checkpoint))


@pytest.mark.parametrize(
    "override",
    [
        "model.dtype=bfloat16",
        "model.random_weights=0",
        "model.max_length=100",
        "model.attn_implementation=eager",
        "trainer.accelerator=cpu",
        "dataset.limit=11",
        "dataset.split=train",
        "trigger=reasoning",
        "trigger.placement=assistant",
        "prompt.instruction=Answer.",
        "labels=both",
        "label_ids=natural",
        "scoring=plain",
        "seed=1",
        "probe.permutations=2",
        "probe.states=[final_norm]",
        "probe.controls.text_only=true",
    ],
)
def test_what_changes_a_capture_changes_its_key(linear: Linear, override: str) -> None:
    assert key(linear(override)) != key(linear())


@pytest.mark.parametrize(
    "override",
    [
        "model.name=other",
        "probe.solver=exact",
        "probe.epochs=3",
        "paths.output_dir=x",
        "dataset.max_bad=0.5",
        "probe.fit=dev",
    ],
)
def test_what_does_not_change_a_capture_does_not_change_its_key(linear: Linear, override: str) -> None:
    assert key(linear(override)) == key(linear())


def test_items_and_code_are_in_the_key(linear: Linear, monkeypatch: pytest.MonkeyPatch) -> None:
    cfg = linear()
    evaluation, items = asked(cfg)
    digest = facts_digest(capture_facts(evaluation, items, {}))
    assert facts_digest(capture_facts(evaluation, items[::-1], {})) == digest
    for change in ({"gold": 1 - (items[0].gold or 0)}, {"group_id": "x"}, {"context": "x"}, {"question": "x"}):
        changed = [replace(items[0], **change), *items[1:]]
        assert facts_digest(capture_facts(evaluation, changed, {})) != digest, change
    monkeypatch.setattr(probes.capture_key, "code_digest", lambda: "other")
    assert facts_digest(capture_facts(evaluation, items, {})) != digest


def test_a_local_checkpoint_is_known_by_its_files(tmp_path: Path) -> None:
    cfg = ModelConfig(name="m", path=str(tmp_path / "m"))
    assert checkpoint_facts(cfg) is None
    (tmp_path / "m").mkdir()
    weights = tmp_path / "m" / "model.safetensors"
    weights.write_bytes(b"weights")
    os.utime(weights, ns=(5, 7))
    assert checkpoint_facts(cfg) == {"path": str(tmp_path / "m"), "files": [["model.safetensors", 7, 7]]}
    os.utime(weights, ns=(5, 8))
    assert checkpoint_facts(cfg) == {"path": str(tmp_path / "m"), "files": [["model.safetensors", 7, 8]]}
    gguf = tmp_path / "m.gguf"
    gguf.write_bytes(b"GG")
    os.utime(gguf, ns=(1, 2))
    assert checkpoint_facts(ModelConfig(name="m", path=str(gguf))) == {"path": str(gguf), "files": [["m.gguf", 2, 2]]}
    packaged = checkpoint_facts(ModelConfig(name="m", path="package:thinkgap/demo/checkpoints/demo_vlm"))
    assert packaged is not None
    assert {"config.json", "model.safetensors"} <= {name for name, *_ in packaged["files"]}


def test_a_hub_id_is_known_by_the_commit_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    cfg = ModelConfig(name="m", path="owner/name")
    assert checkpoint_facts(cfg) is None
    cached = tmp_path / "models--owner--name"
    commit = "a" * 40
    (cached / "snapshots" / commit).mkdir(parents=True)
    (cached / "snapshots" / commit / "config.json").write_text("{}")
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text(commit)
    assert checkpoint_facts(cfg) == {"hub": "owner/name", "commit": commit}
    assert checkpoint_facts(replace(cfg, revision=commit)) == {"hub": "owner/name", "commit": commit}
    assert checkpoint_facts(replace(cfg, revision="dev")) is None
    assert checkpoint_facts(replace(cfg, path="no such id!")) is None


def test_a_hub_id_that_is_not_in_the_cache_is_loaded_to_know_it(
    linear: Linear, tiny_backend: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = replace(tiny_backend("llama"), checkpoint=Checkpoint("owner/name", False, "owner/name"), revision="c1")
    loads: list[object] = []
    monkeypatch.setattr(probes.captures, "load_model", lambda cfg: loads.append(cfg) or hub)
    cached: list[str] = []

    def in_cache(cfg: ModelConfig) -> Path | None:
        return Path("snapshots") / cached[0] / "config.json" if cached else None

    monkeypatch.setattr(probes.capture_key, "_cached_config", in_cache)
    cfg = linear("model.path=owner/name", "model.name=hub")
    made = Captures().get(*asked(cfg))
    assert Captures().get(*asked(cfg)).folder == made.folder
    assert len(loads) == 2, "the second time only to know which it is"
    cached.append("c1")
    assert Captures().get(*asked(cfg)).folder == made.folder
    assert len(loads) == 2
    cached[0] = "c0"  # an older commit, while loading brings the newest
    assert Captures().get(*asked(cfg)).folder == made.folder
    assert len(loads) == 3
    folders = [one.name for one in made.folder.parent.iterdir() if one.is_dir()]
    assert folders == [made.folder.name]


def test_a_dated_template_is_captured_once_a_day(linear: Linear, tmp_path: Path) -> None:
    plain_cfg = linear()
    assert capture_facts(*asked(plain_cfg), {})["date"] is None
    folder = tmp_path / "dated"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "chat_template.jinja").write_text("{{ strftime_now('%d %b %Y') }}")
    dated = linear(f"model.path={folder}")
    assert capture_facts(*asked(dated), {})["date"] is not None
    assert capture_facts(*asked(linear(f"model.path={folder}", "prompt.date='2026-01-02'")), {})["date"] is None
    assert capture_facts(*asked(linear(f"model.path={folder}", "prompt.chat_template=false")), {})["date"] is None


def test_states_that_are_kept() -> None:
    every = wanted_states(None, "final_norm")
    assert (every.layers, every.embeddings, every.final_norm) == (None, True, True)
    some = wanted_states(["layer_2", "layer_0"], "final_norm")
    assert (some.layers, some.embeddings, some.final_norm) == ([0, 2], False, True)
    one = wanted_states(["embeddings"], "layer_1")
    assert (one.layers, one.embeddings, one.final_norm) == ([1], True, False)
    for names, state in ((["layer_x"], "final_norm"), (["layer_-1"], "final_norm"), (None, "norm"), ([], "final_norm")):
        with pytest.raises(ConfigError, match="probe.state"):
            wanted_states(names, state)


def test_what_cannot_be_captured(linear: Linear) -> None:
    with pytest.raises(ConfigError, match="has no layer_7; it has layer_0 to layer_2, embeddings and final_norm"):
        Captures().get(*asked(linear("probe.states=[layer_7]")))
    with pytest.raises(ConfigError, match="is served and gives no hidden states"):
        Captures().get(*asked(linear("model=gpt_5_4", "dataset=toy_facts")))


@dataclass(frozen=True)
class ThreadOfTwo(World):
    """One of two processes, as a thread."""

    meeting: threading.Barrier = field(default_factory=lambda: threading.Barrier(2))

    def barrier(self) -> None:
        self.meeting.wait(60)


def test_several_processes_make_a_capture_once(
    linear: Linear, tiny_backend: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    worlds: list[World] = []

    def shared(cfg: EvaluateConfig, folder: Path, *, backend: Any, world: World) -> None:
        worlds.append(world)
        world.barrier()
        if world.is_first:
            run_native(cfg, folder, backend=backend)
        world.barrier()

    monkeypatch.setattr(probes.capture_run, "run_native", shared)
    monkeypatch.setattr(probes.captures, "load_model", lambda _cfg: tiny_backend("llama"))
    cfg = linear()

    def together() -> Iterator[Run]:
        found: dict[int, Run] = {}
        meeting = threading.Barrier(2)

        def work(rank: int) -> None:
            found[rank] = Captures(world=ThreadOfTwo(rank, 2, meeting=meeting)).get(*asked(cfg))

        threads = [threading.Thread(target=work, args=(rank,)) for rank in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        return iter([found[0], found[1]])

    first, second = together()
    assert first.folder == second.folder
    assert torch.equal(states(first), states(second))
    assert sorted(one.rank for one in worlds) == [0, 1]
    again = [*together()]
    assert [one.folder for one in again] == [first.folder] * 2
    assert len(worlds) == 2, "found, not run"


def test_a_given_model_is_refused_before_it_reads_anything(
    linear: Linear, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = Captures().get(*asked(linear()))
    monkeypatch.setattr("probes.capture_run.run_native", lambda *_a, **_n: pytest.fail("it read something"))
    other = Captures({made.folder: made.manifest["model"]})
    with pytest.raises(StoreError, match=r"another model than model=qwen3 \(class"):
        other.get(*asked(linear(family="qwen3")))


def test_what_is_written_beside_a_capture(linear: Linear) -> None:
    made = Captures().get(*asked(linear()))
    facts = json.loads((made.folder / "capture.json").read_text())
    assert made.folder.name == f"llama-{facts['sha256'][:16]}"
    assert facts["n_items"] == 12
    assert (made.folder / "head_rows.safetensors").exists()
