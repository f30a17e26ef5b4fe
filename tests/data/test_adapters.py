"""Each adapter on hand-made rows: what a sound row becomes, and which rows are refused."""

from __future__ import annotations

from typing import Any

import pytest
from data_examples import (
    AI2D,
    BOOLQ,
    EXAMPLES,
    GSM8K,
    MATH,
    MMBENCH,
    MMLU,
    MMLU_PRO,
    MMMU,
    SCIENCEQA,
    STRATEGYQA,
    draft,
    groups,
    item,
    one,
    picture,
    png,
    reason,
)

from thinkgap.data import ADAPTERS, Adapter
from thinkgap.data.mmlu import AREAS
from thinkgap.data.mmmu import DISCIPLINES, MMMU_10


def test_every_name_has_its_adapter() -> None:
    assert list(ADAPTERS) == [
        "scienceqa",
        "ai2d",
        "mmmu",
        "mmbench",
        "boolq",
        "strategyqa",
        "mmlu",
        "mmlu_pro",
        "gsm8k",
        "math",
        "jsonl",
        "toy_facts",
        "digit_scenes",
        "number_facts",
    ]
    assert all(isinstance(adapter, Adapter) and adapter.name == name for name, adapter in ADAPTERS.items())


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_sound_and_have_group_keys(name: str) -> None:
    assert item(name, EXAMPLES[name]).group_id
    assert draft(name, EXAMPLES[name]).group_keys


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("value", [None, "", "   ", 7, ["x"]])
def test_a_question_is_never_empty_or_of_another_type(name: str, value: object) -> None:
    column = "problem" if name == "math" else "question"
    assert "question" in reason(name, EXAMPLES[name] | {column: value}) or column in reason(
        name, EXAMPLES[name] | {column: value}
    )


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_answer_is_never_missing(name: str) -> None:
    column = "solution" if name == "math" else "answer"
    assert reason(name, EXAMPLES[name] | {column: None})


@pytest.mark.parametrize(("answer", "gold", "word"), [(True, 0, "Yes"), (False, 1, "No")])
def test_bool_sets_put_true_first(answer: bool, gold: int, word: str) -> None:
    for name, values in (("boolq", BOOLQ), ("strategyqa", STRATEGYQA)):
        made = item(name, values | {"answer": answer})
        assert (made.choices, made.gold, made.answer, made.answer_space) == (("Yes", "No"), gold, word, "bool")


@pytest.mark.parametrize("answer", [1, 0, "true", "yes", None])
def test_bool_answers_are_booleans(answer: object) -> None:
    assert "true or false" in reason("boolq", BOOLQ | {"answer": answer})


def test_boolq_shows_its_passage_and_groups_by_it() -> None:
    made = item("boolq", BOOLQ)
    assert made.context == "Ice is frozen water."
    assert made.group_id == item("boolq", BOOLQ | {"question": "other", "passage": "Ice  is\nfrozen water."}).group_id
    assert made.group_id != item("boolq", BOOLQ | {"passage": "Ice melts."}).group_id


def test_strategyqa_has_no_context_and_its_own_id() -> None:
    made = item("strategyqa", STRATEGYQA | {"facts": "Fish breathe water."})
    assert (made.context, made.id) == ("", "q7")
    without = {name: value for name, value in STRATEGYQA.items() if name != "qid"}
    assert item("strategyqa", without).id == "strategyqa/test/000000"


@pytest.mark.parametrize(
    ("answer", "expected"), [("#### 18", "18"), ("a\n#### -1,234,567 ", "-1234567"), ("#### 1\n#### 2", "2")]
)
def test_gsm8k_answer_follows_the_mark(answer: str, expected: str) -> None:
    made = item("gsm8k", GSM8K | {"answer": answer})
    assert (made.answer, made.choices, made.gold, made.answer_space) == (expected, (), None, "open")


@pytest.mark.parametrize("answer", ["18", "####", "#### ", "# 18"])
def test_gsm8k_without_an_answer(answer: str) -> None:
    assert "answer" in reason("gsm8k", GSM8K | {"answer": answer})


def test_math_keeps_the_solution_and_reads_its_last_box() -> None:
    made = item("math", MATH)
    assert (made.answer, made.subject, made.meta["level"]) == (r"\frac{1}{2}", "Algebra", "Level 1")
    assert made.meta["solution"] == MATH["solution"]
    assert item("math", MATH | {"solution": r"\boxed{1}, no: \fbox{2}"}).answer == "2"


@pytest.mark.parametrize("solution", ["none", r"\boxed{1", r"\boxed{}"])
def test_math_without_a_box(solution: str) -> None:
    assert reason("math", MATH | {"solution": solution})


