"""A user's own file: the schema, and every ambiguity that is refused."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from data_examples import item, load, one, png, reason, write_jsonl

from thinkgap.data.rows import BadRow
from thinkgap.errors import DataError
from thinkgap.types import Item


@pytest.mark.parametrize(
    ("choices", "answer", "gold"),
    [
        (["red", "blue"], 1, 1),
        (["red", "blue"], "B", 1),
        (["red", "blue"], "blue", 1),
        (["red", "two  words"], " two words", 1),
        (["1", "2", "3"], "1", 0),
        (["1", "2", "3"], 1, 1),
        (["A", "B"], "B", 1),
        (["yes", "no"], "no", 1),
        (["b", "a"], "a", 1),
    ],
)
def test_answers_of_mcq_items(choices: list[str], answer: object, gold: int) -> None:
    made = item("jsonl", {"question": "Which?", "choices": choices, "answer": answer})
    assert (made.gold, made.answer_space) == (gold, "mcq")
    assert made.answer == choices[gold].strip()


@pytest.mark.parametrize(
    ("choices", "answer", "complaint"),
    [
        (["B", "A"], "A", "by letter or text"),
        (["red", "blue"], "C", "neither a letter nor the text"),
        (["red", "blue"], "b", "neither a letter nor the text"),
        (["red", "blue"], "1", "an index is a number"),
        (["red", "blue"], 2, "out of range"),
        (["red", "blue"], -1, "out of range"),
        (["red", "blue"], True, "bool"),
        (["red", "blue"], 1.0, "float"),
        (["red", "blue"], None, "missing"),
        (["red"], 0, "single option"),
        ([], "A", "no options"),
        (["red", "red "], 0, "the same"),
        ([1, 2], 0, "not text only"),
    ],
)
def test_refused_answers(choices: list[object], answer: object, complaint: str) -> None:
    assert complaint in reason("jsonl", {"question": "Which?", "choices": choices, "answer": answer})


@pytest.mark.parametrize(
    ("answer", "gold"), [(True, 0), (False, 1), ("yes", 0), ("No", 1), ("TRUE", 0), (" false ", 1)]
)
def test_bool_items(answer: object, gold: int) -> None:
    made = item("jsonl", {"question": "Is it?", "answer": answer})
    assert (made.choices, made.gold, made.answer_space) == (("Yes", "No"), gold, "bool")


@pytest.mark.parametrize(("answer", "text"), [("24", "24"), (24, "24"), (2.5, "2.5"), (" Paris ", "Paris")])
def test_open_items(answer: object, text: str) -> None:
    made = item("jsonl", {"question": "How many?", "answer": answer})
    assert (made.choices, made.gold, made.answer, made.answer_space) == ((), None, text, "open")


def test_answer_space_overrides_the_inference() -> None:
    assert item("jsonl", {"question": "q", "answer": "yes", "answer_space": "open"}).answer_space == "open"
    assert "none of true" in reason("jsonl", {"question": "q", "answer": "maybe", "answer_space": "bool"})
    assert "no 'choices'" in reason(
        "jsonl", {"question": "q", "answer": "yes", "answer_space": "bool", "choices": ["yes", "no"]}
    )
    assert "no options" in reason("jsonl", {"question": "q", "answer": "A", "answer_space": "mcq"})
    assert "did you mean 'mcq'" in reason("jsonl", {"question": "q", "answer": "A", "answer_space": "mcqs"})
    assert "answer" in reason("jsonl", {"question": "q", "answer": " "})


def test_all_fields() -> None:
    values = {
        "id": 5,
        "question": "Which?",
        "choices": ["a", "b"],
        "answer": "A",
        "context": "See.",
        "subject": "s",
        "meta": {"level": 3},
        "source": "book",
        "year": 1999,
    }
    made = item("jsonl", values)
    assert (made.id, made.context, made.subject) == ("5", "See.", "s")
    assert dict(made.meta) == {"source": "book", "year": "1999", "level": "3"}
    assert "meta" in reason("jsonl", values | {"meta": ["level"]})
    assert "id" in reason("jsonl", values | {"id": 1.5})


def test_images_are_files_or_data_uris(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "one.png").write_bytes(png(1))
    uri = "data:image/png;base64," + base64.b64encode(png(2)).decode()
    values = {"question": "Compare <image 1> and <image 2>.", "answer": True, "images": ["pictures/one.png", uri]}
    made = item("jsonl", values, tmp_path)
    assert [image.load() for image in made.images] == [png(1), png(2)]
    single = item("jsonl", {"question": "Is it?", "answer": True, "image": "pictures/one.png"}, tmp_path)
    assert single.images == made.images[:1]


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"image": "nowhere.png"}, "cannot be read"),
        ({"image": "https://example.org/a.png"}, "is an address"),
        ({"image": "data:text/plain;base64,AAAA"}, "URI"),
        ({"image": "data:image/png;base64,???"}, "base64"),
        ({"image": 5}, "path of a file"),
        ({"image": ""}, "path of a file"),
        ({"images": "a.png"}, "path of a file"),
        ({"image": "a.png", "images": ["a.png"]}, "both"),
        ({"question": "See <image 1>."}, "refers to <image 1>"),
    ],
)
def test_refused_images(tmp_path: Path, fields: dict[str, object], complaint: str) -> None:
    assert complaint in reason("jsonl", {"question": "Is it?", "answer": True} | fields, tmp_path)


def test_a_group_of_the_users_own_stands_alone() -> None:
    first: dict[str, object] = {"question": "q1", "answer": "1", "context": "c"}
    same_context: dict[str, object] = {"question": "q2", "answer": "2", "context": "c"}
    assert _group(first) == _group(same_context)
    assert _group(first | {"group_id": "x"}) != _group(same_context | {"group_id": "y"})
    assert _group(first | {"group_id": 7}) == _group({"question": "q3", "answer": "3", "group_id": "7"})


def _group(values: dict[str, object]) -> str:
    made = one("jsonl", values)
    assert isinstance(made, Item)
    return made.group_id


def test_broken_lines_are_bad_rows_with_their_numbers(tmp_path: Path) -> None:
    good = {"question": "Is it?", "answer": True}
    file = write_jsonl(
        tmp_path / "mine.jsonl",
        [
            good,
            "",
            '{"question": "x", ',
            "[1, 2]",
            '{"question": "a", "question": "b", "answer": true}',
            "[" * 9_000,
            good,
        ],
    )
    loaded = load("jsonl", file, max_bad=0.9)
    assert [made.id for made in loaded.items] == ["jsonl/test/000000", "jsonl/test/000005"]
    assert loaded.n_rows == 6
    assert [bad.id for bad in loaded.bad] == [f"jsonl/test/{number:06d}" for number in (1, 2, 3, 4)]
    assert "line 3 is not JSON" in loaded.bad[0].reason
    assert "line 4 is a JSON list" in loaded.bad[1].reason
    assert "'question' stands twice" in loaded.bad[2].reason
    assert "line 6" in loaded.bad[3].reason


def test_a_line_that_is_not_utf8(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_bytes(b'\xef\xbb\xbf{"question": "q", "answer": "caf\xc3\xa9"}\r\n{"question": "\xff", "answer": "x"}')
    loaded = load("jsonl", file, max_bad=0.5)
    assert loaded.items[0].answer == "café"
    assert loaded.bad[0].reason.startswith("line 2 is not UTF-8")


def test_duplicate_ids(tmp_path: Path) -> None:
    rows = [{"id": "a", "question": f"q{number}", "answer": "x"} for number in range(2)]
    loaded = load("jsonl", write_jsonl(tmp_path / "f.jsonl", rows), max_bad=0.5)
    assert loaded.bad == (BadRow("a", "row 1 has the id of row 0"),)
    assert [made.question for made in loaded.items] == ["q0"]


def test_notes_on_unused_keys_and_on_numbers_that_are_also_texts(tmp_path: Path) -> None:
    rows = [
        {"question": "q", "choises": ["a", "b"], "answer": "x"},
        {"question": "r", "choices": ["1", "2", "3"], "answer": 1},
        {"question": "s", "choices": ["1", "2", "3"], "answer": 2},
    ]
    notes = " ".join(load("jsonl", write_jsonl(tmp_path / "f.jsonl", rows)).notes)
    assert "1 row(s): key 'choises' holds a list and is not used; did you mean 'choices'" in notes
    assert "2 row(s): 'answer' is a number that is also another option's text" in notes


def test_a_misspelt_required_key_is_an_error_for_the_file(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "f.jsonl", [{"quesiton": "q", "answer": "x"}])
    with pytest.raises(DataError, match=r"no column 'question'.*did you mean 'quesiton'"):
        load("jsonl", file)


def test_an_empty_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no items left of 0 rows"):
        load("jsonl", write_jsonl(tmp_path / "f.jsonl", []))
