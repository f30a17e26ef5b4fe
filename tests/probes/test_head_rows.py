"""The rows kept beside a capture are the model's own readout."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from probes.capture_run import capture_of
from probes.captures import Captures
from probes.head_rows import HeadRows, read_head_rows
from probes.linear_probe import mask_absent
from thinkgap.data import load_dataset_items
from thinkgap.errors import StoreError
from thinkgap.schema import TrainConfig
from thinkgap.store.records import read_records

Linear = Callable[..., TrainConfig]


def captured(cfg: TrainConfig) -> Path:
    return Captures().get(capture_of(cfg, cfg.dataset), load_dataset_items(cfg.dataset).items).folder


@pytest.mark.parametrize("family", ["llama", "gemma3"])
def test_they_say_what_the_model_said(linear: Linear, family: str) -> None:
    cfg = linear(family=family)
    run = Captures().get(capture_of(cfg, cfg.dataset), load_dataset_items(cfg.dataset).items)
    head = read_head_rows(run.folder)
    assert head is not None
    records = {record.key[:3]: record for record in read_records(run.folder)}
    k = torch.from_numpy(run.rows["k"].to_numpy(np.int64))
    for condition, prompts in run.prompts.items():
        states = run.features.states(prompts.astype(str).tolist(), ["final_norm"])[:, 0]
        logits = head.logits(condition, states)
        assert logits is not None
        own = mask_absent(logits, k).log_softmax(-1)
        assert own.argmax(-1).tolist() == run.native[condition].tolist()
        for row, (item, presentation) in enumerate(run.rows[["item_id", "presentation"]].itertuples(index=False)):
            said = torch.tensor(records[item, presentation, condition].label_logprobs).log_softmax(-1)
            assert torch.allclose(own[row, : len(said)], said.float(), atol=1e-4)


def test_scale_softcap_and_bias_by_hand() -> None:
    head = HeadRows(
        {"direct": {"B": (9,), "A": (4,)}, "both": {"A": (4, 5), "B": (9,)}, "yes": {"Yes": (4,), "No": (9,)}},
        (4, 5, 9),
        torch.tensor([[1.0, 0.0], [5.0, 5.0], [0.0, 2.0]]),
        torch.tensor([0.0, 7.0, 1.0]),
        scale=0.5,
        softcap=2.0,
    )
    # Slot A is token 4, slot B token 9, whatever the order in which they are told.
    matrix = head.matrix("direct")
    assert matrix is not None
    assert matrix.tolist() == [[1.0, 0.0], [0.0, 2.0]]
    logits = head.logits("direct", torch.tensor([[3.0, 1.0]]))
    assert logits is not None
    # A: 3 * 0.5 = 1.5, B: (2 * 1 + 1) * 0.5 = 1.5; both 2 * tanh(1.5 / 2).
    assert torch.allclose(logits, 2 * torch.tanh(torch.tensor([[0.75, 0.75]])))
    assert head.matrix("both") is head.logits("both", torch.zeros(1, 2)) is None
    assert head.reason("both") == "label A is the sum of 2 tokens, which no linear readout is"
    assert head.reason("direct") is None
    yes = head.bias_of("yes")
    assert yes is not None
    assert yes.tolist() == [0.0, 1.0]


def test_labels_that_name_no_slots() -> None:
    mixed = HeadRows({"direct": {"A": (1,), "B": (2,), "Yes": (3,)}}, (1, 2, 3), torch.eye(3), None, 1.0, None)
    assert mixed.matrix("direct") is None
    assert mixed.reason("direct") == "labels A, B, Yes do not name one slot each"


def test_labels_that_are_sums_of_tokens(linear: Linear) -> None:
    head = read_head_rows(captured(linear("labels=both")))
    assert head is not None
    assert head.matrix("direct") is None
    assert "is the sum of 2 tokens" in str(head.reason("direct"))


def test_none_beside_other_runs_and_damaged_files(linear: Linear, tmp_path: Path) -> None:
    assert read_head_rows(tmp_path) is None
    (tmp_path / "head_rows.json").write_text('{"missing": "the head is quantised"}')
    assert read_head_rows(tmp_path) is None
    folder = captured(linear())
    (folder / "head_rows.safetensors").write_bytes(b"cut short")
    with pytest.raises(StoreError, match="damaged"):
        read_head_rows(folder)