def test_mmlu_item() -> None:
    made = item("mmlu", MMLU)
    assert (made.gold, made.answer, made.subject, dict(made.meta)) == (2, "c", "anatomy", {"area": "STEM"})
    assert "astronomy" in reason("mmlu", MMLU | {"subject": "astronomi"})
    assert item("mmlu", MMLU | {"subject": ""}).meta == {}


def test_mmlu_areas() -> None:
    sizes = {area: sum(value == area for value in AREAS.values()) for area in AREAS.values()}
    assert sizes == {"STEM": 19, "humanities": 13, "social": 12, "other": 13}
    assert (AREAS["anatomy"], AREAS["business_ethics"]) == ("STEM", "other")


@pytest.mark.parametrize("answer", [-1, 4, 2.0, "2", True])
def test_mmlu_gold_is_an_index_in_range(answer: object) -> None:
    assert "answer" in reason("mmlu", MMLU | {"answer": answer})


def test_mmlu_pro_item() -> None:
    made = item("mmlu_pro", MMLU_PRO)
    assert (made.id, made.gold, made.answer, made.subject, made.meta["source"]) == ("12", 2, "z", "law", "made")


def test_mmlu_pro_refuses_a_letter_and_an_index_that_disagree() -> None:
    assert "letter C and index 1 disagree" in reason("mmlu_pro", MMLU_PRO | {"answer_index": 1})
    assert "out of range" in reason("mmlu_pro", MMLU_PRO | {"answer": "D", "answer_index": 3})
    assert "no option letter" in reason("mmlu_pro", MMLU_PRO | {"answer": "c"})


def test_mmlu_pro_restores_lost_escapes() -> None:
    made = item("mmlu_pro", MMLU_PRO | {"question": "\x07lpha \x08ullet\x00 \x0bert", "options": ["\x08eta", "b", "c"]})
    assert made.question == r"\alpha \bullet  \vert"
    assert made.choices[0] == r"\beta"


def test_mmlu_pro_keeps_tabs_and_line_ends_that_may_have_been_escapes() -> None:
    question = "x \to y, \nu, \rho and \right"
    assert item("mmlu_pro", MMLU_PRO | {"question": question}).question == question


def test_scienceqa_item() -> None:
    made = item("scienceqa", SCIENCEQA | {"image": picture(5), "lecture": "Dogs bark.", "solution": "dog"})
    assert (made.context, made.subject, made.answer) == ("It barks.", "natural science", "dog")
    assert dict(made.meta) == {
        "grade": "grade2",
        "topic": "biology",
        "category": "Animals",
        "skill": "Name animals",
        "task": "closed choice",
    }
    assert [image.load() for image in made.images] == [png(5)]
    assert "Dogs" not in str(made)
    assert "skill" not in item("scienceqa", SCIENCEQA | {"skill": ""}).meta


def test_scienceqa_groups_by_image_and_by_question_with_hint() -> None:
    base = item("scienceqa", SCIENCEQA)
    assert base.group_id == item("scienceqa", SCIENCEQA | {"choices": ["dog", "cat"], "answer": 0}).group_id
    assert base.group_id != item("scienceqa", SCIENCEQA | {"hint": "It purrs."}).group_id
    assert base.group_id != item("scienceqa", SCIENCEQA | {"choices": ["cat", "cow"]}).group_id
    keys = draft("scienceqa", SCIENCEQA | {"image": picture(5)}).group_keys
    other = draft("scienceqa", SCIENCEQA | {"question": "Who?", "image": picture(5)}).group_keys
    assert set(keys) & set(other)


@pytest.mark.parametrize("answer", ["3", 3])
def test_ai2d_answer_is_an_index_as_text(answer: object) -> None:
    assert item("ai2d", AI2D | {"answer": answer}).answer == "bud"


@pytest.mark.parametrize("answer", ["D", "4", "-1", "", "1.0", 4, "²"])
def test_ai2d_other_answers(answer: object) -> None:
    assert "answer" in reason("ai2d", AI2D | {"answer": answer})


@pytest.mark.parametrize(("name", "column"), [("ai2d", "image"), ("mmbench", "image"), ("mmmu", "image_1")])
@pytest.mark.parametrize("value", [None, {"bytes": None, "path": None}, {"bytes": b"", "path": None}])
def test_a_needed_image_is_not_missing(name: str, column: str, value: object) -> None:
    assert "image" in reason(name, EXAMPLES[name] | {column: value})


def test_mmbench_drops_absent_options_and_hints() -> None:
    made = item("mmbench", MMBENCH)
    assert (made.id, made.choices, made.gold, made.context) == ("3000021", ("red", "blue"), 1, "")
    assert item("mmbench", MMBENCH | {"hint": "nan", "D": "nan", "C": ""}).choices == ("red", "blue")
    assert item("mmbench", MMBENCH | {"C": "None"}).choices == ("red", "blue", "None")
    assert item("mmbench", MMBENCH | {"A": None, "C": "pink"}).answer == "blue"


