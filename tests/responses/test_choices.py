"""Multiple choice: which label or option a reply gives, and which replies give none."""

from __future__ import annotations

import pytest

from thinkgap.errors import ConfigError
from thinkgap.responses import extract

ABCD = ("A", "B", "C", "D")
ABCDEFGHIJ = tuple("ABCDEFGHIJ")
SCIENCE = ("respiration", "photosynthesis", "digestion", "osmosis")
COLOURS = ("red", "red and blue", "blue", "green")
NUMBERS = ("7", "75", "7.5", "-7")
ANIMALS = ("fish", "a mammal", "bird", "A red digit")


@pytest.mark.parametrize(
    ("content", "label"),
    [
        (r"\boxed{C}", "C"),
        (r"\fbox{C}", "C"),
        (r"\boxed C", "C"),
        (r"\boxed{c}", "C"),
        (r"\boxed{\textbf{C}}", "C"),
        (r"\boxed{\mathrm{(C)}}", "C"),
        (r"\boxed{\text{C. }}", "C"),
        (r"\boxed{(C)}.", "C"),
        (r"\boxed{C)}", "C"),
        (r"\boxed{C.}", "C"),
        (r"\boxed{**C**}", "C"),
        (r"\boxed{$C$}", "C"),
        (r"\boxed{C: loss of turgor pressure}", "C"),
        (r"\boxed{C. loss of vitamin A}", "C"),
        (r"\boxed{C) loss}", "C"),
        (r"\boxed{(C) loss}", "C"),
        (r"\boxed{C (the third one)}", "C"),
        (r"\boxed{\text{C: vitamin D}}", "C"),
        (r"\fbox{ \text{ D } }", "D"),
        (r"\boxed{\boxed{B}}", "B"),
        (r"\boxed{A} or rather \boxed{B}", "B"),
        (r"\boxed{B} \boxed{}", "B"),
        (r"\boxed{A or B}", None),
        (r"\boxed{A, B}", None),
        (r"\boxed{A and C}", None),
        (r"\boxed{AB}", None),
        (r"\boxed{A/B}", None),
        (r"\boxed{A. B}", None),
        (r"\boxed{A: or B}", None),
        (r"\boxed{A: red, B: blue}", None),
        (r"\boxed{E}", None),
        (r"\boxed{12}", None),
        (r"\boxed{a mammal}", None),
        (r"\boxed{A mammal}", None),
        (r"\boxed{}", None),
        (r"\boxed{ {} }", None),
        (r"\boxed{\boxed{}}", None),
        (r"\boxed{B", None),
        (r"\boxed{A} then \boxed{B", None),
        (r"\boxed{A} then \boxed", None),
        (r"The answer is B. \boxed{A", None),
        (r"The answer is B. \boxed{12}", None),
        ("boxed{B}", None),
    ],
)
def test_boxes(content: str, label: str | None) -> None:
    read = extract(content, "mcq", labels=ABCD)
    assert read.answer == label
    assert read.rule == ("box" if label else "")


