"""Questions about what a mode's instructions permit: their bytes, which modes get them, and what is to be expected."""

from __future__ import annotations

import pytest

from tests.items import mcq, shown
from tests.test_config import composed
from thinkgap.data.present import identity
from thinkgap.errors import ConfigError
from thinkgap.prompts.assemble import assemble
from thinkgap.prompts.comprehension import comprehension_questions
from thinkgap.prompts.conditions import mode_conditions
from thinkgap.prompts.wordings import WORDINGS, ComprehensionQuestion
from thinkgap.types import Condition, Thinking

MCQ = shown(mcq())
BOOL = identity(mcq("b", choices=("Yes", "No"), gold=0, answer_space="bool"))
OPEN = identity(mcq("o", choices=(), gold=None, answer_space="open", answer="7"))


def modes(*overrides: str) -> list[Condition]:
    return mode_conditions(composed("evaluation=no_thinking", *overrides).mode)


def asked(*overrides: str, wordings: tuple[str, ...] = ("allowed",)) -> dict[str, ComprehensionQuestion]:
    found = comprehension_questions(modes(*overrides), [MCQ, BOOL, OPEN, shown(mcq("other"))], wordings)
    assert len({one.id for one in found}) == len(found)
    return {one.id: one for one in found}


def test_the_question_quotes_what_the_mode_writes_below_an_item() -> None:
    question = asked("mode=strict")["strict/mcq/allowed"]
    assert question.text == (
        "A prompt that asks a question ends with these lines:\n\n---\n"
        "Give the final answer directly without any reasoning.\n"
        "Put only the final option label in boxed{}, e.g. \\boxed{A}.\n---\n\n"
        "May a reply to such a prompt contain any working, reasoning or explanation before the answer? "
        "Reply with the single word yes or no."
    )
    (strict,) = modes("mode=strict")
    quoted = question.text.split("\n---\n")[1]
    assert assemble(MCQ, strict).user.endswith("\n" + quoted), "the very bytes of the mode's own prompt"
    assert assemble(question.presentation, question.condition).user == question.text, "nothing else is shown"


def test_answer_only_modes_are_asked_about_in_every_answer_space() -> None:
    found = asked("mode=paper")
    assert [one.rsplit("/", 1)[0] for one in found] == [
        f"{mode}/{space}" for mode in ("think_off", "soft", "strict", "prefix") for space in ("bool", "mcq", "open")
    ], "think_on and cot ask for more than an answer"
    assert {one.thinking for one in found.values()} == {Thinking.disabled}
    assert "\\boxed{yes}. The answer is \\boxed{\n---" in found["prefix/bool/allowed"].text


def test_what_is_expected_is_what_the_lines_say() -> None:
    """The line for open answers, "Put the final answer in", has no "only"; the modes' own instructions do say it."""
    found = asked("mode=paper", wordings=("allowed", "ruled_out", "permits"))
    expected = {name: one.expected for name, one in found.items()}
    assert {name for name, answer in expected.items() if answer == "" and found[name].closed} == {
        f"{mode}/open/{wording}" for mode in ("think_off", "prefix") for wording in ("allowed", "ruled_out")
    }
    assert expected["strict/open/allowed"] == expected["think_off/mcq/allowed"] == "no"
    assert expected["strict/open/ruled_out"] == expected["soft/bool/ruled_out"] == "yes"
    assert not found["strict/mcq/permits"].closed
    assert expected["strict/mcq/permits"] == ""


def test_the_closed_wordings_have_opposite_answers() -> None:
    assert sorted(one.answer for one in WORDINGS.values() if one.answer) == ["no", "yes"]


def test_a_soft_switch_and_a_left_out_example_are_kept() -> None:
    found = asked("mode=strict", "mode.format_example=false", "mode.conditions.strict.soft_switch=/no_think")
    text = found["strict/open/allowed"].text
    assert text.startswith("/no_think\nA prompt that asks")
    assert "reasoning.\nPut the final answer in boxed{}.\n---" in text


@pytest.mark.parametrize(
    ("wordings", "message"), [(("alowed",), "no wording 'alowed'; did you mean 'allowed'"), (("permits",) * 2, "once")]
)
def test_unknown_wordings_are_refused(wordings: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        asked("mode=strict", wordings=wordings)
