"""What a cell and a fingerprint depend on, one field at a time, and the order in which things are written."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.scoring.prompts import groups
from thinkgap.backends.load import load_backend
from thinkgap.errors import StoreError
from thinkgap.evaluation import reuse
from thinkgap.evaluation.native import Finished
from thinkgap.evaluation.reuse import cell_context
from thinkgap.schema import Dtype, ModelConfig
from thinkgap.scoring.capture import Capture, Wanted
from thinkgap.scoring.engine import Engine
from thinkgap.scoring.readings import ReadOptions
from thinkgap.scoring.verify import Sample, compare, verify
from thinkgap.scoring.vocabulary import reasoning_tokens
from thinkgap.store.run_folder import RunFolder

Run = Callable[..., Finished]


@pytest.fixture
def run(run: Run) -> Run:
    """`run(*overrides, ...)` on four items."""
    return partial(run, "dataset.limit=4")


def test_other_weights_of_the_same_name_and_shapes_have_other_cells(
    run: Run, tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    """Would notice: no `revision` in `reuse._MODEL`."""
    from safetensors.torch import load_file, save_file

    folder = shutil.copytree(tiny_model("llama"), tmp_path / "model")
    first = run(folder="first", model=folder)
    weights = load_file(folder / "model.safetensors")
    weights["model.embed_tokens.weight"] = weights["model.embed_tokens.weight"] + 0.1
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    second = run(folder="second", model=folder)
    assert first.manifest["scoring"]["prompts"] == second.manifest["scoring"]["prompts"] == 8


@pytest.mark.parametrize(
    "field", ["revision", "class", "dtype", "attn_implementation", "quantization", "vocab_size", "image_processor"]
)
def test_the_context_holds_what_a_reading_depends_on(
    field: str, tiny_backend: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Would notice: any field of `reuse._MODEL` left out."""
    engine = Engine.of(tiny_backend("qwen25vl"))
    before, described = cell_context(engine), engine.backend.describe()
    monkeypatch.setattr(type(engine.backend), "describe", lambda self: described | {field: "other"})
    assert cell_context(engine) != before


def test_the_context_holds_code_libraries_and_reasoning_tokens(
    tiny_backend: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = tiny_backend("llama")
    engine = Engine.of(backend, options=ReadOptions(reasoning_tokens(backend.fmt.tokenize)))
    before = cell_context(engine)
    engine.options = ReadOptions(None)
    assert cell_context(engine) != before
    engine.options = ReadOptions(reasoning_tokens(backend.fmt.tokenize))
    assert cell_context(engine) == before
    with monkeypatch.context() as patch:
        patch.setattr(reuse, "code_digest", lambda *folders: f"other {folders}")
        assert cell_context(engine) != before
    with monkeypatch.context() as patch:
        patch.setattr("importlib.metadata.version", lambda name: "other")
        assert cell_context(engine) != before


def test_cells_are_written_before_the_records_that_come_from_them(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the other order a kill would leave rows without states."""

    def killed(*arguments: Any) -> None:
        assert list((tmp_path / "cells").glob("*/shard-*.parquet"))
        raise KeyboardInterrupt

    monkeypatch.setattr(RunFolder, "write_shard", killed)
    with pytest.raises(KeyboardInterrupt):
        run()


@pytest.mark.parametrize(
    ("setting", "field"),
    [
        ("evaluation.top_k=2", r"reads\.top_k: 5 in the folder, 2 now"),
        ("evaluation.lens=true", r"reads\.lens: false in the folder, true now"),
        ("evaluation.capture.enabled=true", r"reads\.states: "),
    ],
)
def test_a_folder_read_otherwise_is_refused(setting: str, field: str, run: Run) -> None:
    """Would notice: no `reads` in the fingerprint."""
    run()
    with pytest.raises(StoreError, match=field):
        run(setting)


@pytest.mark.parametrize("wanted", [None, Wanted(layers=(2,), embeddings=True), Wanted(layers=(1,))])
@pytest.mark.parametrize("family", ["llama", "qwen25vl"])
def test_the_lens_of_every_layer_is_of_that_layer(
    family: str, wanted: Wanted | None, tiny_backend: Callable[[str], Any], picture: Callable[..., Any]
) -> None:
    """Would notice: `states[:, layer]` for `states[:, first + layer]`; another layer's states where some are wanted."""
    backend = tiny_backend(family)
    made = groups(backend, picture, orders=1)[-1]
    (scored,) = Engine.of(backend, wanted=wanted, lens=True).score([made])
    every = Wanted(embeddings=True)
    for prepared, one in zip(made, scored, strict=True):
        at = torch.tensor([[len(prepared.prompt.input_ids) - 1]])
        with torch.inference_mode(), Capture(backend.structure, at, every) as capture:
            backend.next_token_logits([prepared])
            states = capture.states()[0, 0]
            logprobs = torch.log_softmax(backend.structure.logits(states[1:]), -1)
        for layer, lens in enumerate(one.lens):
            expected = [float(logprobs[layer, ids[0]]) for ids in one.prompt.label_ids]
            assert lens.label_logprobs == pytest.approx(expected, abs=1e-4), layer
        if wanted is not None:
            assert one.states is not None
            chosen = [every.names(3).index(name) for name in wanted.names(3)]
            assert float((one.states - states[chosen]).abs().max()) < 1e-4


def test_plain_scoring_in_half_precision_is_compared_with_float32(tiny_model: Callable[[str], Path]) -> None:
    """Would notice: `Verified.plain_float32` made of the run's readings."""
    config = ModelConfig(name="llama", path=str(tiny_model("llama")), dtype=Dtype.bfloat16)
    engine = Engine.of(load_backend(config, on_accelerator=False))
    made = [prepared for group in groups(engine.backend, lambda *_: None) for prepared in group]
    scored = engine.score([made])[0]
    sample = Sample(len(made))
    sample.offer(made, scored)
    found = verify(engine, sample)
    assert found is not None
    assert found.plain_float32 is not None
    from dataclasses import replace

    from thinkgap.scoring.engine import Scored

    wrong = [
        Scored(one.prompt, replace(one.reading, label_logprobs=tuple(-99.0 for _ in one.reading.label_logprobs)))
        for one in scored
    ]
    sample = Sample(len(made))
    sample.offer(made, wrong)
    other = verify(engine, sample)
    assert other is not None
    assert other.plain_float32 == found.plain_float32
    assert compare([one.reading for one in wrong], [one.reading for one in scored]).largest_difference > 50
