"""`estimate=true` for local models: what it counts is what a run then computes, and its arithmetic by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.evaluation.no_thinking_runs import items_file, settings
from tests.test_config import composed
from thinkgap.backends.load import checkpoint_of, load_backend
from thinkgap.cli import prepare_arguments
from thinkgap.errors import ConfigError
from thinkgap.evaluation import evaluate
from thinkgap.evaluation.estimate import estimated
from thinkgap.evaluation.native import Finished
from thinkgap.evaluation.no_thinking import run_no_thinking
from thinkgap.planning.cost import scoring_cost, writing_cost
from thinkgap.planning.devices import Device, device_of
from thinkgap.planning.shape import Shape, shape_of
from thinkgap.planning.work import Work
from thinkgap.schema import EvaluateConfig, ModelConfig

H100 = "evaluation.estimating.device=h100"


@pytest.mark.parametrize(("family", "dataset"), [("llama", "toy_facts"), ("qwen25vl", "digit_scenes")])
def test_tokens_are_those_that_a_run_computes(
    run: Callable[..., Finished], tiny_model: Callable[[str], Path], family: str, dataset: str
) -> None:
    asked = (f"dataset={dataset}", "dataset.limit=12", "trigger=[let_me_think,answer]", "evaluation.permutations=2")
    asked += ("evaluation.permutation.label_sets=[reversed]",)
    planned = estimated(composed("model=local", f"model.path={tiny_model(family)}", *asked, H100))
    finished = run(*asked, "evaluation.reuse=false", family=family)
    computed = json.loads((finished.folder / "manifest.json").read_text(encoding="utf-8"))["scoring"]
    assert planned.work.prompts == computed["prompts"]
    assert planned.work.tokens == computed["linear_tokens"]
    # Items that show one picture share a trie in a run, and are counted apart here.
    if family == "llama":
        assert planned.work.distinct == computed["computed_tokens"]
    assert planned.work.distinct >= computed["computed_tokens"]
    assert (planned.items, planned.sampled) == (12, 12)
    assert (planned.work.images > 0) == (family == "qwen25vl")


def test_a_sample_stands_for_all(tiny_model: Callable[[str], Path]) -> None:
    model = ("model=local", f"model.path={tiny_model('llama')}", "dataset=toy_facts", "dataset.limit=60", H100)
    whole = estimated(composed(*model)).work
    part = estimated(composed(*model, "evaluation.estimating.items=20"))
    assert part.sampled == 20
    assert part.work.prompts == whole.prompts
    assert part.work.tokens == pytest.approx(whole.tokens, rel=0.1)


@pytest.mark.parametrize("family", ["llama", "qwen3", "gemma3", "qwen25vl", "llava"])
def test_sizes_are_those_of_the_loaded_model(tiny_model: Callable[[str], Path], family: str) -> None:
    cfg = ModelConfig(name="tiny", path=str(tiny_model(family)))
    backend = load_backend(cfg, on_accelerator=False)
    shape = shape_of(cfg, checkpoint_of(cfg, "~"), is_vision=backend.fmt.is_vision)
    assert shape.total == sum(one.numel() for one in backend.model.parameters())
    assert shape.active == sum(one.numel() for one in backend.structure.layers.parameters())
    assert shape.n_layers == len(backend.structure.layers)
    assert (shape.vision > 0) == backend.fmt.is_vision


SHAPE = Shape(total=1000, active=600, head=100, vision=50, n_layers=2, width=8, attention=8, cached=16, vocabulary=20)
DEVICE = Device(
    "d",
    1e6,
    1e6,
    1e5,
    3.6,
    scoring=0.5,
    decoding=0.5,
    stepping=0.25,
    host_seconds=0.01,
    layer_seconds=0.001,
    bytes_per_weight=2,
)


def test_the_cost_of_scoring_by_hand() -> None:
    work = Work(prompts=10, tokens=400, distinct=100, seen=900, seen_plain=9000, longest=50, images=2, patches=8)
    cost = scoring_cost(SHAPE, work, DEVICE, shared=True, batch_tokens=40, states=3, state_bytes=4)
    # 2 per weight and token, attention 4 per layer and query width, the head once a prompt, the tower once a patch.
    flops = 2 * 600 * 100 + 4 * 8 * 2 * 900 + 2 * 100 * 10 + 2 * 50 * 8
    assert cost.flops == flops
    assert cost.seconds == pytest.approx(flops / 0.5e6 + 10 * 0.01 + 3 * 2 * 0.001)
    assert cost.stored == 10 * (120 + 3 * 8 * 4)
    plain = scoring_cost(SHAPE, work, DEVICE, shared=False, batch_tokens=40)
    assert plain.flops - flops == 2 * 600 * 300 + 4 * 8 * 2 * 8100
    lens = scoring_cost(SHAPE, work, DEVICE, shared=True, batch_tokens=40, lens_prompts=10)
    assert lens.flops - flops == 2 * 100 * 10


def test_the_cost_of_replies_by_hand() -> None:
    work = Work(prompts=10, tokens=400, distinct=100, seen=900, seen_plain=9000, longest=50)
    read = scoring_cost(SHAPE, work, DEVICE, shared=True, batch_tokens=8192)
    cost = writing_cost(SHAPE, work, DEVICE, new_tokens=20, batch_size=5)
    # 40 steps of 5 replies; a step reads 700 weights and 5 caches of 50 tokens, 2 bytes each, at 0.5e5 bytes a second.
    moved = 2 * 700 + 2 * 5 * 16 * (40 + 10)
    assert cost.seconds - read.seconds == pytest.approx(40 * max(moved / 0.5e5, 2 * 700 * 5 / 0.25e6, 0.002))
    assert cost.memory == 2 * 1000 + 2 * 5 * 16 * 70
    assert cost.stored == 10 * (60 + 3 * 20)


def test_devices() -> None:
    assert device_of("h100").memory == 80e9
    assert device_of("h100", price=9.0).price == 9.0
    here = device_of("here", 64)
    assert here.flops > 1e8
    assert here.bandwidth > 1e8
    with pytest.raises(ConfigError, match="device=h10: not known.*h100"):
        device_of("h10")


def test_the_command_prints_and_leaves_nothing(
    tiny_model: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("dataset=toy_facts", "dataset.limit=5", "evaluation.estimate=true", H100, "logger=none")
    cfg = composed("model=local", f"model.path={tiny_model('llama')}", *asked, "evaluation.estimating.devices=8")
    evaluate(cfg, tmp_path / "run")
    said = capsys.readouterr().out
    assert "hours on one h100" in said
    assert "hours on 8" in said
    assert not (tmp_path / "run").exists()
    assert prepare_arguments(["estimate=true"], EvaluateConfig) == ["evaluation.estimate=true"]
    with pytest.raises(ConfigError, match=r"evaluation\.estimating\.items"):
        estimated(composed("model=local", "model.path=x", "evaluation.estimating.items=0"))


def test_replies_are_counted_by_mode(tiny_model: Callable[[str], Path], tmp_path: Path) -> None:
    items = items_file(tmp_path / "items.jsonl")
    model = ("model=local", f"model.path={tiny_model('llama')}", f"paths.cells_dir={tmp_path / 'cells'}")
    # think_on has no switch here, so a run leaves it out.
    cfg = settings(*model, H100, items=items, mode="mode=[think_on,strict,soft]")
    planned = estimated(cfg)
    assert (planned.items, planned.work.prompts) == (3, 6)
    assert any("limit of 5 tokens" in note for note in planned.notes)
    run_no_thinking(cfg, tmp_path / "run")
    decoding = json.loads((tmp_path / "run" / "manifest.json").read_text(encoding="utf-8"))["decoding"]
    assert planned.work.tokens == decoding["prompt_tokens"]
    cfg.evaluation.estimating.new_tokens = 2
    assert estimated(cfg).cost.seconds < planned.cost.seconds
