"""The training: rates, phases, more options, which optimiser has what, and a step against a plain computation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
from by_hand import new_training
from transformers import Qwen2_5_VLForConditionalGeneration

from thinkgap.demo.batches import IGNORED, School, Writer
from thinkgap.demo.model.folder import save_folder
from thinkgap.demo.phases import check_settings, layers_at, phase_at, rate_factor
from thinkgap.demo.training import Lessons, Progress, split_parameters
from thinkgap.errors import ConfigError
from thinkgap.schema import DemoConfig, DemoPhase, DemoSizes

Settings = Callable[..., DemoConfig]
NewPupil = Callable[..., Writer]


def test_rates_rise_stay_and_fall(settings: Settings) -> None:
    cfg = settings(steps=10, warmup=4, cooldown=0.5)
    assert [rate_factor(cfg, step) for step in range(10)] == [0.25, 0.5, 0.75, 1, 1, 1, 0.8, 0.6, 0.4, 0.2]
    slower = settings(steps=20, warmup=0, cooldown=0.25, plateau=4)
    assert [rate_factor(slower, step) for step in (3, 4, 9, 16)] == pytest.approx([1, 1, 2 / 3, 0.8 * 0.5])
    sudden = settings(steps=3, warmup=0, cooldown=0.0)
    assert [rate_factor(sudden, step) for step in range(3)] == [1, 1, 1]


def test_phases_follow_each_other(settings: Settings) -> None:
    phases = [
        DemoPhase(0.3, {"direct": 3, "caption": 0}),
        DemoPhase(0.0, {"caption": 2}),
        DemoPhase(0.5, {"matching": 1}),
    ]
    cfg = settings(steps=8, phases=phases)
    assert [phase_at(cfg, step).lessons for step in range(8)] == [
        *[{"caption": 2}] * 3,  # 0.3 of 8 steps are 2.4
        {"direct": 3, "caption": 0},
        *[{"matching": 1}] * 4,
    ]


def test_a_phase_takes_its_share_of_the_rates(settings: Settings) -> None:
    phases = [DemoPhase(0.0, {"caption": 1}), DemoPhase(0.5, {"caption": 1}, rate=0.25)]
    cfg = settings(steps=4, warmup=0, cooldown=0.0, plateau=10, phases=phases)
    assert [rate_factor(cfg, step) for step in range(4)] == [1, 1, 0.25, 0.25]


def test_a_phase_asks_with_more_options_only_about_scenes(school: School, pupil: NewPupil, settings: Settings) -> None:
    writer = pupil()
    for lesson, most in (("direct", 4), ("choice", 4), ("letter_of", 2), ("matching", 2)):
        cfg = settings(steps=2, phases=[DemoPhase(0.0, {lesson: 20}), DemoPhase(0.5, {lesson: 20}, options=4)])
        lessons = Lessons(cfg, school, writer, Progress())
        found = []
        for step in (0, 1):
            texts = [writer.tokenizer.decode(row) for one in lessons.at(step) for row in one.inputs["input_ids"]]
            found.append(max(sum(f"\n{letter}. " in text for letter in "ABCDE") for text in texts))
        assert found == [2, most], lesson


def test_a_phase_may_be_about_sums(school: School, pupil: NewPupil, settings: Settings) -> None:
    def questions(sums: float) -> list[bool]:
        cfg = settings(phases=[DemoPhase(0.0, {"short_answer": 60}, sums=sums)])
        writer = pupil()
        passes = Lessons(cfg, school, writer, Progress()).at(0)
        texts = [writer.tokenizer.decode(row) for one in passes for row in one.inputs["input_ids"]]
        return ["the sum of" in text for text in texts]

    assert all(questions(1.0))
    assert sum(questions(0.0)) < sum(questions(0.5)) < 60


def test_new_layers_join_below_and_change_nothing_at_first(
    school: School, pupil: NewPupil, settings: Settings, tmp_path: Path
) -> None:
    phases = [DemoPhase(0.0, {"direct": 4}), DemoPhase(0.5, {"direct": 4}, new_layers=2)]
    cfg = settings(steps=4, phases=phases)
    assert [layers_at(cfg, step) for step in range(4)] == [2, 2, 4, 4]
    writer = pupil()
    module, model = new_training(cfg, writer), writer.model
    (one,) = Lessons(cfg, school, writer, module.progress).at(0)
    with torch.no_grad():
        before, old = model(**one.inputs).logits, list(model.model.language_model.layers)
        module.grow(4)
        assert torch.equal(model(**one.inputs).logits, before)
    new = list(model.model.language_model.layers)
    assert new[2:] == old
    assert [layer.self_attn.layer_idx for layer in new] == [0, 1, 2, 3], "a cache keeps keys by this number"
    held = [
        p
        for optimizer in module.optimizers_by_name.values()
        for group in optimizer.param_groups
        for p in group["params"]
    ]
    assert sorted(map(id, held)) == sorted(map(id, model.parameters()))
    module.grow(4)
    assert len(model.model.language_model.layers) == 4
    # They learn, and the folder is one of a model that had them from the start.
    module.progress.step = 2
    module.training_step(Lessons(cfg, school, writer, module.progress).at(2), 2)
    assert all(layer.mlp.down_proj.weight.abs().max() > 0 for layer in new[:2])
    save_folder(tmp_path, model, writer.processor)
    loaded = Qwen2_5_VLForConditionalGeneration.from_pretrained(tmp_path, dtype=torch.float32).eval()
    with torch.no_grad():
        assert torch.allclose(loaded(**one.inputs).logits, model.eval()(**one.inputs).logits, atol=1e-5)
        reply = writer.model.generate(one.inputs["input_ids"][:1, :12], max_new_tokens=4)
        plain = writer.model.generate(one.inputs["input_ids"][:1, :12], max_new_tokens=4, use_cache=False)
    assert torch.equal(reply, plain)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"phases": []}, "none begins at 0, so step 0 has no lessons"),
        ({"phases": [DemoPhase(0.1, {"caption": 1})]}, "none begins at 0"),
        ({"lessons": {"captoin": 1}}, "no lesson 'captoin'; did you mean 'caption'"),
        ({"lessons": {"caption": -1}}, "caption is -1; give a number of examples"),
        ({"lessons": {"caption": 0}}, "begins at 0 has no examples"),
        # Met only in the last of ten thousand steps, but told at once.
        ({"phases": [DemoPhase(0.0, {"caption": 1}), DemoPhase(0.99999, {"drect": 1})]}, "did you mean 'direct'?"),
        ({"phases": [DemoPhase(0.0, {"caption": 1}), DemoPhase(0.5, {})]}, "begins at 0.5 has no examples"),
        ({"phases": [DemoPhase(0.0, {"caption": 1}, new_layers=-1)]}, "new_layers=-1"),
        (
            {"phases": [DemoPhase(0.0, {"caption": 1}), DemoPhase(0.5, {"caption": 1}, rate=0.0)]},
            "begins at 0.5 has rate=0; a rate is",
        ),
        ({"phases": [DemoPhase(0.0, {"caption": 1}, sums=1.5)]}, "sums=1.5; a share"),
        ({"phases": [DemoPhase(0.0, {"caption": 1}, options=6)]}, "options=6"),
        ({"phases": [DemoPhase(0.0, {"caption": 1}, options=1)]}, "questions have 2 to 5 options"),
        (
            {"facts": 5, "phases": [DemoPhase(0.0, {"caption": 1}), DemoPhase(0.9, {"caption": 1}, sums=0.1)]},
            "demo.facts=5: kinds come in turn, so sums need at least 6",
        ),
        ({"steps": 0}, "demo.steps=0: must be at least 1"),
        ({"facts": 0}, "demo.facts=0"),
        ({"save_every": 0}, "demo.save_every=0"),
        ({"validate_every": -1}, "demo.validate_every=-1"),
        ({"validation_facts": 0}, "demo.validation_facts=0"),
        ({"warmup": -1}, "demo.warmup=-1: must be at least 0"),
        ({"cooldown": -0.1}, "demo.cooldown=-0.1"),
        ({"sizes": DemoSizes(heads=0)}, "demo.sizes.heads=0"),
        ({"sizes": DemoSizes(hidden=36, heads=4)}, "demo.sizes.hidden=36: must be a multiple of 8"),
        ({"sizes": DemoSizes(vision_hidden=36)}, "demo.sizes.vision_hidden=36: must be a multiple of 8"),
    ],
)
def test_settings_that_cannot_be_honoured(settings: Settings, changes: dict[str, Any], message: str) -> None:
    check_settings(settings())
    with pytest.raises(ConfigError) as caught:
        check_settings(settings(**{"steps": 10_000, **changes}))
    assert message in str(caught.value)


def test_sizes_that_are_accepted_make_a_model(school: School, pupil: NewPupil, settings: Settings) -> None:
    for changes in (
        {"hidden": 24, "heads": 4},
        {"hidden": 40, "heads": 2},
        {"vision_hidden": 24},
        {"vision_hidden": 8},
    ):
        sizes = {"hidden": 32, "layers": 2, "heads": 2, "inner": 64, "vision_hidden": 32} | changes
        cfg = settings({"caption": 2}, sizes=DemoSizes(**sizes))
        check_settings(cfg)
        writer = pupil(**sizes)
        module = new_training(cfg, writer)
        module.training_step(Lessons(cfg, school, writer, module.progress).at(0), 0)
        assert module.progress.step == 1


def test_a_steps_examples_depend_on_its_number_and_the_seed(
    school: School, pupil: NewPupil, settings: Settings
) -> None:
    writer = pupil()

    def ids(step: int, seed: int = 0, before: Iterable[int] = ()) -> list[list[int]]:
        lessons = Lessons(settings(seed=seed), school, writer, Progress(options={"letter_of": 5, "direct": 5}))
        for other in before:
            lessons.at(other)
        return [row for one in lessons.at(step) for row in one.inputs["input_ids"].tolist()]

    assert ids(7) == ids(7, before=(3, 4))
    assert ids(7) != ids(8)
    assert ids(7) != ids(7, seed=1)


def test_lessons_go_on_where_the_training_stands(school: School, pupil: NewPupil, settings: Settings) -> None:
    lessons = Lessons(settings(), school, pupil(), Progress(step=9, options={"letter_of": 4, "direct": 4}))
    assert len(lessons) == len(list(lessons)) == 3
    first = [one.inputs["input_ids"].tolist() for one in next(iter(lessons))]
    assert first == [one.inputs["input_ids"].tolist() for one in lessons.at(9)]


def test_questions_have_as_many_options_as_the_training_has_come_to(
    school: School, pupil: NewPupil, settings: Settings
) -> None:
    writer, progress = pupil(), Progress()
    for lesson, own in (("direct", "direct"), ("letter_of", "letter_of"), ("matching", "letter_of")):
        lessons = Lessons(settings({lesson: 20}), school, writer, progress)
        for most in (2, 3, 5):
            progress.options |= {"direct": 4, "letter_of": 4, own: most}
            texts = [writer.tokenizer.decode(row) for one in lessons.at(0) for row in one.inputs["input_ids"]]
            assert max(sum(f"\n{letter}. " in text for letter in "ABCDE") for text in texts) == most


def test_more_options_come_when_the_running_accuracy_passes_the_bound(
    school: School, pupil: NewPupil, settings: Settings
) -> None:
    def options(bound: float, lesson: str, of: str) -> list[int]:
        progress = Progress()
        module = new_training(settings({lesson: 4}, more_options=bound), pupil(), progress)
        lessons = Lessons(module.cfg, school, Writer(pupil().processor, module.model), progress)
        found = []
        for step in range(5):
            module.training_step(lessons.at(step), step)
            found.append(progress.options[of])
        assert progress.step == 5
        return found

    for lesson, other in (("direct", "letter_of"), ("letter_of", "direct")):
        assert options(-1.0, lesson, lesson) == [3, 4, 5, 5, 5]
        assert options(1.0, lesson, lesson) == [2] * 5
        assert options(-1.0, lesson, other) == [2] * 5, "they grow apart"
    assert options(-1.0, "matching", "letter_of") == [2] * 5, "its replies are no single letters"


def test_the_running_accuracy_by_hand(school: School, pupil: NewPupil, settings: Settings) -> None:
    writer, progress = pupil(lively=False), Progress()
    module = new_training(settings({"direct": 10, "matching": 10}, steps=30), writer, progress)
    passes = Lessons(module.cfg, school, writer, progress).at(0)
    for step in range(7):  # until some letters are right
        module.training_step(passes, step)
    before = progress.running["direct"]
    right = []
    with torch.no_grad():
        for one in passes:
            guesses = writer.model(**one.inputs).logits.argmax(-1)
            for row, lesson in enumerate(one.lessons):
                if lesson == "direct":
                    place = int((one.labels[row] != IGNORED).nonzero()[0])
                    right.append(bool(guesses[row, place] == one.labels[row, place]))
    assert len(right) == 10
    assert 0 < sum(right) < 10
    module.training_step(passes, 7)
    assert progress.running["direct"] == pytest.approx(0.98 * before + 0.02 * sum(right) / 10)
    assert module.tally.letters == {"direct": right, "letter_of": []}


def test_running_accuracy_starts_again_half_way_after_a_rise(
    school: School, pupil: NewPupil, settings: Settings
) -> None:
    progress = Progress(running={"letter_of": 0.99, "direct": 0.99})
    module = new_training(settings({"direct": 4}), pupil(), progress)
    module.training_step(Lessons(module.cfg, school, pupil(), progress).at(0), 0)
    assert progress.options == {"letter_of": 2, "direct": 3}
    assert progress.running == {"letter_of": 0.99, "direct": 0.5}


def test_every_parameter_has_one_optimiser_and_muon_only_matrices(pupil: NewPupil) -> None:
    model = pupil().model
    matrices, others = split_parameters(model, model)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    assert sorted(map(id, [*matrices, *others])) == sorted(names)
    for parameter in matrices:
        name = names[id(parameter)]
        assert parameter.ndim == 2
        assert any(part in name for part in ("proj", "qkv", "mlp"))
        assert not any(part in name for part in ("embed", "norm", "lm_head"))
    # The head is the table of embeddings, and is in neither list a second time.
    assert model.lm_head.weight is model.model.language_model.embed_tokens.weight
    own = {names[id(parameter)] for parameter in others}
    assert {"model.language_model.embed_tokens.weight", "model.visual.patch_embed.proj.weight"} < own
    assert len(matrices) == 2 * 7 + 5 + 2