@pytest.mark.parametrize(
    ("content", "label"),
    [
        ("The answer is B.", "B"),
        ("The answer is B", "B"),
        ("The answer is B .", "B"),
        ("Let me think step by step . The 8 is red . So the answer is B .", "B"),
        ("Let me think step by step. The 8 is red. So the answer is B.", "B"),
        ("the answer is **B**", "B"),
        ("The answer is **B** red digit", "B"),
        ("The answer is (B) red digit", "B"),
        ("The answer is (B).", "B"),
        ("The answer is [B]", "B"),
        ("The answer is $B$.", "B"),
        (r"The answer is $\text{B}$.", "B"),
        (r"\text{The answer is B}", "B"),
        (r"The answer is \textbf{B}.", "B"),
        (r"The answer is \(B\).", "B"),
        ('The answer is "B".', "B"),
        ("The answer is `B`.", "B"),
        ("The answer is: B", "B"),
        ("The answer is:\n\n**B**", "B"),
        ("**Answer:** B", "B"),
        ("**Answer**: B", "B"),
        ("**Answer: B**", "B"),
        ("__Final answer__ = B", "B"),
        ("ANSWER: $B$", "B"),
        ("ANSWER: c", "C"),
        ("ANSWER: (c)", "C"),
        ("Answer: b\nbecause it floats", "B"),
        ("Answer : B", "B"),
        ('{"answer": "B"}', "B"),
        ("<answer>The answer is B</answer>", "B"),
        ("Final Answer: B) red", "B"),
        ("The final answer is B, since ice floats.", "B"),
        ("The correct answer is B because ice floats.", "B"),
        ("The correct option is B.", "B"),
        ("Correct option: B", "B"),
        ("The correct answer is option B.", "B"),
        ("The correct choice is the letter B.", "B"),
        ("My choice = B", "B"),
        ("The best answer choice is B.", "B"),
        ("The answer to the question is B.", "B"),
        ("The answer is therefore B.", "B"),
        ("The answer is most likely B.", "B"),
        ("The answer is B - ice floats", "B"),
        ("The answer is B — ice floats", "B"),
        ("The answer is B—ice floats", "B"),
        ("The answer is B (ice floats).", "B"),
        ("The answer is B: ice floats", "B"),
        ("The answer is B. Note that D is a trap.", "B"),
        ("The answer is B, not D.", "B"),
        ("The answer is B and D is wrong.", "B"),
        ("The answer is B, C is wrong.", "B"),
        ("The answer is A because it is.", "A"),
        ("The answer is A, as shown.", "A"),
        ("The answer is A!", "A"),
        ("Answer: A\n\nExplanation: B is wrong.", "A"),
        ("D looks tempting, but the answer is A.", "A"),
        ("It is not B; the answer is D.", "D"),
        ("If so, the answer is D.", "D"),
        ("I am not sure, but the answer is D.", "D"),
        ("Not C. The answer is D.", "D"),
        ("The answer is A. Wait, no. The answer is C.", "C"),
        ("The answer is C. I know the answer is right.", "C"),
        ("The answer is C. Is the answer a mammal? Yes.", "C"),
        ("The answer is C. If the answer is B, ice would sink.", "C"),
        ("The answer is C. I do not think the answer is B.", "C"),
        ("The answer is C. I don't believe that the answer is B.", "C"),
        ("The answer is C. It is not true that the correct answer is B.", "C"),
        ("The answer is C. The wrong answer is B.", "C"),
        ("The answer is C. A tempting answer is B.", "C"),
        ("The answer is C. We can rule out that the answer is B.", "C"),
        ("The answer is C. The answer isn't B.", "C"),
        ("The answer is C. The answer is not B.", "C"),
        ("The answer is C. Could the answer be B? The answer is B?", "C"),
        ("The answer is C. Except if the answer is B, ice sinks.", "C"),
        ("Answer: The correct option is B", "B"),
        ("The answer is A mammal.", None),
        ("The answer is A red digit.", None),
        ("The answer is a mammal.", None),
        ("The answer is a.", "A"),
        ("The answer is a. That is it.", None),
        ("The answer is I think B", None),
        ("The answer is seems", None),
        ("The answer seems D", None),
        ("Answer seems D", None),
        ("The answer is Don't know", None),
        ("The answer is None of the above.", None),
        ("The answer is AB.", None),
        ("The answer is A-flat.", None),
        ("The answer is B's neighbour.", None),
        ("The answer is E.", None),
        ("The answer is not B.", None),
        ("The answer isn't B.", None),
        ("The answer is all except B.", None),
        ("The answer cannot be B.", None),
        ("The answer is not A, it is B.", None),
        ("The answer is B?", None),
        ("The answer is A: B", None),
        ("The answer is A. B", None),
        ("The answer is B。", "B"),
        ("The answer is B ✅", "B"),
        ("The answer is B<|end|>", "B"),
        ("The answer is B.Because", None),
        ("If the answer is B, ice would sink.", None),
        ("I do not think the answer is B.", None),
        ("Your answer is B", None),
        ("The incorrect answer is B.", None),
        ("The answer is A or B.", None),
        ("The answer is A and B.", None),
        ("The answer is A, B.", None),
        ("The answer is A/B.", None),
        ("The answer is A, B, and C.", None),
        ("The answer is **A** or **B**.", None),
        ("The answer is either A or B.", None),
        ("The answer is both A and C.", None),
        ("The answer is either B.", None),
        ("The answer is C. Sorry, the answer is A or B.", None),
        ("An answer B is likely", None),
        ("Multiple choice: A", None),
    ],
)
def test_statements(content: str, label: str | None) -> None:
    read = extract(content, "mcq", labels=ABCD)
    assert read.answer == label
    assert read.rule == ("statement" if label else "")
    if label:
        assert read.span is not None
        assert read.text[slice(*read.span)].upper() == label
        assert read.slot == ABCD.index(label)


