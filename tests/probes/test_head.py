"""The copied projection: it reads stored states as the model does, and nothing that is trained reaches the model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from probes.features import find_sources, read_split
from probes.fit import fit
from probes.head import adapted, check_readout, copy_readout, readings
from probes.targets import adapter_loss, label_table
from tests.models import write_model
from thinkgap.backends.load import load_backend
from thinkgap.errors import ModelError
from thinkgap.schema import AdapterLoss, Dtype, LoraSettings, ModelConfig, ProbeConfig, TrainConfig, TrainerConfig
from thinkgap.scoring.readings import ReadOptions

CPU = torch.device("cpu")


@pytest.fixture
def split(config: Callable[..., TrainConfig], tmp_path: Path) -> Callable[..., Any]:
    """`split(backend, *overrides, family=)`: training rows and states of a tiny model."""

    def read(backend: Any, *overrides: str, family: str = "llama") -> Any:
        cfg = config(*overrides, family=family)
        source, _ = find_sources(cfg)
        return read_split(cfg, source, backend, tmp_path / "features")

    return read


def test_the_copy_reads_what_the_run_read(split: Callable[..., Any], tiny_backend: Callable[[str], Any]) -> None:
    rows = split(tiny_backend("llama"))
    readout = copy_readout(tiny_backend("llama"))
    assert check_readout(readout, rows.states, rows.records, "run") < 1e-4
    found = list(readings(readout, rows.states, rows.records, ReadOptions(), CPU))
    assert len(found) == len(rows.records) == 32
    for record, (prompt, reading) in zip(rows.records, found, strict=True):
        assert prompt.presentation.gold_slot == record.gold_slot
        assert reading.label_logprobs == pytest.approx(record.label_logprobs, abs=1e-4)
        assert reading.gold_rank == record.gold_rank


def test_half_precision_is_checked_within_its_rounding(
    split: Callable[..., Any], tiny_model: Callable[[str], Path]
) -> None:
    """bfloat16 keeps 8 bits: logits near 16 are 1/16 apart, so the run's own figures are that rough."""
    cfg = ModelConfig(name="half", path=str(tiny_model("llama")), dtype=Dtype.bfloat16)
    backend = load_backend(cfg, on_accelerator=False)
    rows = split(backend, "model.dtype=bfloat16")
    assert rows.states.dtype is torch.bfloat16
    readout = copy_readout(backend)
    largest = float(readout(rows.states.float()).abs().max())
    error = check_readout(readout, rows.states, rows.records, "run")
    assert 1e-4 < error <= largest / 128
    with pytest.raises(ModelError, match="nats off"):
        check_readout(readout, rows.states.flip(0), rows.records, "run")


def test_states_before_the_norm_are_refused(split: Callable[..., Any], tiny_backend: Callable[[str], Any]) -> None:
    backend = tiny_backend("llama")
    rows = split(backend)
    readout = copy_readout(backend)
    with torch.inference_mode():
        twice = backend.structure.norm(rows.states)
    for wrong in (twice, rows.states * 1.02, rows.states.flip(0)):
        with pytest.raises(ModelError, match="nats off the label log-probabilities of that run"):
            check_readout(readout, wrong, rows.records, "run")


def test_scale_and_softcap_are_the_models(split: Callable[..., Any], smollm2_folder: Path, tmp_path: Path) -> None:
    """Gemma caps its logits; the copy has to, or what is trained is another head."""
    folder = write_model("gemma3", tmp_path / "capped", smollm2_folder, final_logit_softcapping=5.0)
    backend = load_backend(ModelConfig(name="capped", path=str(folder)), on_accelerator=False)
    rows = split(backend, f"model.path={folder}", family="gemma3")
    readout = copy_readout(backend)
    assert readout.softcap == 5.0
    assert check_readout(readout, rows.states, rows.records, "run") < 1e-4
    readout.softcap = None
    with pytest.raises(ModelError, match="nats off"):
        check_readout(readout, rows.states, rows.records, "run")


def test_a_fresh_adapter_changes_nothing(split: Callable[..., Any], tiny_backend: Callable[[str], Any]) -> None:
    rows = split(tiny_backend("llama"))
    readout = copy_readout(tiny_backend("llama"))
    model = adapted(readout, LoraSettings(rank=4, dropout=0.5), seed=0, base="x")
    model.eval()
    with torch.inference_mode():
        assert torch.equal(model(rows.states), readout(rows.states))


def test_only_the_adapter_is_trained_and_tied_embeddings_stay(
    split: Callable[..., Any], tiny_model: Callable[[str], Path]
) -> None:
    backend = load_backend(ModelConfig(name="gemma3", path=str(tiny_model("gemma3"))), on_accelerator=False)
    assert backend.structure.head.weight is backend.model.get_input_embeddings().weight, "tied"
    before = {name: tensor.clone() for name, tensor in backend.model.state_dict().items()}
    rows = split(backend, family="gemma3")
    readout = copy_readout(backend)
    frozen: Any = readout.projection
    copied = frozen.weight.clone()
    model = adapted(readout, LoraSettings(rank=4), seed=0, base="x")
    trainable = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    start = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    labels, gold = label_table(rows.records)
    losses = fit(
        model,
        lambda logits, gold, labels: adapter_loss(AdapterLoss.vocabulary, logits, gold, labels),
        (rows.states, gold, labels),
        ProbeConfig(epochs=2, batch_size=16, lora=LoraSettings(learning_rate=0.01)),
        TrainerConfig(accelerator="cpu", progress=False),
        seed=0,
    )
    assert losses[1] < losses[0]
    assert {name.split(".")[-3] for name in trainable} == {"lora_A", "lora_B"}
    changed = {name for name, tensor in model.state_dict().items() if not torch.equal(tensor, start[name])}
    assert changed == trainable
    assert all(parameter.grad is None for name, parameter in model.named_parameters() if name not in trainable)
    assert torch.equal(frozen.weight, copied)
    assert readout.projection is frozen, "the next adapter starts from the model's own projection"
    for name, tensor in backend.model.state_dict().items():
        assert torch.equal(tensor, before[name]), name
    assert not torch.are_deterministic_algorithms_enabled(), "put back after the training"


@pytest.mark.parametrize("head", [nn.Sequential(nn.Linear(4, 8)), nn.Linear(4, 8, device="meta")])
def test_a_projection_that_is_no_plain_linear_map_is_refused(
    head: nn.Module, tiny_backend: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    backend = tiny_backend("llama")
    with pytest.raises(ModelError, match="not a plain linear map"):
        copy_readout(replace(backend, structure=replace(backend.structure, head=head)))
