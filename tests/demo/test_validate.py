"""The curves' figures against the model's own logits, sequence by sequence."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from lesson_reader import asked

from thinkgap.demo.batches import IGNORED, School, Writer, Written
from thinkgap.demo.lessons import LESSONS
from thinkgap.demo.validate import validate
from thinkgap.demo.world.draws import Draws
from thinkgap.schema import DemoMixture

N = 60
MIXTURE = DemoMixture(words=0.5, relettered=1.0)


@pytest.fixture(scope="module")
def few(school: School) -> School:
    """More facts than go through the model together."""
    return replace(school, facts=school.facts[:N])


def written(few: School, writer: Writer, lesson: str, mixture: DemoMixture, *key: object) -> list[Written]:
    found = []
    for fact in few.facts:
        draws = Draws("validation", *key, fact.number)
        example = LESSONS[lesson](fact, draws, mixture, 5)
        picture = None if example.scene is None else few.picture(example.scene, draws)
        if lesson == "direct":
            assert list(asked(example).options) == sorted(asked(example).options)
        found.append(writer.write(example, picture))
    return found


@torch.no_grad()
def test_figures_are_those_of_the_model(few: School, pupil: Callable[..., Writer]) -> None:
    writer = pupil()
    found = validate(writer.model, writer, few, MIXTURE)

    right: dict[str, list[bool]] = {}
    slots = []
    letters = writer.tokenizer.convert_tokens_to_ids(list("ABCDE"))
    for fact, one in zip(few.facts, written(few, writer, "direct", replace(MIXTURE, relettered=0.0)), strict=True):
        prompt = writer.collated([replace(one, ids=one.ids[: one.n_prompt])])
        logits = writer.model(**prompt.inputs).logits[0, -1, letters[: len(fact.choices)]]
        slots.append(int(logits.argmax()))
        right.setdefault(fact.kind, []).append(slots[-1] == fact.gold)
    assert len(right) == 6
    assert len(set(slots)) > 2
    for kind, own in right.items():
        assert found[f"direct/{kind}"] == pytest.approx(statistics.fmean(own))
    assert found["direct"] == pytest.approx(statistics.fmean([one for own in right.values() for one in own]))
    assert found["first_slot"] == pytest.approx(slots.count(0) / N)
    assert found["gold_first"] == pytest.approx(sum(fact.choices[0] == fact.question.answer for fact in few.facts) / N)

    for lesson in ("caption", "statements", "matching", "short_answer", "rationale"):
        tokens: list[bool] = []
        for one in written(few, writer, lesson, MIXTURE, lesson):
            alone = writer.collated([one])
            guesses = writer.model(**alone.inputs).logits.argmax(-1)
            tokens += (guesses == alone.labels)[alone.labels != IGNORED].tolist()
        assert found[f"tokens/{lesson}"] == pytest.approx(statistics.fmean(tokens), abs=1e-6)


def test_measuring_changes_nothing(few: School, pupil: Callable[..., Writer]) -> None:
    writer = pupil()
    before = [parameter.clone() for parameter in writer.model.parameters()]
    for training in (True, False):
        writer.model.train(training)
        first = validate(writer.model, writer, few, MIXTURE)
        assert writer.model.training is training
        assert validate(writer.model, writer, few, MIXTURE) == first
    assert all(torch.equal(old, new) for old, new in zip(before, writer.model.parameters(), strict=True))
    assert all(parameter.grad is None for parameter in writer.model.parameters())