@pytest.mark.parametrize(
    ("content", "label"),
    [
        ("B", "B"),
        ("b", "B"),
        ("B.", "B"),
        ("(B)", "B"),
        ("B)", "B"),
        ("[B]", "B"),
        ("**B**", "B"),
        ("**(B)**.", "B"),
        ("### B", "B"),
        ("> B", "B"),
        ("- B", "B"),
        ("```\nB\n```", "B"),
        ("$B$", "B"),
        (r"\[ B \]", "B"),
        (r"\text{B}", "B"),
        (" \u200bＢ ", "B"),
        ("<think>A or C?</think>B", "B"),
        ("{B}", "B"),
        ("B}", None),
        ("B?", None),
        ("A mammal nurses its young.", None),
        ("A", "A"),
        ("a", "A"),
        ("A is right.", None),
        ("Option B", None),
        ("B\n\nIce floats.", None),
        ("B or C", None),
        ("B. Ice floats.", None),
        ("AB", None),
        ("E", None),
        ("Ice floats, so B", None),
        ("I would say B.", None),
        ("yes", None),
    ],
)
def test_whole_replies(content: str, label: str | None) -> None:
    read = extract(content, "mcq", labels=ABCD)
    assert read.answer == label
    assert read.rule == ("whole" if label else "")
    if label:
        assert (read.trace, read.post) == ("", "")


