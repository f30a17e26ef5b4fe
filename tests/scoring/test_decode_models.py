"""Replies of trained models, which do end by themselves, equal `model.generate`: SmolLM2 and the packaged model."""

from __future__ import annotations

from pathlib import Path

from tests.items import mcq, shown
from tests.scoring.generated import generate, split
from tests.scoring.prompts import TRIGGERS
from tests.test_config import composed
from thinkgap.backends.load import load_backend
from thinkgap.evaluation.prepare import prepare
from thinkgap.prompts.build import PromptBuilder
from thinkgap.schema import ModelConfig
from thinkgap.scoring.decode import Decoder
from thinkgap.scoring.decode_check import choose_decoding
from thinkgap.scoring.stopping import stop_ids


def test_smollm2(smollm2_folder: Path) -> None:
    backend = load_backend(ModelConfig(name="smollm2", path=str(smollm2_folder)), on_accelerator=False)
    made = [PromptBuilder(backend.fmt, TRIGGERS[:2]).build(shown(mcq(question="Which is the largest?")))]
    method = choose_decoding(backend, made)
    assert method.name == "shared", method.reason
    stops = stop_ids(backend)
    expected = [[split(generate(backend, one, 20, stops), stops) for one in group] for group in made]
    replies = Decoder(backend, 20, 4, stops, method).decode(made)
    assert [[(one.token_ids, one.finish) for one in group] for group in replies] == expected
    assert "length" in {finish for _, finish in expected[0]}


def test_the_packaged_model() -> None:
    """Eight items, most with a picture, answered at once and after a rationale."""
    prepared = prepare(composed("dataset.limit=8", "trigger=[direct,let_me_think]", "logger=none"))
    backend = prepared.local.backend
    made = [[one for shown in item for one in prepared.builder.build(shown)] for item in prepared.items]
    assert len(made) == 8
    assert any(one.prompt.images for group in made for one in group)
    method = choose_decoding(backend, made)
    assert method.name == "shared", method.reason
    stops = stop_ids(backend)
    # So small a cap that the longer rationales do not end.
    expected = [[split(generate(backend, one, 22, stops), stops) for one in group] for group in made]
    assert {finish for group in expected for _, finish in group} == {"stop", "length"}
    assert len({len(tokens) for group in expected for tokens, _ in group}) > 3
    for batch_size in (64, 5):
        replies = Decoder(backend, 22, batch_size, stops, method).decode(made)
        assert [[(one.token_ids, one.finish) for one in group] for group in replies] == expected
    scored = prepared.engine.score(made)
    for group, others in zip(replies, scored, strict=True):
        for reply, one in zip(group, others, strict=True):
            assert reply.first_token_id == one.reading.top_token_id
            best = max(range(len(reply.label_logprobs)), key=reply.label_logprobs.__getitem__)
            assert best == max(range(len(reply.label_logprobs)), key=one.reading.label_logprobs.__getitem__)
