"""Lessons: every reply is true of what is shown, the shares of the mixture are kept, and no question is too long."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import lesson_reader
import pytest
import world_reader as reader
from lesson_reader import asked, marks_shown

from tests.test_config import composed
from thinkgap.demo.batches import School
from thinkgap.demo.lessons import LESSONS, MOST_OPTIONS, Example
from thinkgap.demo.world.draws import Draws
from thinkgap.demo.world.facts import Fact
from thinkgap.schema import DemoMixture

EVEN = DemoMixture(
    words=0.5, cued=0.5, opened=0.5, article=0.5, relettered=0.5, instructed=0.5, without_options=0.5
)  # fmt: skip


def told(
    school: School, lesson: str, mixture: DemoMixture = EVEN, most: int = MOST_OPTIONS
) -> Iterator[tuple[Fact, Example]]:
    """The lesson about each fact."""
    for fact in school.facts:
        example = LESSONS[lesson](fact, Draws("test", lesson, most, fact.number), mixture, most)
        assert example.lesson == lesson
        yield fact, example


def share(values: Iterator[bool]) -> float:
    found = list(values)
    assert len(found) >= 100
    return sum(found) / len(found)


def test_captions_tell_the_whole_picture_in_reading_order(school: School) -> None:
    places = ("upper left", "upper right", "lower left", "lower right")
    for fact, example in told(school, "caption"):
        assert example.scene == fact.question.scene
        assert reader.marks_in_text(example.reply) == marks_shown(example)
        named = re.findall("|".join(places), example.reply)
        assert named == sorted(named, key=places.index)
        assert len(named) == len(marks_shown(example))


def test_statements_are_true_and_different(school: School) -> None:
    kinds: Counter[str] = Counter()
    for _, example in told(school, "statements"):
        shown = asked(example)
        sentences = re.findall(r"[^.]+\.", example.reply.replace(". ", "."))
        assert " ".join(sentences) == example.reply
        assert 2 <= len(sentences) <= 8
        # The two sums may be the same one.
        assert len(set(sentences)) >= len(sentences) - 1
        assert len({one for one in sentences if "sum" not in one}) == len(
            [one for one in sentences if "sum" not in one]
        )
        for sentence in sentences:
            assert lesson_reader.statement_is_true(sentence, shown.marks), (sentence, shown.marks)
            kinds[sentence.split(" ")[1]] += 1
    assert min(kinds[word] for word in ("is", "are", "largest", "sum", "digit", "red", "7")) > 0


def test_statements_stand_in_no_fixed_order(school: School) -> None:
    counts = share(example.reply.startswith("There ") for _, example in told(school, "statements"))
    assert 0.1 < counts < 0.6


def test_matching_inverts_the_printed_list(school: School) -> None:
    sizes: Counter[int] = Counter()
    directions: Counter[bool] = Counter()
    orders: Counter[bool] = Counter()
    for _, example in told(school, "matching"):
        assert example.scene is None
        letters = [letter for letter, _ in lesson_reader.matched(example)]
        sizes[len(letters)] += 1
        directions["letters of" in example.user] += 1
        orders[letters == [line[0] for line in example.user.split("\n")[1:]]] += 1
    assert set(sizes) == {2, 3, 4, 5}
    assert min(counts[which] for counts in (directions, orders) for which in (True, False)) > 50


@pytest.mark.parametrize("most", [2, 3, 4, 5])
def test_lists_of_options_are_no_longer_than_asked(school: School, most: int) -> None:
    for lesson in ("matching", "letter_of"):
        assert {example.user.count("\n") for _, example in told(school, lesson, most=most)} == set(range(2, most + 1))


def test_the_letter_of_a_named_option(school: School) -> None:
    slots: Counter[int] = Counter()
    for _, example in told(school, "letter_of"):
        assert example.scene is None
        question, *lines = example.user.split("\n")
        printed = dict(line.split(". ", 1) for line in lines)
        assert question == f"Which letter is {printed[example.reply]}?"
        assert list(printed.values()).count(printed[example.reply]) == 1
        slots[list(printed).index(example.reply)] += 1
    assert set(slots) == set(range(5))


@pytest.mark.parametrize("most", [2, 3, 4, 5])
def test_direct_letters_name_the_right_option(school: School, most: int) -> None:
    for fact, example in told(school, "direct", most=most):
        shown = asked(example)
        assert shown.question == fact.question.text
        assert len(shown.options) == min(len(fact.choices), most)
        assert set(shown.options.values()) <= set(fact.choices)
        assert shown.options[example.reply] == reader.answer(shown.question, shown.marks), example


@pytest.mark.parametrize("most", [2, 3, 5])
def test_choices_have_one_right_option_anywhere_and_wrong_ones_of_all_kinds(school: School, most: int) -> None:
    slots: Counter[int] = Counter()
    shown_wrong: Counter[bool] = Counter()
    for fact, example in told(school, "choice", most=most):
        shown = asked(example)
        assert shown.question == fact.question.text
        assert len(shown.options) == min(len(fact.choices), most)
        assert shown.options[example.reply] == reader.answer(shown.question, shown.marks), example
        wrong = [content for letter, content in shown.options.items() if letter != example.reply]
        assert set(wrong) <= set(fact.question.wrong)
        if len(shown.options) == most:
            slots[list(shown.options).index(example.reply)] += 1
        if fact.kind == "which colour":
            shown_wrong.update(any(colour == content for _, colour, _ in shown.marks) for content in wrong)
    assert set(slots) == set(range(most))
    assert min(slots.values()) > sum(slots.values()) / most / 2
    # `direct` shows colours of the picture first; here most wrong ones are not in it.
    assert shown_wrong[False] > shown_wrong[True] > 0


def test_fewer_options_leave_the_right_one_in_any_place(school: School) -> None:
    places = Counter(
        list(asked(example).options).index(example.reply)
        for fact, example in told(school, "direct", most=3)
        if len(fact.choices) > 3
    )
    assert set(places) == {0, 1, 2}
    assert min(places.values()) > sum(places.values()) / 5


def test_short_answers_are_right(school: School) -> None:
    for _, example in told(school, "short_answer"):
        shown = asked(example)
        assert not shown.options
        assert example.reply == reader.answer(shown.question, shown.marks)


@pytest.mark.parametrize("most", [2, 4, 5])
def test_rationales_are_true_and_end_in_the_right_answer(school: School, most: int) -> None:
    for _, example in told(school, "rationale", most=most):
        shown = asked(example)
        assert len(shown.options) <= most
        opening, answer = lesson_reader.rationale_answer(example.reply, shown.marks)
        assert bool(shown.options) == bool(re.fullmatch("[A-E]", answer))
        assert shown.content(answer) == reader.answer(shown.question, shown.marks), example
        assert shown.last in (*lesson_reader.TRIGGERS, "Explain, then answer.")
        assert not (opening and shown.last != "Explain, then answer.")


@pytest.mark.parametrize("lesson", ["statements", "short_answer", "direct", "choice", "rationale"])
def test_the_share_of_words(school: School, lesson: str) -> None:
    in_words = {
        value: share(example.scene is None for _, example in told(school, lesson, replace(EVEN, words=value)))
        for value in (0.0, 0.25, 1.0)
    }
    assert in_words == {0.0: 0.0, 0.25: pytest.approx(0.25, abs=0.08), 1.0: 1.0}


def test_a_scene_in_words_is_told_in_any_order(school: School) -> None:
    examples = [
        (fact, example) for fact, example in told(school, "short_answer", replace(EVEN, words=1.0))
        if len(fact.question.scene.marks) > 2
    ]  # fmt: skip
    in_order = share(example.user.split("\n")[0] == fact.question.scene.told() for fact, example in examples)
    assert 0.02 < in_order < 0.35


def test_cues_ask_for_rationales_or_open_them(school: School) -> None:
    def ends_and_openings(**shares: float) -> tuple[set[str], set[str]]:
        found = [
            (asked(example).last, lesson_reader.rationale_answer(example.reply, asked(example).marks)[0])
            for _, example in told(school, "rationale", replace(EVEN, **shares))
        ]
        return {end for end, _ in found}, {opening for _, opening in found}

    cues, explain = set(lesson_reader.TRIGGERS), {"Explain, then answer."}
    assert ends_and_openings(cued=1.0, opened=1.0) == (cues, {""})
    assert ends_and_openings(cued=0.0, opened=0.0) == (explain, {""})
    assert ends_and_openings(cued=0.0, opened=1.0) == (explain, cues)


def test_the_cues_are_the_triggers_that_evaluations_use() -> None:
    conditions = composed("trigger=paper").trigger.conditions
    assert {one.text for one in conditions.values() if one.text} == set(lesson_reader.TRIGGERS)


def test_the_article_opens_rationales_of_look_ups_only_where_asked(school: School) -> None:
    for _, example in told(school, "rationale", replace(EVEN, article=0.0)):
        opening, _ = lesson_reader.rationale_answer(example.reply, asked(example).marks)
        assert not re.match(r"A\b", example.reply.removeprefix(opening).strip())
    opened: Counter[bool] = Counter()
    for fact, example in told(school, "rationale", replace(EVEN, article=1.0, cued=1.0)):
        assert "A 8" not in example.reply
        finding = fact.kind in ("which digit", "which colour", "where")
        assert example.reply.startswith("A ") == (finding and not fact.rationale("").startswith("The 8"))
        opened[example.reply.startswith("A ")] += 1
    assert min(opened[True], opened[False]) > 100


def test_instructions_letters_and_options_keep_their_shares(school: School) -> None:
    def direct(**shares: float) -> list[lesson_reader.Asked]:
        return [asked(example) for _, example in told(school, "direct", replace(EVEN, **shares))]

    assert {one.last for one in direct(instructed=0.0)} == {""}
    assert {one.last for one in direct(instructed=1.0)} == {"Answer with the letter."}
    for lesson in ("direct", "rationale"):
        for value, fewest, most in ((0.0, 0.0, 0.0), (1.0, 0.5, 0.95)):
            mixture = replace(EVEN, relettered=value, without_options=0.0)
            letters = [list(asked(example).options) for _, example in told(school, lesson, mixture)]
            assert fewest <= share(iter([one != sorted(one) for one in letters])) <= most
    for value in (0.0, 1.0):
        mixture = replace(EVEN, without_options=value)
        assert {bool(asked(example).options) for _, example in told(school, "rationale", mixture)} == {value == 0}


def test_matching_keeps_letters_in_order_unless_told_otherwise(school: School) -> None:
    def printed(example: Example) -> list[str]:
        return [line[0] for line in example.user.split("\n")[1:]]

    for value, any_order in ((0.0, False), (1.0, True)):
        lists = [printed(example) for _, example in told(school, "matching", replace(EVEN, relettered=value))]
        assert any(one != sorted(one) for one in lists) == any_order


def test_a_lesson_depends_on_its_draws_only(school: School) -> None:
    for lesson in LESSONS:
        assert list(told(school, lesson)) == list(told(school, lesson))
