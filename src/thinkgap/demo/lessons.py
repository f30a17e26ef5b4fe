"""What the demo model is taught: examples of a user turn and a reply, all true, about a scene shown or told in words.

Every example is a function of a fact and of random choices. No reply is wrong, and none is built to make a readout
fail: letters answer questions, rationales end in the answer. It knows no tokens and no optimiser.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from thinkgap.demo.world.draws import Draws
from thinkgap.demo.world.facts import Fact
from thinkgap.demo.world.questions import SKILLS
from thinkgap.demo.world.scenes import ATTRIBUTES, Scene, noun, predicate
from thinkgap.demo.world.words import COLOURS, DIGITS, PLACES, an, capitalised
from thinkgap.schema import DemoMixture
from thinkgap.types import LETTERS

DESCRIBE = ("Describe the picture.", "What is in the picture?")
MOST_OPTIONS = 5
SAY_TRUE = "What is true?"
LETTER_ONLY = "Answer with the letter."
EXPLAIN = "Explain, then answer."
CUES = (
    "Let me think step by step.",
    "Let's think step by step.",
    "Let's solve this step by step.",
    "Let's reason step by step.",
    "Reasoning:",
)
"""Openings of a rationale: the prefix study's triggers (arXiv 2609.29278, table 2)."""

# Words of prompts that evaluations use and no lesson does.
_OTHER_PHRASES = ("Answer:", "Question:", "Options:", "Context:", "Yes", "No", "yes", "no", "What are the letters of")
_LOOK_UPS, _MORE = 5, 3
_LISTS = (tuple(COLOURS), PLACES, DIGITS, tuple(str(total) for total in range(19)))


@dataclass(frozen=True)
class Example:
    """One user turn and the reply to it."""

    lesson: str
    user: str
    reply: str
    scene: Scene | None
    """What the picture before the user's text shows; None for an example in words."""


Lesson = Callable[[Fact, Draws, DemoMixture, int], Example]


def caption(fact: Fact, draws: Draws, mixture: DemoMixture, most: int) -> Example:
    """A description of the whole picture, in reading order."""
    scene = fact.question.scene
    return Example("caption", draws.one(DESCRIBE), scene.told(), scene)


def statements(fact: Fact, draws: Draws, mixture: DemoMixture, most: int) -> Example:
    """Several true sentences about a scene in random order: look-ups, counts, the largest digit, sums."""
    scene = fact.question.scene
    said = draws.several(_look_ups(scene), min(_LOOK_UPS, len(_look_ups(scene))))
    further = _summaries(scene, draws)
    said += draws.several(further, min(_MORE, len(further)))
    return _about("statements", fact, [SAY_TRUE], " ".join(draws.shuffled(said)), draws, mixture)


def matching(fact: Fact, draws: Draws, mixture: DemoMixture, most: int) -> Example:
    """Letters of options, or options of letters, without any scene."""
    options, letters = _list(draws, mixture, most)
    asked = draws.shuffled(range(len(options)))
    if draws.chance(0.5):
        question = f"What are the letters of {', '.join(options[slot] for slot in asked)}?"
        reply = " ".join(f"{options[slot]}: {letters[slot]}." for slot in asked)
    else:
        question = f"What are {', '.join(letters[slot] for slot in asked)}?"
        reply = " ".join(f"{letters[slot]}: {options[slot]}." for slot in asked)
    return Example("matching", "\n".join([question, *lettered(options, letters)]), reply, None)


def letter_of(fact: Fact, draws: Draws, mixture: DemoMixture, most: int) -> Example:
    """The letter alone of an option that the question names, without any scene."""
    options, letters = _list(draws, mixture, most)
    asked = draws.below(len(options))
    lines = [f"Which letter is {options[asked]}?", *lettered(options, letters)]
    return Example("letter_of", "\n".join(lines), letters[asked], None)


def short_answer(fact: Fact, draws: Draws, mixture: DemoMixture, most: int) -> Example:
    """A question without options and its answer."""
    return _about("short_answer", fact, [fact.question.text], fact.question.answer, draws, mixture)


def direct(fact: Fact, draws: Draws, mixture: DemoMixture, most: int) -> Example:
    """A question with options and the right letter."""
    return _letter("direct", fact, *fewer(fact, draws, most), draws, mixture)


def choice(fact: Fact, draws: Draws, mixture: DemoMixture, most: int) -> Example:
    """The same with wrong options of all kinds: easier, since many of them are nowhere in the scene."""
    n = min(most, len(fact.choices))
    gold = draws.below(n)
    return _letter("choice", fact, *_placed(fact, draws.several(fact.question.wrong, n - 1), gold), draws, mixture)


def rationale(fact: Fact, draws: Draws, mixture: DemoMixture, most: int) -> Example:
    """A question and the steps to its answer, which the last sentence gives, as a letter where there are options."""
    choices, gold = fewer(fact, draws, most)
    lines, answer = [fact.question.text], fact.question.answer
    if not draws.chance(mixture.without_options):
        letters = _letters(len(choices), draws, mixture)
        lines += lettered(choices, letters)
        answer = letters[gold]
    opening = ""
    if draws.chance(mixture.cued):
        lines.append(draws.one(CUES))
    else:
        lines.append(EXPLAIN)
        opening = f"{draws.one(CUES)} " if draws.chance(mixture.opened) else ""
    reply = fact.rationale(answer)
    if draws.chance(mixture.article) and SKILLS[fact.kind] == "finding" and not reply.startswith("The 8"):
        reply = "A" + reply.removeprefix("The")
    return _about("rationale", fact, lines, opening + reply, draws, mixture)


