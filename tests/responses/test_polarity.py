"""Yes/no answers: whole words in boxes, after anchors, and as whole replies."""

from __future__ import annotations

import pytest

from thinkgap.responses import extract


@pytest.mark.parametrize(
    ("content", "answer", "rule"),
    [
        (r"\boxed{Yes}", "yes", "box"),
        (r"\boxed{NO}", "no", "box"),
        (r"\boxed{\text{True}}", "yes", "box"),
        (r"\boxed{1}", "yes", "box"),
        (r"\boxed{0}", "no", "box"),
        (r"\boxed{Yes, it floats}", "yes", "box"),
        (r"\boxed{No, it is not}", "no", "box"),
        (r"\boxed{the answer is no}", "no", "box"),
        (r"\boxed yes", None, ""),
        (r"\boxed{unknown}", None, ""),
        (r"\boxed{none}", None, ""),
        (r"\boxed{not}", None, ""),
        (r"\boxed{not yes}", None, ""),
        (r"\boxed{isn't true}", None, ""),
        (r"\boxed{yes or no}", None, ""),
        (r"\boxed{yes/no}", None, ""),
        (r"\boxed{true, so not false}", None, ""),
        (r"\boxed{no-one}", None, ""),
        (r"\boxed{a flat-no}", None, ""),
        (r"\boxed{10}", None, ""),
        (r"\boxed{1 of 2}", None, ""),
        (r"\boxed{yes} \boxed{no}", "no", "box"),
        ("The answer is yes.", "yes", "statement"),
        ("The answer is Yes .", "yes", "statement"),
        ("The answer is **no**.", "no", "statement"),
        ("Answer: TRUE", "yes", "statement"),
        ("Answer: 0", "no", "statement"),
        ("Answer: 1\nIt floats.", "yes", "statement"),
        ("Answer: No, because it sinks.", "no", "statement"),
        ("The answer is yes and I am sure.", "yes", "statement"),
        ("The answer is no. The answer is yes.", "yes", "statement"),
        ("The answer is no, true?", None, ""),
        ("Answer: 1 of 2", None, ""),
        ("Answer: 0.5", None, ""),
        ("The answer is no different.", None, ""),
        ("The answer is not yes.", None, ""),
        ("The answer is neither yes nor no.", None, ""),
        ("The answer is yes or no.", None, ""),
        ("The answer is yes/no.", None, ""),
        ("The answer is no-one.", None, ""),
        ("The answer is unknown.", None, ""),
        ("The answer is nothing.", None, ""),
        ("If the answer is yes, it floats.", None, ""),
        ("yes", "yes", "whole"),
        ("Yes.", "yes", "whole"),
        ("**False**", "no", "whole"),
        ("1", "yes", "whole"),
        ("0.", "no", "whole"),
        ("Yes, it floats.", None, ""),
        ("No idea", None, ""),
        ("№ 5", None, ""),
        ("Nothing", None, ""),
        ("yes no", None, ""),
        ("I do not know", None, ""),
    ],
)
def test_polarities(content: str, answer: str | None, rule: str) -> None:
    read = extract(content, "bool")
    assert (read.answer, read.rule, read.slot) == (answer, rule, None)


@pytest.mark.parametrize(("labels", "slot"), [(("Yes", "No"), 1), (("No", "Yes"), 0), (("A", "B"), None), ((), None)])
def test_the_slot_follows_how_yes_and_no_were_shown(labels: tuple[str, ...], slot: int | None) -> None:
    read = extract(r"\boxed{no}", "bool", labels=labels)
    assert (read.answer, read.slot) == ("no", slot)


def test_a_forced_prefix_is_completed() -> None:
    assert extract("no}", "bool", mode="prefix").answer == "no"
    assert extract("no}", "bool", mode="strict").answer is None
