"""An item whose logits are not finite is left out, and what shared a pass with it reads what it reads without it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tests.items import mcq
from thinkgap.backends.load import load_backend
from thinkgap.data.present import identity
from thinkgap.errors import NotFiniteError
from thinkgap.prompts.build import PromptBuilder
from thinkgap.prompts.conditions import all_conditions
from thinkgap.schema import ModeConfig, ModelConfig, PromptConfig, Scoring, TriggerConfig
from thinkgap.scoring.engine import Engine
from thinkgap.scoring.predict import PreparedItem, ScoringModule
from thinkgap.scoring.verify import Sample

TEXTS = {"a": "Which word is short?", "bad": "Which zebra is it?", "c": "Which word is long?"}


@pytest.mark.parametrize("way", [Scoring.auto, Scoring.plain])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_the_others_of_its_batch_are_as_without_it(
    tiny_model: Callable[[str], Path], way: Scoring, value: float
) -> None:
    backend = load_backend(ModelConfig(name="tiny", path=str(tiny_model("llama"))), on_accelerator=False)
    builder = PromptBuilder(backend.fmt, all_conditions(TriggerConfig(), ModeConfig(), PromptConfig()))
    items = [PreparedItem(name, builder.build(identity(mcq(id=name, question=text)))) for name, text in TEXTS.items()]
    tokens = {item.item_id: {one for prompt in item.prompts for one in prompt.prompt.input_ids} for item in items}
    engine = Engine.of(backend, way)
    clean = {
        one.item_id: one.scored
        for item in items
        for one in ScoringModule(engine, engine.score, Sample()).predict_step([item], 0)
    }
    only = min(tokens["bad"] - tokens["a"] - tokens["c"])
    weights = backend.model.get_input_embeddings().weight
    before = weights[only].clone()
    with torch.no_grad():
        weights[only] = value
    try:
        with pytest.raises(NotFiniteError):
            engine.score([item.prompts for item in items])
        found = ScoringModule(engine, engine.score, Sample(9)).predict_step(items, 0)
    finally:
        with torch.no_grad():
            weights[only] = before
    assert [one.item_id for one in found] == list(TEXTS)
    assert [one.excluded is not None for one in found] == [False, True, False]
    assert found[1].excluded is not None
    assert found[1].excluded.kind == "logits that are not finite"
    assert "item bad, condition direct" in str(found[1].excluded)
    for one in (found[0], found[2]):
        for own, other in zip(one.scored, clean[one.item_id], strict=True):
            assert own.reading.label_logprobs == pytest.approx(other.reading.label_logprobs, abs=1e-5)
