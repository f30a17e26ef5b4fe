r"""Questions that cannot be asked without their options, by their words: "which of the following", "EXCEPT", ...

A closed table of patterns for English, each with a question that it takes and one that it must leave alone. Precision
and recall are both bounded by what words show; `docs/answer_spaces.md` has the table, and counts on MMLU and MMLU-Pro.
The inertia study drops such questions by 17 patterns; these are our own, in our own words. Knows no item.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_LISTED = r"(?:(?:answer|option|choice|alternative|statement|sentence|proposition|assertion|response)s?|claim)"
_KIND = (
    r"(?:(?:number|value|expression|equation|fraction|ratio|sequence|arrangement|combination|diagram|coefficient|score|"
    r"description)s?|inequality|inequalities|pair|set|list|series|order|graph|table|chart|figure|formula|pattern)"
)
_IS = r"(?:is|are|was|were|would|will|can|cannot|could|may|might|must|should|does|do|did|has|have|had)"
_DOES = (
    rf"(?:{_IS}|best|also|correctly|most|shows?|represents?|describes?|gives?|indicates?|makes?|contains?|matches|"
    r"follows?|models?|below|above)"
)
_TRUE = r"(?:true|false|correct|incorrect|wrong|untrue|accurate|valid|invalid)"
_NOT_LISTED = r"(?!\s*(?:\w+\s+){0,3}:\s*\S)"
"""What is listed after a colon is in the question, so that it stands without the options."""


@dataclass(frozen=True)
class Pattern:
    """Words by which a question depends on its options."""

    name: str
    words: re.Pattern[str]
    dropped: str
    """A question that has the words."""
    kept: str
    """A question that resembles it and stands for itself."""


def _pattern(name: str, words: str, dropped: str, kept: str, *, any_case: bool = True) -> Pattern:
    return Pattern(name, re.compile(words, re.IGNORECASE if any_case else 0), dropped, kept)


PATTERNS = (
    _pattern(
        "which_of_following",
        r"\b(?:which|who|whom)(?:\s+(?:one|ones|two|three|\w+\s+out))?\s+(?:of|among|amongst)\s+(?:one\s+of\s+)?"
        r"(?:the\s+)?(?:\w+\s+){0,2}?(?:following|below|above|given|listed)\b|"
        r"\bwhich\s+\w+\s+of\s+\w+\s+below\b|\bwhich\s+is\s+the\s+exception\b",
        "Which of the following numbers is prime?",
        "A cell, which consists of the following parts, weighs 3 g. What does half of it weigh?",
    ),
    _pattern(
        "which_following",
        r"\b(?:which|what)\s+(?:of\s+)?following\b|\bwhat\s+of\s+the\s+following\b|\bthe\s+following\s+which\b|"
        r"(?:\A|[.?!]\s+|\n\s*)of\s+(?:the\s+)?following\b",
        "Of the following, which score is most likely his?",
        "What is the rank of the following matrix? A = [[1, 1], [1, 1]]",
    ),
    _pattern(
        "which_of_these",
        r"\bwhich\b(?:\s+\w+)?\s+of\s+(?:these|those|them)\b|"
        rf"\bwhich\b(?:\s+\w+)?\s+of\s+the\s+(?:\w+\s+){{0,2}}{_LISTED}\b",
        "Which of these could be the number of batteries?",
        "A theatre group has eight members, of which four are women. How many pairs of them are mixed?",
    ),
    _pattern(
        "which_statement",
        r"(?<!for )(?<!of )(?<!by )\bwhich\s+(?:(?:one|two|single|best|number|other|numbered)\s+)?"
        rf"{_LISTED}\b",
        "Which statement about enzymes is true?",
        "Who wrote a book which claims that all is water?",
    ),
    _pattern(
        "which_number",
        r"(?<!for )(?<!at )(?<!of )(?<!by )(?<!, )\bwhich\s+(?:(?:one|two|other|single|number)\s+)?"
        rf"{_KIND}\s+{_DOES}\b|\bwhat\s+(?:number|value)s?\s+could\b",
        "Which number could be Kelly's number?",
        "For which value of n are there two groups of order n?",
    ),
    _pattern(
        "which_is_true",
        r"(?:\A|[.?!:;,]\s+|\n\s*)(?:which|what)\s+(?:is|are|was|were)\s+(?:also\s+)?(?:not\s+)?"
        rf"{_TRUE}\b|(?:\A|[.?!:;,]\s+|\n\s*)which\s+(?:is|are)\s+the\s+(?:best|correct|incorrect|most\s+likely)\b|"
        r"(?:\A|[.?!:;]\s+|\n\s*)which\s+(?:is|are)\s+not\b",
        "What is true about osmosis?",
        "How many of these sums are correct: 1 + 1 = 2, 2 + 2 = 5?",
    ),
    _pattern(
        "following_is_true",
        rf"\bfollowing(?:\s+\w+){{0,4}}\s+{_IS}\s+(?:\w+\s+)?(?:{_TRUE}|likely|examples?)\b",
        "The following is true of cells:",
        "The following are scores: 1, 2, 3. What is their mean?",
    ),
    _pattern(
        "of_the_following",
        r"\b(?:all|any|each|one|none|neither|either|both|some|most|two|three|four)\s+(?:of\s+)?the\s+following"
        rf"(?=\s*[.,:;?!_)]*\s*\Z|\s+(?:{_IS}|{_LISTED}|except|but)\b){_NOT_LISTED}",
        "Each of the following statements holds but one:",
        "Find the probability that at least one of the following events occurs. Event A: a head. Event B: a six.",
    ),
    _pattern(
        "among_the_following",
        r"\b(?:among|amongst|from|between|of|in|by|to|with)\s+(?:all\s+)?the\s+following"
        rf"(?:\s+{_LISTED})?\s*[.,:;?!_)]*\s*\Z",
        "The smallest prime is among the following:",
        "Find the least distance among the following words: 000, 101, 011",
    ),
    _pattern(
        "except",
        r"\bexcept(?:\s+(?:for|that|in|when|by|to))?\W*\Z",
        "All of these are primes except:",
        "All faces of a cube except one are painted. How many are painted?",
    ),
    _pattern(
        "capital_not",
        r"\bEXCEPT\b|(?<!at )\bLEAST\b|\b(?:is|are|was|were|do|does|did|can|could|would|should) NOT\b\W*\Z|"
        r"\b[Ww]hich\b[^.?!]*\b(?:CAN)?NOT\b|\bNOT (?:true|correct|likely|part|included)\b|"
        r"\A[^?]*\b(?:is|are|was|were|do|does|can|could|would|should) NOT\b[^?]*\Z",
        "A mammal is NOT",
        "The chance of rain is 70%. What is the chance that it will NOT rain?",
        any_case=False,
    ),
    _pattern(
        "best_answer",
        r"\b(?:best|most\s+\w+|single)\s+(?:answer|response|statement|description|completion|translation)\b|"
        r"(?<!next )\bbest\s+(?:option|choice|alternative)\b(?!\s+(?:for|to|of|in|is)\b)|\bone\s+(?:answer|option)\b",
        "Give the best answer: water is",
        "Her next best alternative pays 20. What does she lose?",
    ),
    _pattern(
        "choose",
        r"(?:\A|[.?!:;,(\n]\s*|\bplease\s+|\band\s+|\bto\s+)(?:choose|select|pick|tick|mark|circle|identify|indicate)"
        r"\s+(?:the|one|an?|all|any|from|which|among)\b(?=[^.?!]*\b(?:(?:answer|option|choice|alternative|statement|"
        r"response|description|translation)s?|correct|incorrect|false|true|best|most|least|appl(?:y|ies)|following)\b)",
        "Pick the false one: water is",
        "Choose a white square at random. What is the chance that it is the first?",
    ),
    _pattern(
        "options_named",
        r"\b(?:these|those|given|listed|following|answer|four|five|above|below)\s+(?:answer|option|choice|alternative)s\b|"
        r"\b(?:option|choice|alternative|answer)s\s+(?:are\s+)?(?:given|listed|provided|shown|offered|above|below)\b|"
        r"\b(?:listed|given|named)\s+below\W*\Z",
        "The largest of the given choices is",
        "What is the price of the call option given above its strike?",
    ),
    _pattern(
        "these_alone",
        r"\b(?:all|any|each|one|none|neither|either|both|some)\s+of\s+(?:these|those)"
        r"(?=\s*[.,:;?!_)]*\s*\Z|\s+(?:except|but)\b)",
        "The cell makes all of these:",
        "All of these books cost 5 dollars. How much do 3 cost?",
    ),
    _pattern(
        "closest_to",
        r"\b(?:closest|nearest|equivalent)\s+(?:to|in\s+\w+\s+to)\W*\Z|"
        r"\bbest\s+(?:estimate|approximation|approximated|estimated)\b",
        "The period of the pendulum is closest to",
        "Which point of the line is closest to the origin?",
    ),
    _pattern(
        "an_example",
        r"(?:\A|[.?!]\s+|\n)\s*(?:(?:an?|one|the)\s+)?(?:\w+\s+)?examples?\s+of\b|"
        r"\b(?:which|what)\s+(?:is|are|would\s+be)\s+(?:\w+\s+){0,2}examples?\s+of\b",
        "An example of a prime number is",
        "Two gases mix of themselves. This is an example of which process?",
    ),
    _pattern(
        "numbered_statements",
        r"\A\s*(?:statement|scenario|argument)\s+(?:1|I)\b",
        "Statement 1 | Every ring is a field. Statement 2 | Every field is a ring.",
        "The statement 1 + 1 = 3 has how many plus signs?",
    ),
)
"""By what is tried first; a question is dropped for the first that it has."""

_TAIL = re.compile(
    r"(?:(?<=[.?!:;)\n])|(?<=[.?!:;)]\s))\s*\(?(?:please\s+)?(?:choose|select|pick|mark|tick|circle)\s+"
    r"(?:only\s+|just\s+)?(?:one|a|an|1|your)(?:\s+(?:single|correct|right|best))?"
    r"(?:\s+(?:answer|option|choice|alternative|response))?"
    r"(?:\s+(?:from|of|among|out\s+of)(?:\s+the)?\s+(?:following|options|choices|answers|list)"
    r"(?:\s+(?:options|choices|answers|below|given))?)?\s*[.:)]*\s*\Z",
    re.IGNORECASE,
)


def needs_options(question: str) -> str:
    """Name of the first pattern by which a question depends on its options; empty if it has none of them."""
    return next((one.name for one in PATTERNS if one.words.search(question)), "")


def without_tail(question: str) -> str:
    """`question` without a last sentence that only asks to choose: "Choose one answer from the following:"."""
    left = _TAIL.sub("", question).rstrip()
    return left if left and left != question.rstrip() else question
