"""Perturbed items in real runs: what would be sent, and what the label readout cannot read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.test_config import composed
from thinkgap.evaluation import prepare
from thinkgap.evaluation.show import show_prompts

ASKED = "evaluation.variants.surface=[shuffle,numeric,lower,roman,bullets]"


@pytest.fixture
def items(tmp_path: Path) -> list[str]:
    row = {"id": "m", "question": "Which is the largest?", "choices": ["twelve", "seventeen", "three"], "answer": 1}
    (tmp_path / "items.jsonl").write_text(json.dumps(row))
    return ["dataset=jsonl", f"dataset.path={tmp_path / 'items.jsonl'}", "dataset.limit=null", "logger=none", ASKED]


def test_prompts_of_a_local_model_say_why_there_are_no_label_tokens(
    items: list[str], tiny_model: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    model = ["model=local", f"model.path={tiny_model('llama')}"]
    show_prompts(composed("evaluation=prompts", *model, "mode=paper", *items))
    shown = capsys.readouterr().out
    assert "excluded" not in shown
    blocks = {head: text for head, _, text in (block.partition(" | ") for block in shown.split("=== ")) if text}
    assert blocks.keys() >= {"m", "m as surface_shuffle", "m as letters_numeric", "m as surface_bullets"}
    assert "- twelve\n- seventeen\n- three" in blocks["m as surface_bullets"]
    assert "label tokens none (label" in blocks["m as surface_bullets"]
    assert "label tokens {'A'" in blocks["m"]


def test_prompts_of_a_served_model(items: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    show_prompts(composed("evaluation=prompts", "model=qwen3_235b_a22b", "mode=strict", *items))
    shown = capsys.readouterr().out
    assert "- twelve\\n- seventeen\\n- three\\n" in shown
    assert "boxed{i}" in shown


def test_the_demo_models_tokenizer_leaves_bullets_out_with_a_reason(items: list[str]) -> None:
    prepared = prepare.prepare(composed("model=demo_vlm", *items))
    assert "tokens" in prepared.unread["surface_bullets"]
    names = {one.name for one in prepared.presentations}
    assert "surface_bullets" not in names
    assert "surface_shuffle" in names