@pytest.mark.parametrize(
    ("content", "options", "slot"),
    [
        ("photosynthesis", SCIENCE, 1),
        ("Photosynthesis.", SCIENCE, 1),
        ("**photosynthesis**", SCIENCE, 1),
        ("B. photosynthesis", SCIENCE, 1),
        ("B) Photosynthesis.", SCIENCE, 1),
        ("(B) photosynthesis", SCIENCE, 1),
        ("B photosynthesis", SCIENCE, 1),
        ("A. photosynthesis", SCIENCE, None),
        ("A. It floats", SCIENCE, None),
        ("photosynthesis or osmosis", SCIENCE, None),
        (r"\boxed{photosynthesis}", SCIENCE, 1),
        (r"\boxed{\text{Photosynthesis}}", SCIENCE, 1),
        (r"\boxed{B: photosynthesis}", SCIENCE, 1),
        (r"\boxed{B: photo-synthesis in plants}", SCIENCE, 1),
        (r"\boxed{A: photosynthesis}", SCIENCE, None),
        ("The answer is photosynthesis.", SCIENCE, 1),
        ("The answer is **photosynthesis**.", SCIENCE, 1),
        ("The answer is **photosynthesis** because plants need light.", SCIENCE, 1),
        ('The answer is "photosynthesis".', SCIENCE, 1),
        ("The answer is the photosynthesis.", SCIENCE, 1),
        ("The answer is photosynthesis, since plants need light.", SCIENCE, 1),
        ("The answer is photosynthesis in plants.", SCIENCE, 1),
        ("The answer is option photosynthesis.", SCIENCE, 1),
        ("The answer is not photosynthesis.", SCIENCE, None),
        ("The answer is photosynthesis or osmosis.", SCIENCE, None),
        ("The answer is photosynthesis, osmosis.", SCIENCE, None),
        ("The answer is photosynthesis?", SCIENCE, None),
        ("The answer is photosynthesis (B).", SCIENCE, 1),
        ("The answer is **photosynthesis** (B), of course.", SCIENCE, 1),
        ("The answer is photosynthesis (A).", SCIENCE, None),
        ("The answer is photosynthesis (A process).", SCIENCE, 1),
        ("The answer is photosynthesiser.", SCIENCE, None),
        ("The answer is photosynthesis-based.", SCIENCE, None),
        ("The answer is B: photosynthesis.", SCIENCE, 1),
        ("The answer is A: photosynthesis.", SCIENCE, None),
        ("The answer is B photosynthesis", SCIENCE, 1),
        ("The answer is B. Photosynthesis\nIt needs light.", SCIENCE, 1),
        ("The answer is red.", COLOURS, 0),
        ("The answer is red and blue.", COLOURS, 1),
        ("The answer is red and blue since both shine.", COLOURS, 1),
        ("The answer is red and green.", COLOURS, None),
        ("The answer is red since it shines.", COLOURS, 0),
        ("The answer is red, blue.", COLOURS, None),
        ("The answer is reddish.", COLOURS, None),
        ("red and  blue", COLOURS, 1),
        ("The answer is 7.", NUMBERS, 0),
        ("The answer is 75.", NUMBERS, 1),
        ("The answer is 7.5.", NUMBERS, 2),
        ("The answer is 7.5", NUMBERS, 2),
        ("The answer is 7.55", NUMBERS, None),
        ("The answer is -7.", NUMBERS, 3),
        ("The answer is −7.", NUMBERS, 3),
        ("The answer is 750.", NUMBERS, None),
        ("The answer is 7 digits.", NUMBERS, 0),
        ("The answer is 7 million.", NUMBERS, None),
        ("The answer is 7 + 2.", NUMBERS, None),
        ("The answer is 7/8.", NUMBERS, None),
        ("The answer is 7%.", NUMBERS, None),
        ("The answer is $75$.", NUMBERS, 1),
        ("The answer is 75 because 7.5 times 10 is 75.", NUMBERS, 1),
        ("7", NUMBERS, 0),
        (r"\boxed{75}", NUMBERS, 1),
        ("The answer is a mammal.", ANIMALS, 1),
        ("The answer is A mammal.", ANIMALS, 1),
        ("The answer is A red digit.", ANIMALS, 3),
        ("The answer is A.", ANIMALS, 0),
        ("The answer is a bird.", ANIMALS, 2),
        ("The answer is the fish because it swims.", ANIMALS, 0),
        ("The answer is A mammal.", ("mammal", "a mammal", "x", "y"), None),
        ("The answer is A mammal.", ("fish", "mammal", "x", "y"), None),
        ("The answer is a mammal.", ("fish", "mammal", "x", "y"), 1),
        ("The answer is A and B.", ("one", "two", "A and B", "none"), 2),
        ("The answer is None of the above.", ("one", "two", "three", "None of the above"), 3),
        (r"\boxed{None of the above}", ("one", "two", "three", "None of the above"), 3),
        ("The answer is Both red and blue.", ("red", "blue", "Both red and blue", "x"), 2),
        ("Mg", ("mg", "Mg", "MG", "g"), 1),
        ("mG", ("mg", "Mg", "MG", "g"), None),
        ("twins", ("twins", "twins", "x", "y"), None),
        ("The answer is U.S. Navy.", ("U.S. Navy", "U.S. Army", "U.S.", "Navy"), 0),
        ("The answer is U.S. Army, of course.", ("U.S. Navy", "U.S. Army", "U.S.", "Navy"), 1),
        (r"The answer is $\frac{1}{2}$.", (r"$\frac{1}{2}$", r"$\frac{1}{3}$", "1", "2"), 0),
        (r"\boxed{(2,5)}", ("(2,5)", "[2,5]", "(2,5]", "[2,5)"), 0),
        (r"\boxed{[2,5)}", ("(2,5)", "[2,5]", "(2,5]", "[2,5)"), 3),
        ("The answer is [2,5].", ("(2,5)", "[2,5]", "(2,5]", "[2,5)"), 1),
        ("The answer is $18.", ("18", "$18", "$81", "81"), 1),
        ("x² + 1", ("x2 + 1", "x² + 1", "x³", "x"), 1),
        ("The answer is AB.", ("A", "AB", "B", "O"), 1),
        ("The answer is O.", ("A", "AB", "B", "O"), 3),
        ("The answer is B.", ("A", "AB", "B", "O"), 1),
        ("a", ("e", "a", "i", "o"), None),
        (r"\boxed{A}", ("e", "a", "i", "o"), 0),
    ],
)
def test_option_texts(content: str, options: tuple[str, ...], slot: int | None) -> None:
    read = extract(content, "mcq", labels=ABCD, options=options)
    assert read.slot == slot
    assert read.answer == (None if slot is None else ABCD[slot])


