"""The adapters of the two generated worlds on single rows, and the settings of generation on other data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from data_examples import draft, groups, item, load, picture, png, reason, write_jsonl

from thinkgap.errors import ConfigError
from thinkgap.schema import GenerationConfig, ImageFilter

SCENE: dict[str, Any] = {
    "id": "digit_scenes/test/0/000001",
    "image": picture(3),
    "question": "Which digit is red?",
    "choices": ["3", "7"],
    "answer": 1,
    "hint": "",
    "solution": "The red digit is in the upper left. It is a 7. So the answer is 7.",
    "task": "closed choice",
    "grade": "",
    "subject": "which digit",
    "topic": "colour",
    "category": "1 digit",
    "skill": "finding",
    "scene": "upper left red 7",
    "caption": "There is a red 7 in the upper left.",
    "handwriting": "7",
}
FACT: dict[str, Any] = {
    name: SCENE[name] for name in ("question", "solution", "subject", "topic", "scene", "caption")
} | {
    "id": "number_facts/test/0/000001/mcq",
    "form": "mcq",
    "choices": ["3", "7"],
    "answer": 1,
    "answer_text": "7",
    "hint": "There is a red 7 in the upper left.",
    "category": "1 digit",
    "skill": "finding",
    "fact": "number_facts/test/0/000001",
}


def test_a_scene_is_an_item_with_its_picture() -> None:
    made = item("digit_scenes", SCENE)
    assert (made.id, made.answer, made.subject, made.context) == (SCENE["id"], "7", "which digit", "")
    assert [image.load() for image in made.images] == [png(3)]
    assert made.meta["rationale"] == SCENE["solution"]
    assert made.meta["caption"] == SCENE["caption"]
    assert "grade" not in made.meta


def test_a_scene_in_words_has_no_picture() -> None:
    made = item("digit_scenes", SCENE | {"image": None, "hint": SCENE["caption"]})
    assert (made.images, made.context) == ((), SCENE["caption"])


def test_items_about_one_scene_are_one_group_whatever_shows_it() -> None:
    first, second, other = groups(
        "digit_scenes", SCENE, SCENE | {"id": "x", "image": None}, SCENE | {"id": "y", "scene": "upper left red 8"}
    )
    assert first == second != other
    assert draft("number_facts", FACT).group_keys == draft("digit_scenes", SCENE).group_keys


@pytest.mark.parametrize(
    ("form", "changes", "expected"),
    [
        ("mcq", {}, ("mcq", ("3", "7"), 1, "7")),
        ("bool", {"choices": ["Yes", "No"], "answer": 1, "answer_text": "No"}, ("bool", ("Yes", "No"), 1, "No")),
        ("open", {"choices": [], "answer": None}, ("open", (), None, "7")),
    ],
)
def test_forms_of_a_fact(form: str, changes: dict[str, Any], expected: tuple[Any, ...]) -> None:
    made = item("number_facts", FACT | {"form": form} | changes)
    assert (made.answer_space, made.choices, made.gold, made.answer) == expected
    assert made.context == FACT["hint"]


def test_a_fact_of_no_known_form() -> None:
    assert "form 'mqc' is unknown; did you mean 'mcq'" in reason("number_facts", FACT | {"form": "mqc"})


@pytest.mark.parametrize(("name", "row"), [("digit_scenes", SCENE), ("number_facts", FACT)])
@pytest.mark.parametrize("changes", [{"answer": None}, {"answer": 2}, {"question": " "}, {"choices": ["7", "7"]}])
def test_unsound_rows_are_refused(name: str, row: dict[str, Any], changes: dict[str, Any]) -> None:
    assert reason(name, row | changes)


def test_filters_leave_rows_out() -> None:
    generation = GenerationConfig(size=60)
    only = load("digit_scenes", "generated", images=ImageFilter.only, subjects=["sum"], generation=generation)
    assert {found.subject for found in only.items} == {"sum"}
    assert all(found.images for found in only.items)
    assert len(only.items) + sum(only.n_filtered.values()) == 60
    with pytest.raises(ConfigError, match="digit_scenes has no 'sums'; did you mean 'sum'"):
        load("digit_scenes", "generated", subjects=["sums"])


def test_the_record_says_how_items_were_made() -> None:
    source = load("digit_scenes", "generated", seed=2, generation=GenerationConfig(size=6)).source
    assert source["seed"] == 2
    assert source["generation"]["size"] == 6
    assert "generation" not in load("toy_facts", "generated").source


def test_other_data_sets_refuse_settings_of_generation(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"generation\.size is set, and toy_facts has no such setting \(it has: none\)"
    ):
        load("toy_facts", "generated", generation=GenerationConfig(size=5))
    file = write_jsonl(tmp_path / "mine.jsonl", [{"question": "q?", "answer": True}])
    with pytest.raises(ConfigError, match=r"generation\.image_free is set, and .*mine.jsonl is read as it is"):
        load("jsonl", file, generation=GenerationConfig(image_free=0.5))