def test_mmbench_groups_circular_copies() -> None:
    rotated = MMBENCH | {"A": "blue", "B": "red", "answer": "A"}
    copies = [rotated | {"index": index, "image": picture(shade)} for shade, index in ((1, 21), (2, "1000021"))]
    other = MMBENCH | {"index": 22, "image": picture(9)}
    same_image = MMBENCH | {"index": 23, "question": "What shape?", "image": picture(9)}
    first, *made = groups("mmbench", MMBENCH, *copies, other, same_image)
    assert made[:2] == [first, first]
    assert made[2] == made[3] != first


@pytest.mark.parametrize("answer", ["D", "E", "nan", "AB"])
def test_mmbench_gold_is_an_option_that_exists(answer: str) -> None:
    assert "answer" in reason("mmbench", MMBENCH | {"answer": answer})


def test_mmmu_item() -> None:
    made = item("mmmu", MMMU)
    assert (made.id, made.subject) == ("validation_Energy_and_Power_7", "Energy_and_Power")
    assert made.choices == ("a pump", "a turbine's blade", "a valve")
    assert (made.gold, made.question, len(made.images)) == (1, "What does <image 1> show?", 1)
    assert made.meta["area"] == "tech_and_engineering"


def test_mmmu_renumbers_images_over_gaps() -> None:
    values = MMMU | {
        "question": "Compare <image 2> with <image 5>.",
        "options": "['<image 2>', '<image 7>', 'neither']",
        "image_1": None,
        "image_2": picture(2),
        "image_5": picture(5),
        "image_7": picture(7),
    }
    made = item("mmmu", values)
    assert made.question == "Compare <image 1> with <image 2>."
    assert made.choices == ("<image 1>", "<image 3>", "neither")
    assert [image.load() for image in made.images] == [png(2), png(5), png(7)]


@pytest.mark.parametrize("text", ["See <image 2>.", "See <image 0>.", "See <image 9>."])
def test_mmmu_text_that_refers_to_a_missing_image(text: str) -> None:
    assert "refers to <image" in reason("mmmu", MMMU | {"question": text})
    assert "refers to <image" in reason("mmmu", MMMU | {"options": repr(["x", text])})


def test_mmmu_filters_open_questions() -> None:
    assert one("mmmu", MMMU | {"question_type": "open", "options": "[]", "answer": "3.5"}) == "open question"


@pytest.mark.parametrize("options", ["a, b", "['a', 3]", "('a', 'b')", "['a', 'b'", "__import__('os')", "[" * 500])
def test_mmmu_options_are_a_python_list_of_texts(options: str) -> None:
    assert "options" in reason("mmmu", MMMU | {"options": options})


@pytest.mark.parametrize("bad", ["validation_Alchemy_1", "Biology", "validation_Biology_x"])
def test_mmmu_id_names_the_subject(bad: str) -> None:
    assert "subject" in reason("mmmu", MMMU | {"id": bad})


def test_mmmu_subjects() -> None:
    assert len(DISCIPLINES) == 30
    assert len(set(MMMU_10)) == 10
    assert {DISCIPLINES[subject] for subject in MMMU_10} == set(DISCIPLINES.values())


_CHOICE_COLUMN = {"mmlu": "choices", "mmlu_pro": "options", "scienceqa": "choices", "ai2d": "options"}


@pytest.mark.parametrize(
    ("choices", "complaint"),
    [
        (["x"], "single option"),
        ([], "no options"),
        (["x", "y", "x "], "A and C are the same"),
        (["a b", "a\n b", "c"], "A and B are the same"),
        (["x", "y", " "], "option C is empty"),
        ([str(number) for number in range(27)], "more than the 26 letters"),
        (["x", None], "not text only"),
        ("xy", "not a list of texts"),
        (None, "missing"),
    ],
)
@pytest.mark.parametrize("name", ["scienceqa", "mmlu"])
def test_unsound_options(name: str, choices: Any, complaint: str) -> None:
    assert complaint in reason(name, EXAMPLES[name] | {_CHOICE_COLUMN[name]: choices, "answer": 0})


def test_twenty_six_options_are_allowed() -> None:
    assert item("mmlu", MMLU | {"choices": [str(number) for number in range(26)], "answer": 25}).answer == "25"


@pytest.mark.parametrize("name", ["scienceqa", "mmbench", "ai2d"])
def test_literal_placeholders_beside_an_image_are_refused(name: str) -> None:
    values = EXAMPLES[name] | {"image": picture(), "question": "What is <image 1>?"}
    assert "literally" in reason(name, values)


def test_literal_placeholders_without_an_image_are_text() -> None:
    assert item("scienceqa", SCIENCEQA | {"question": "What is <image 1>?"}).question == "What is <image 1>?"
    assert item("mmlu", MMLU | {"choices": ["<image 1>", "<image 2>", "c", "d"]}).choices[0] == "<image 1>"