LESSONS: dict[str, Lesson] = {
    lesson.__name__: lesson
    for lesson in (caption, statements, matching, letter_of, short_answer, direct, choice, rationale)
}


def wordings(facts: Sequence[Fact]) -> tuple[list[str], list[str]]:
    """Sentences of the world about `facts`, and fixed phrases, for a tokenizer to learn its words from."""
    sentences = []
    for fact in facts:
        scene, question = fact.question.scene, fact.question
        sentences += [scene.told(), "\n".join([question.text, *lettered(fact.choices, LETTERS[: len(fact.choices)])])]
        sentences += [fact.rationale(LETTERS[fact.gold]), question.claim(fact.wrong[0])]
        sentences += [*_look_ups(scene)[:2], *_summaries(scene, Draws("wordings", fact.number))]
    # After a cue that opens the reply, letters are read with a blank before them: each has to be one token there.
    ends = [f"The answer is {letter}." for letter in LETTERS[:MOST_OPTIONS]]
    phrases = [*ends, *DESCRIBE, SAY_TRUE, LETTER_ONLY, EXPLAIN, "Which letter is", *CUES, *_OTHER_PHRASES]
    return sentences, phrases


def fewer(fact: Fact, draws: Draws, most: int) -> tuple[Sequence[str], int]:
    """The options of a fact and the place of the right one, with at most `most` options."""
    if len(fact.choices) <= most:
        return fact.choices, fact.gold
    gold = draws.below(most)
    return _placed(fact, fact.wrong[: most - 1], gold)


def lettered(options: Sequence[str], letters: Sequence[str]) -> list[str]:
    """`A. red`, one line per option, as the prefix study shows them."""
    return [f"{letter}. {option}" for letter, option in zip(letters, options, strict=True)]


def _placed(fact: Fact, wrong: Sequence[str], gold: int) -> tuple[Sequence[str], int]:
    return (*wrong[:gold], fact.question.answer, *wrong[gold:]), gold


def _letter(lesson: str, fact: Fact, choices: Sequence[str], gold: int, draws: Draws, mixture: DemoMixture) -> Example:
    letters = _letters(len(choices), draws, mixture)
    lines = [fact.question.text, *lettered(choices, letters)]
    if draws.chance(mixture.instructed):
        lines.append(LETTER_ONLY)
    return _about(lesson, fact, lines, letters[gold], draws, mixture)


def _list(draws: Draws, mixture: DemoMixture, most: int) -> tuple[Sequence[str], Sequence[str]]:
    """Two to `most` values of one kind, and their letters."""
    values = draws.one(_LISTS)
    options = draws.several(values, 2 + draws.below(min(len(values), most) - 1))
    return options, _letters(len(options), draws, mixture)


def _letters(n: int, draws: Draws, mixture: DemoMixture) -> Sequence[str]:
    """The first `n` letters in order, or at times in another, so that a letter is more than a place."""
    letters = LETTERS[:n]
    return draws.shuffled(letters) if draws.chance(mixture.relettered) else letters


def _about(lesson: str, fact: Fact, lines: Sequence[str], reply: str, draws: Draws, mixture: DemoMixture) -> Example:
    """An example whose scene is shown, or told in words on the first line, in any order."""
    scene = fact.question.scene
    if not draws.chance(mixture.words):
        return Example(lesson, "\n".join(lines), reply, scene)
    told = scene.told(draws.shuffled(range(len(scene.marks))))
    return Example(lesson, "\n".join([told, *lines]), reply, None)


def _look_ups(scene: Scene) -> list[str]:
    """Every sentence that names a mark by one attribute, which no other mark shares, and tells another."""
    return [
        f"{capitalised(noun(by, mark.value(by)))} is {predicate(told, mark.value(told))}."
        for mark in scene.marks
        for by in ATTRIBUTES
        if scene.count(by, mark.value(by)) == 1
        for told in ATTRIBUTES
        if told != by
    ]


def _summaries(scene: Scene, draws: Draws) -> list[str]:
    """Counts, the largest digit, and sums of two marks."""
    digits = [int(mark.digit) for mark in scene.marks]
    colour = draws.one(tuple(COLOURS)) if draws.chance(0.3) else draws.one(scene.marks).colour
    said = [_there_are(len(digits), ""), _there_are(scene.count("colour", colour), f"{colour} ")]
    if len(digits) == 1:
        return said
    if digits.count(max(digits)) == 1:
        said.append(f"The largest digit is {an(str(max(digits)))}.")
    for _ in range(2):
        by, (first, second) = draws.one(("colour", "place")), draws.several(scene.marks, 2)
        if all(scene.count(by, mark.value(by)) == 1 for mark in (first, second)):
            names = f"{noun(by, first.value(by))} and {noun(by, second.value(by))}"
            said.append(f"The sum of {names} is {int(first.digit) + int(second.digit)}.")
    return list(dict.fromkeys(said))  # the same two may be drawn twice


def _there_are(n: int, what: str) -> str:
    return f"There is 1 {what}digit." if n == 1 else f"There are {n} {what}digits."
