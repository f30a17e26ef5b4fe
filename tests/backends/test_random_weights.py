"""Random weights in place of a checkpoint's: the same everywhere, never mistaken for the checkpoint's."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.items import mcq, shown
from tests.test_config import composed
from thinkgap.backends.hf import HFBackend
from thinkgap.backends.load import load_backend
from thinkgap.errors import ConfigError
from thinkgap.evaluation.describe import run_title
from thinkgap.evaluation.native import run_native
from thinkgap.evaluation.reuse import cell_context
from thinkgap.prompts.build import PromptBuilder
from thinkgap.schema import Dtype, ModelConfig
from thinkgap.scoring.engine import Engine
from thinkgap.types import Condition, Request


def loaded(folder: Path, seed: int | None = 5, **settings: Any) -> HFBackend:
    config = ModelConfig(name="control", path=str(folder), random_weights=seed, **settings)
    return load_backend(config, on_accelerator=False)


def digest(backend: HFBackend) -> str:
    """Of every weight, by name."""
    found = hashlib.sha256()
    for name, tensor in sorted(backend.model.state_dict().items()):
        found.update(name.encode() + tensor.float().numpy().tobytes())
    return found.hexdigest()


def logits(backend: HFBackend) -> torch.Tensor:
    builder = PromptBuilder(backend.fmt, [Condition("direct", "trigger", Request.label)])
    return backend.next_token_logits(builder.build(shown(mcq())))


@pytest.mark.parametrize("family", ["llama", "gemma3", "qwen25vl", "llava"])
def test_the_seed_gives_the_weights(family: str, tiny_model: Callable[[str], Path]) -> None:
    folder = tiny_model(family)
    one = loaded(folder)
    torch.rand(7)  # what else was drawn must not matter
    again, other, real = loaded(folder), loaded(folder, 6), loaded(folder, None)
    assert type(one.model) is type(real.model)
    assert one.model.state_dict().keys() == real.model.state_dict().keys()
    assert digest(one) == digest(again)
    assert len({digest(one), digest(other), digest(real)}) == 3
    assert torch.equal(logits(one), logits(again))
    assert not torch.allclose(logits(one), logits(real), atol=1e-3)
    # The structure check passed, and on weights that make it mean something.
    assert 0 <= one.check_error < 1e-5
    assert float(logits(one).std()) > 0
    assert one.model.dtype is torch.float32
    assert not one.model.training


def test_random_state_is_left_as_it_was(tiny_model: Callable[[str], Path]) -> None:
    before = torch.get_rng_state()
    loaded(tiny_model("llama"))
    assert torch.equal(torch.get_rng_state(), before)


def test_another_process_draws_the_same(tiny_model: Callable[[str], Path]) -> None:
    folder = tiny_model("llama")
    code = (
        "import sys; from pathlib import Path; from tests.backends.test_random_weights import digest, loaded; "
        "print(digest(loaded(Path(sys.argv[1]))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        env=os.environ | {"PYTHONHASHSEED": "17", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert done.stdout.strip() == digest(loaded(folder))


def test_its_cells_are_not_those_of_the_checkpoint(tiny_model: Callable[[str], Path]) -> None:
    folder = tiny_model("llama")
    backends = [loaded(folder, seed) for seed in (None, 5, 6)]
    contexts = [json.dumps(cell_context(Engine.of(backend)), sort_keys=True) for backend in backends]
    assert len(set(contexts)) == 3
    described = [backend.describe() for backend in backends]
    assert [one["random_weights"] for one in described] == [None, 5, 6]
    assert described[0]["revision"].startswith("sha256:")
    config = described[1]["revision"].removeprefix("random-weights:5:")
    assert described[2]["revision"] == f"random-weights:6:{config}"


def test_the_revision_is_of_the_configuration(tiny_model: Callable[[str], Path], tmp_path: Path) -> None:
    """Weights of other shape or scale are another model; where the folder lies and its number type are not."""
    folder = shutil.copytree(tiny_model("llama"), tmp_path / "elsewhere")
    config = json.loads((folder / "config.json").read_text())
    same = loaded(tiny_model("llama")).revision
    (folder / "config.json").write_text(json.dumps(config | {"dtype": "bfloat16"}))
    assert loaded(folder).revision == same
    (folder / "config.json").write_text(json.dumps(config | {"initializer_range": 0.1}))
    assert loaded(folder).revision != same


def test_no_weights_and_no_digest_are_needed(tiny_model: Callable[[str], Path], tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_model("llama"), tmp_path / "bare")
    (folder / "model.safetensors").unlink()
    (folder / "golden_readings.json").write_text("not looked at")
    assert loaded(folder, sha256="0" * 64).revision.startswith("random-weights:5:")


@pytest.mark.parametrize(
    ("own", "asked", "on_accelerator", "expected"),
    [
        ("bfloat16", Dtype.auto, False, torch.float32),
        ("bfloat16", Dtype.auto, True, torch.bfloat16),
        (None, Dtype.auto, True, torch.float32),
        ("float32", Dtype.bfloat16, False, torch.bfloat16),
    ],
)
def test_number_types_follow_the_rules_of_checkpoints(
    tiny_model: Callable[[str], Path],
    tmp_path: Path,
    own: str | None,
    asked: Dtype,
    on_accelerator: bool,
    expected: torch.dtype,
) -> None:
    folder = shutil.copytree(tiny_model("llama"), tmp_path / "typed")
    config = json.loads((folder / "config.json").read_text()) | {"dtype": own}
    (folder / "config.json").write_text(json.dumps(config))
    cfg = ModelConfig(name="t", path=str(folder), random_weights=1, dtype=asked)
    assert load_backend(cfg, on_accelerator=on_accelerator).model.dtype is expected


@pytest.mark.parametrize("settings", [{"device_map": "cpu"}, {"quantization": {"quant_method": "bitsandbytes"}}])
def test_what_cannot_be_drawn_is_refused(tiny_model: Callable[[str], Path], settings: dict[str, Any]) -> None:
    (name,) = settings
    with pytest.raises(
        ConfigError, match=f"model.random_weights draws plain weights on the CPU: set model.{name}=null"
    ):
        loaded(tiny_model("llama"), **settings)


def test_the_packaged_model_runs_with_random_weights_and_says_so() -> None:
    cfg = composed("model=demo_vlm", "model.random_weights=3")
    assert cfg.model.sha256 is not None
    real = load_backend(replace(cfg.model, random_weights=None), on_accelerator=False)
    backend = load_backend(cfg.model, on_accelerator=False)
    assert type(backend.model) is type(real.model)
    assert digest(backend) != digest(real)
    assert run_title(cfg, 3, "bare").startswith("demo_vlm with random weights (seed 3) on digit_scenes")


def test_a_run_says_it(tiny_model: Callable[[str], Path], tmp_path: Path) -> None:
    settings = ["model=local", f"model.path={tiny_model('llama')}", "dataset=toy_facts", "dataset.limit=4"]
    finished = run_native(
        composed(*settings, "trigger=direct", "logger=none", "model.random_weights=4"), tmp_path / "r"
    )
    assert "with random weights (seed 4)" in (finished.folder / "table.md").read_text()
    assert finished.manifest["model"]["random_weights"] == 4
    assert finished.manifest["model"]["revision"].startswith("random-weights:4:")
