"""Batches: prompts are those of evaluations, padding changes no logit, labels are the replies, weights are even."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
import world_reader as reader
from world_reader import Items

from tests.test_config import composed
from thinkgap.backends.format import open_image
from thinkgap.backends.hf import HFBackend
from thinkgap.data.present import identity
from thinkgap.demo.batches import IGNORED, Pass, School, Writer, Written, open_school, token_weights
from thinkgap.demo.lessons import LESSONS, MOST_OPTIONS, Example
from thinkgap.demo.model.vocabulary import END
from thinkgap.demo.world.draws import Draws
from thinkgap.prompts.build import PromptBuilder
from thinkgap.prompts.conditions import all_conditions
from thinkgap.schema import DemoMixture, ModeConfig, PromptConfig

PLAIN = DemoMixture(words=0.0, relettered=0.0, instructed=0.0, without_options=0.0, cued=1.0)


def lesson(school: School, name: str, number: int, mixture: DemoMixture) -> tuple[Example, Any]:
    """The lesson about a fact, and its picture."""
    draws = Draws("batches", name, number)
    example = LESSONS[name](school.facts[number], draws, mixture, MOST_OPTIONS)
    return example, None if example.scene is None else school.picture(example.scene, draws)


@pytest.fixture(scope="session")
def written(school: School, pupil: Callable[..., Writer]) -> list[Written]:
    """Every lesson about ten facts, in pictures and in words."""
    writer, mixture = pupil(), DemoMixture(words=0.5)
    return [
        writer.write(*lesson(school, name, number, mixture)) for name, number in itertools.product(LESSONS, range(10))
    ]


@pytest.fixture(scope="module")
def builder(backend: HFBackend) -> PromptBuilder:
    """The six conditions of the prefix study."""
    triggers = composed("trigger=paper").trigger
    return PromptBuilder(backend.fmt, all_conditions(triggers, ModeConfig(), PromptConfig()))


def test_lessons_in_pictures_ask_as_evaluations_do(
    made: Items, builder: PromptBuilder, backend: HFBackend, pupil: Callable[..., Writer]
) -> None:
    writer, school = pupil(), open_school("test", 0, 40)
    items = made("digit_scenes", size=40, image_free=0.0)
    cued: set[str] = set()
    for number, item in enumerate(items):
        picture = open_image(item.images[0])
        prompts = {one.prompt.condition.text: one for one in builder.build(identity(item))}
        direct, _ = lesson(school, "direct", number, PLAIN)
        rationale, _ = lesson(school, "rationale", number, PLAIN)
        cue = rationale.user.split("\n")[-1]
        cued.add(cue)
        for example, prompt in ((direct, prompts[""]), (rationale, prompts[cue])):
            one = writer.write(example, picture)
            assert one.ids[: one.n_prompt] == prompt.prompt.input_ids
            assert one.ids.count(writer.image_token) == prompt.prompt.n_image_tokens == 4
            ours, theirs = writer.collated([replace(one, ids=one.ids[: one.n_prompt])]).inputs, prompt.tensors
            assert torch.equal(ours["pixel_values"], theirs["pixel_values"])
            assert torch.equal(ours["image_grid_thw"], theirs["image_grid_thw"])
            assert torch.equal(ours["position_ids"], backend.model_inputs([prompt])["position_ids"])
    assert len(cued) == 5


def test_lessons_in_words_ask_as_evaluations_do(
    made: Items, builder: PromptBuilder, backend: HFBackend, pupil: Callable[..., Writer]
) -> None:
    writer, school = pupil(), open_school("test", 0, 40)
    for number, item in enumerate(made("digit_scenes", size=40, image_free=1.0)):
        example, picture = lesson(school, "direct", number, replace(PLAIN, words=1.0))
        assert picture is None
        told = example.user.split("\n")[0]
        # Each tells the scene in an order of its own.
        assert reader.marks_in_text(told) == reader.marks_in_text(item.context)
        prompt = builder.build(identity(replace(item, context=told)))[0]
        one = writer.write(example)
        assert one.ids[: one.n_prompt] == prompt.prompt.input_ids
        inputs = writer.collated([replace(one, ids=one.ids[: one.n_prompt])]).inputs
        assert "pixel_values" not in inputs
        assert torch.equal(inputs["position_ids"], backend.model_inputs([prompt])["position_ids"])


def test_pictures_are_drawn_as_the_data_set_draws_them(made: Items) -> None:
    school = open_school("test", 0, 12)
    for fact, item in zip(school.facts, made("digit_scenes", size=12, image_free=0.0), strict=True):
        drawn = school.picture(fact.question.scene, Draws("picture", "test", 0, fact.number))
        assert drawn.tobytes() == open_image(item.images[0]).tobytes()


def test_right_padding_without_a_mask_changes_no_reply_logit(
    written: Sequence[Written], pupil: Callable[..., Writer]
) -> None:
    writer = pupil()
    group = [*written[::7], *written[:3]]
    assert len({len(one.ids) for one in group}) > 5
    assert len({one.picture is None for one in group}) == 2
    together = writer.collated(group)
    assert "attention_mask" not in together.inputs
    with torch.no_grad():
        logits = writer.model(**together.inputs, use_cache=False).logits
        for row, one in enumerate(group):
            alone = plain_logits(writer, one)
            learned = together.labels[row] != IGNORED
            places = learned.nonzero()[:, 0]
            torch.testing.assert_close(logits[row, places], alone[places], atol=1e-4, rtol=1e-4)
            assert (alone[places] - alone[places].mean(0)).abs().max() > 0.1, "logits that do not depend on the place"


def plain_logits(writer: Writer, one: Written) -> torch.Tensor:
    """Logits `[T, V]` of a sequence alone, with an explicit mask and the positions that the model itself takes."""
    ids = torch.tensor([one.ids])
    inputs: dict[str, Any] = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if one.picture is not None:
        inputs |= dict(writer.processor.image_processor(images=[one.picture], return_tensors="pt"))
    inputs["mm_token_type_ids"] = (ids == writer.image_token).int()
    writer.model.model.rope_deltas = None
    return writer.model(**inputs, use_cache=False).logits[0]


def test_labels_are_the_reply_and_the_end_of_its_turn(school: School, pupil: Callable[..., Writer]) -> None:
    writer, mixture = pupil(), DemoMixture(words=0.5)
    examples = [lesson(school, name, number, mixture) for name in LESSONS for number in range(4)]
    one = writer.collated([writer.write(*example) for example in examples])
    assert one.lessons == tuple(example.lesson for example, _ in examples)
    for row, (example, _) in enumerate(examples):
        places = (one.labels[row] != IGNORED).nonzero()[:, 0]
        assert writer.tokenizer.decode(one.labels[row, places]) == example.reply + END
        # The first is asked for where the prompt ends, each next one where the one before it stands.
        assert writer.tokenizer.decode(one.inputs["input_ids"][row, : places[0] + 1]).endswith(
            "<|im_start|>assistant\n"
        )
        assert torch.equal(one.inputs["input_ids"][row, places[1:]], one.labels[row, places[:-1]])
        assert torch.equal(places, torch.arange(int(places[0]), int(places[0]) + len(places)))


def test_tokens_weigh_as_much_as_their_lesson_allows(written: Sequence[Written], pupil: Callable[..., Writer]) -> None:
    passes = pupil().passes(written)
    assert len(passes) > 1
    sums: Counter[str] = Counter()
    for one, weights in zip(passes, token_weights(passes), strict=True):
        rows = (one.labels != IGNORED).nonzero()[:, 0]
        assert weights.shape == rows.shape
        for row, weight in zip(rows.tolist(), weights.tolist(), strict=True):
            sums[one.lessons[row]] += weight
    assert dict(sums) == pytest.approx(dict.fromkeys(LESSONS, 1.0), abs=1e-5)


def test_weights_by_hand() -> None:
    def one(labels: list[list[int]], *lessons: str) -> Pass:
        return Pass({}, torch.tensor(labels), lessons)

    passes = [one([[5, 6, IGNORED], [7, IGNORED, IGNORED]], "caption", "direct"), one([[8, 9]], "caption")]
    assert [weights.tolist() for weights in token_weights(passes)] == [[0.25, 0.25, 1.0], [0.25, 0.25]]


def test_passes_cover_every_sequence_once(written: Sequence[Written], pupil: Callable[..., Writer]) -> None:
    writer = pupil()
    many = [*written, *written[:30]]
    passes = writer.passes(many)
    rows = [
        tuple(ids[: len(ids) - padding].tolist())
        for one in passes
        for ids in one.inputs["input_ids"]
        for padding in [int((ids == writer.tokenizer.pad_token_id).sum())]
    ]
    assert Counter(rows) == Counter(one.ids for one in many)
    for one in passes:
        assert len(one.lessons) == len(one.labels) <= 32
        lengths = (one.inputs["input_ids"] != writer.tokenizer.pad_token_id).sum(1)
        assert lengths.max() == one.labels.shape[1]
        # A few may differ more, so that no pass is nearly empty.
        assert int((lengths - lengths.min() > 14).sum()) <= 6