@pytest.mark.parametrize(
    ("content", "labels", "label"),
    [
        (r"\boxed{3}", ("1", "2", "3", "4"), "3"),
        ("The answer is 3.", ("1", "2", "3", "4"), "3"),
        ("The answer is (3) ice", ("1", "2", "3", "4"), "3"),
        ("The answer is 3.5.", ("1", "2", "3", "4"), None),
        ("The answer is 3,000.", ("1", "2", "3", "4"), None),
        ("The answer is 3 - 2 = 1", ("1", "2", "3", "4"), None),
        ("The answer is 3 x 4", ("1", "2", "3", "4"), None),
        ("The answer is 30%", ("1", "2", "3", "30"), None),
        ("The answer is 10.", tuple(str(n) for n in range(1, 11)), "10"),
        (r"\boxed{1}", tuple(str(n) for n in range(1, 11)), "1"),
        (r"\boxed{3.5}", ("1", "2", "3", "4"), None),
        (r"\boxed{3. ice}", ("1", "2", "3", "4"), "3"),
        (r"\boxed{3 (x+1)}", ("1", "2", "3", "4"), None),
        ("1. First we add.", ("1", "2", "3", "4"), None),
        (r"\boxed{β}", ("α", "β", "γ"), "β"),
        ("The answer is β.", ("α", "β", "γ"), "β"),
        ("The answer is βx.", ("α", "β", "γ"), None),
        ("The answer is b.", ("a", "b", "c"), "b"),
        ("The answer is a mammal.", ("a", "b", "c"), None),
        ("The answer is a.", ("a", "b", "c"), "a"),
        ("ANSWER: C", ("a", "b", "c"), "c"),
        ("a mammal", ("a", "b", "c"), None),
        ("The answer is b or c.", ("a", "b", "c"), None),
        ("The answer is #.", ("@", "#", "%"), "#"),
        ("**Answer:** #", ("@", "#", "%"), "#"),
        ("#", ("@", "#", "%"), "#"),
        (r"\boxed{#}", ("@", "#", "%"), "#"),
        (r"\boxed #", ("@", "#", "%"), "#"),
        ("The answer is #1.", ("@", "#", "%"), None),
        ("The answer is ##.", ("@", "#", "%"), None),
        ("The answer is @home", ("@", "#", "%"), None),
        ("Answer: *", ("*", "$", "+"), "*"),
        ("Answer: $", ("*", "$", "+"), "$"),
        ("The answer is @ or #.", ("@", "#", "%"), None),
        ("The answer is iii.", ("i", "ii", "iii", "iv"), "iii"),
        ("The answer is iv because", ("i", "ii", "iii", "iv"), "iv"),
        ("The answer is ①.", ("①", "②"), "①"),
        ("The answer is C because I integrated twice", ABCDEFGHIJ, "C"),
        ("The answer is I think C", ABCDEFGHIJ, None),
        ("The answer is I.", ABCDEFGHIJ, "I"),
        ("The answer is C and I am sure.", ABCDEFGHIJ, "C"),
        ("I think so", ABCDEFGHIJ, None),
        (r"\boxed{(H)}", ABCDEFGHIJ, "H"),
    ],
)
def test_labels_of_all_kinds(content: str, labels: tuple[str, ...], label: str | None) -> None:
    read = extract(content, "mcq", labels=labels)
    assert read.answer == label
    assert read.slot == (None if label is None else labels.index(label))


@pytest.mark.parametrize(
    ("content", "label", "post"),
    [
        ("B}", "B", ""),
        ("B}.", "B", ""),
        ("(B)}$", "B", ""),
        ("B} because ice floats", "B", "because ice floats"),
        (r"\text{B}}", "B", ""),
        (r"\boxed{B}", "B", ""),
        (r"A} or rather \boxed{B}", "B", ""),
        ("B", "B", ""),
        ("A or B}", None, ""),
        ("Ice floats}", None, ""),
        ("The answer is B}", "B", ""),
        ("Ice floats.\nB}", None, ""),
        ("}", None, ""),
    ],
)
@pytest.mark.parametrize("mode", ["prefix", "prefix_assistant"])
def test_completions_of_a_forced_prefix(content: str, label: str | None, post: str, mode: str) -> None:
    read = extract(content, "mcq", labels=ABCD, mode=mode)
    assert read.answer == label
    if label:
        assert read.post == post
    if read.rule == "forced_prefix":
        assert read.trace == ""


@pytest.mark.parametrize("mode", [None, "think_on", "think_off", "strict"])
def test_a_completion_needs_a_prefix(mode: str | None) -> None:
    assert extract("B}", "mcq", labels=ABCD, mode=mode).status == "unparsed"


@pytest.mark.parametrize(
    ("labels", "options"),
    [((), ()), (("A", "A"), ()), (("A", " "), ()), (("A", "Ａ"), ()), (("A", "B"), ("one",))],
)
def test_labels_that_cannot_be_read_are_refused(labels: tuple[str, ...], options: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match="one label per option"):
        extract("B", "mcq", labels=labels, options=options)
