"""Finds where a reply states its answer: an anchor ("the answer is", "Correct option:"), not negated, not supposed.

It does not know what an answer looks like: a reader looks at what follows each anchor.
"""

from __future__ import annotations

import re

from thinkgap.responses.reading import Read, Reader, folded

# Nouns are looked for first and by themselves: a pattern that begins with a word's start cannot be searched fast.
_NOUN = re.compile(r"answer|choice|option")
_ANCHOR = re.compile(
    r"\b(?:answer(?:\s(?:option|choice))?|(?<!answer\s)choice|(?:(?<=correct\s)|(?<=right\s)|(?<=best\s))option)"
    r"(?:\sto\s(?:the|this)\s(?:question|problem))?"
    r"[\s\"'*_`)\]}]{0,8}(?:(?<=[\s\"'*_`)\]}])is\b\s{0,4}:?|:|=)"
)
_BEFORE = 80
_BLANKS = re.compile(r"[ \t]+")
# A capital "The" opens a sentence, so that what stands before it negates nothing.
_NOT_MEANT = re.compile(
    r"(?:(?:\b[Nn]ot|n['’]t|\bnever|\bcannot|\bdoubt|\bdeny|\bunclear|\bunlikely)"
    r"(?: (?:think|believe|say|saying|claim|mean|sure|certain|convinced|clear|true|possible|the case|conclude|imply))*"
    r"(?: (?:that|if|whether))?"
    r"|\b[Rr]ul(?:e|es|ed|ing) out(?: that)?|\b[Ee]xcept(?: that| for)?|\b[Ee]xclud(?:e|es|ed|ing)"
    r"|\b(?:[Ii]f|[Ww]hether|[Uu]nless|[Ss]uppos(?:e|ing)|[Aa]ssum(?:e|ing)|[Ii]magine|wrong|false|incorrect)"
    r"(?: that)?)"
    r"(?: (?:the|my|our|its|an?))? ?(?:(?:final|correct|right|best|true|actual|only) )*\Z"
)
_OTHER_ANSWERS = re.compile(
    r"\b(?:wrong|incorrect|false|bad|worst|tempting|attractive|common|popular|typical|usual|first|second|third|initial|"
    r"previous|prior|earlier|original|old|other|another|alternative|possible|potential|plausible|proposed|suggested|"
    r"candidate|hypothetical|your|his|her|their|student['’]s|user['’]s|sample|example|naive|intuitive|obvious|no|"
    r"any|each|every|multiple|not) (?:(?:final|correct|right|best|true) )*\Z",
    re.IGNORECASE,
)
"""Answers that are spoken of and not given."""


def find_statements(text: str, reader: Reader) -> list[Read]:
    """What `reader` reads after each anchor of `text` that is meant, in order; anchors without an answer are left out.

    A statement that cannot be used (two labels) is in the list: it is a statement all the same.
    """
    lower = folded(text)
    found = []
    for noun in _NOUN.finditer(lower):
        anchor = _ANCHOR.match(lower, noun.start())
        if anchor is not None and _is_meant(text, anchor.start()):
            read = reader.stated(text, anchor.end())
            if read is not None:
                found.append(read)
    return found


def _is_meant(text: str, start: int) -> bool:
    before = text[max(0, start - _BEFORE) : start]
    # What negates or supposes an answer stands in its clause.
    before = _BLANKS.sub(" ", before[max(map(before.rfind, ".,;:!?\n")) + 1 :])
    return not (_OTHER_ANSWERS.search(before) or _NOT_MEANT.search(before))
