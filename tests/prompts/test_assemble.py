"""The studies' prompts, byte for byte (method: prompt assembly of the inertia study, protocol of the prefix study)."""

from __future__ import annotations

import pytest

from tests.items import mcq, shown
from thinkgap.prompts.assemble import Turns, assemble, split_at_images
from thinkgap.types import Condition, Item, Placement, Request


def trigger(text: str = "", placement: Placement = Placement.user) -> Condition:
    return Condition("t", "trigger", Request.rationale, text=text, placement=placement)


def mode(**fields: object) -> Condition:
    return Condition("m", "mode", Request.answer_only, **fields)  # pyright: ignore[reportArgumentType]


CHOICES = "A. twelve\nB. seventeen and a half\nC. three"


def test_prefix_study_shows_hint_question_and_lettered_choices_and_ends_there() -> None:
    item = mcq(context="Look closely.")
    assert assemble(shown(item), trigger()) == Turns(f"Look closely.\nWhich number is the largest?\n{CHOICES}")
    assert assemble(shown(mcq()), trigger()) == Turns(f"Which number is the largest?\n{CHOICES}")


def test_trigger_placement_decides_which_turn_it_is_in() -> None:
    base = f"Which number is the largest?\n{CHOICES}"
    text = "Let me think step by step."
    assert assemble(shown(mcq()), trigger(text)) == Turns(f"{base}\n{text}")
    assert assemble(shown(mcq()), trigger(text, Placement.prompt_end)) == Turns(f"{base}\n{text}")
    assert assemble(shown(mcq()), trigger(text, Placement.assistant)) == Turns(base, text)


def test_instruction_stands_between_choices_and_trigger() -> None:
    turns = assemble(shown(mcq()), trigger("Reasoning:"), "Answer with the letter.")
    assert turns.user.endswith("C. three\nAnswer with the letter.\nReasoning:")


def test_permuted_contents_keep_the_letters_in_place() -> None:
    assert assemble(shown(mcq(), (2, 0, 1)), trigger()).user.endswith("A. three\nB. twelve\nC. seventeen and a half")


def test_inertia_study_multiple_choice() -> None:
    item = mcq(context="A passage.")
    expected = (
        "Context: A passage.\nQuestion: Which number is the largest?\nOptions:\n"
        f"{CHOICES}\nThink step by step.\n"
        r"Put only the final option label in boxed{}, e.g. \boxed{A}."
    )
    assert assemble(shown(item), mode(text="Think step by step.")).user == expected


def test_inertia_study_example_is_the_first_label() -> None:
    numbered = shown(mcq(), labels=("1", "2", "3"))
    assert assemble(numbered, mode()).user.endswith(r"e.g. \boxed{1}.")


def test_inertia_study_boolean_and_open() -> None:
    yes_no = Item("b", "b", "is it so", ("Yes", "No"), 0, "bool", "test")
    assert assemble(shown(yes_no, labels=("Yes", "No")), mode()).user == (
        "Question: is it so\n" r"Put only the final yes/no answer in boxed{}, e.g. \boxed{yes}."
    )
    number = Item("o", "o", "How many?", (), None, "open", "test", answer="8")
    assert assemble(shown(number), mode()).user == (
        "Question: How many?\n" r"Put the final answer in boxed{}, e.g. \boxed{72}."
    )


def test_forced_prefix_is_inside_the_user_message_and_its_variant_opens_the_assistant_turn() -> None:
    forced = assemble(shown(mcq()), mode(user_suffix=r" The answer is \boxed{"))
    assert forced.user.endswith(r"e.g. \boxed{A}. The answer is \boxed{")
    assert forced.prefill == ""
    assert assemble(shown(mcq()), mode(prefill=r"The answer is \boxed{")).prefill == r"The answer is \boxed{"


def test_soft_switch_comes_first_and_the_example_can_be_dropped() -> None:
    turns = assemble(shown(mcq()), mode(soft_switch="/no_think", format_example=False))
    assert turns.user.startswith("/no_think\nQuestion:")
    assert turns.user.endswith("Put only the final option label in boxed{}.")


@pytest.mark.parametrize(
    ("text", "n", "expected"),
    [
        ("Look <image 2> then <image 1>.", 2, ["Look ", 1, " then ", 0, "."]),
        ("No mark.", 2, [0, 1, "No mark."]),
        ("Only <image 2>", 2, [0, "Only ", 1]),
        ("<image 1><image 1> twice", 1, [0, 0, " twice"]),
        ("A mark <image 1> without images", 0, ["A mark <image 1> without images"]),
        ("Out of range <image 7> stays", 1, [0, "Out of range <image 7> stays"]),
    ],
)
def test_images_are_split_out_in_reading_order(text: str, n: int, expected: list[object]) -> None:
    assert split_at_images(text, n) == expected


def test_options_that_are_images_move_with_their_content() -> None:
    """Trap 40: a permuted option that is a picture must take its picture along."""
    item = mcq(choices=("<image 1>", "<image 2>", "neither"))
    user = assemble(shown(item, (1, 2, 0)), trigger()).user
    assert [piece for piece in split_at_images(user, 2) if isinstance(piece, int)] == [1, 0]
    assert user.endswith("A. <image 2>\nB. neither\nC. <image 1>")


def test_an_empty_question_gets_no_line() -> None:
    """What `options_only` shows: the options, and nothing where question and context stood."""
    item = mcq(question="")
    assert assemble(shown(item), trigger("Reasoning:")).user == f"{CHOICES}\nReasoning:"
    assert assemble(shown(item), trigger()).user == CHOICES
    assert assemble(shown(item), mode(soft_switch="/think")).user.startswith(f"/think\nOptions:\n{CHOICES}\nPut only")
