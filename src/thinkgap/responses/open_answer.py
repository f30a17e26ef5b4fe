r"""Reads open answers, verbatim: a number, an expression, or a short name, never a sentence.

Whether two answers are equal is not its question, so `\$18.00` stays as it is.
"""

from __future__ import annotations

import re

from thinkgap.responses.reading import CONTINUATION, SENTENCE_END, Read, peeled

_LONGEST = 200
_AMOUNT = r"[-+±~≈]?\s{0,2}(?:\\?[$€£¥])?\s{0,2}[-+]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:\s{0,2}/\s{0,2}\d+)?"
_WORD = r"[A-Za-zµμΩ]+(?:/[A-Za-z]+)?[²³]?(?:\^\d)?"
_UNIT = rf"(?:\s{{0,2}}(?:\\?%|°\s?[CF]?|[$€£¥]))?(?P<unit>[ -]?{_WORD}(?:[ -]{_WORD}){{0,2}})?"
_NUMBER = re.compile(rf"{_AMOUNT}{_UNIT}")
_AMOUNT_FIRST = re.compile(_AMOUNT)
_BOX = re.compile(r"\\(?:boxed|fbox)(?![A-Za-z])")
_COMMAND = re.compile(r"\\(?:text|mathrm|mbox|textbf|operatorname)\s*\{[^{}]*\}|\\[A-Za-z]+")
_JOINT = re.compile(r" (?:or|and) (?=\S)")
_LONG_WORD = re.compile(r"[^\W\d_]{2,}")
_MATHEMATICAL = re.compile(r"[\d\\=+*/^<>()\[\]√π∞-]")
_NAME = re.compile(r"[^\W\d_][\w'’.-]*(?: \w[\w'’.-]*){0,2}(?<=\w)")
_MATH_SPAN = re.compile(
    r"\$\$([^$]{1,200})\$\$|\$([^$\n]{1,200})\$(?!\d)|\\\((.{1,200}?)\\\)|\\\[(.{1,200}?)\\\]", re.DOTALL
)
_BOLD = re.compile(r"\*\*([^*\n]{1,200})\*\*")
_LISTED = re.compile(r"\s*(?:,|,?\s*(?:or|and)\b)\s*(?:\$|\*\*|\\\()")
_LEAD = re.compile(r"[\s*_`\"“”:}]*")
_CUT = re.compile(rf",?\s+{CONTINUATION}", re.IGNORECASE)
_COMMA_AND_PROSE = re.compile(r",\s+(?=[a-z]{3})")
_PROSE = re.compile(
    r"\b(?:i|it|we|you|he|she|they|let|let's|this|that|there|here|these|those|what|which|who|how|when|where|why|as|is|are|"
    r"was|were|be|am|do|does|did|can|cannot|can't|could|will|would|should|may|might|must|not|don't|doesn't|isn't|unsure|"
    r"sure|obviously|clearly|simply|follows|okay|ok|yes|so|if|because|since|therefore|thus|hence|then|also|still|indeed|"
    r"now|steps?|answers?|questions?|please|sorry|hello|hi|thanks|well|actually|probably|likely|depends|of|in|on|at|by|"
    r"for|from|with|to|either|both|neither|idea|based|approximately|about|around|roughly|exactly)\b",
    re.IGNORECASE,
)
"""Words of sentences: a short name has none of them, a unit neither."""
_JUDGEMENT = re.compile(
    r"unknown|unclear|uncertain|obvious|clear|correct|incorrect|wrong|right|simple|easy|straightforward|reasonable|"
    r"plausible|verified|consistent|confirmed|valid|invalid|given|found|below|above|following|first|final",
    re.IGNORECASE,
)
"""What is said of an answer; beside another word it can name something ("lower right")."""
_NO_UNIT = re.compile(r"\b(?:the|an?|and|or|plus|minus|times|over|out|less|more|than|x)\b", re.IGNORECASE)


class OpenReader:
    """Reads answers of open questions; a slot is never given."""

    def boxed(self, content: str) -> Read | None:
        """All that the box holds, as it stands there."""
        return Read(content)

    def whole(self, text: str) -> Read | None:
        """A number, an expression or a short name, on one line."""
        answer = open_answer(text)
        return None if answer is None else Read(answer)

    def stated(self, text: str, start: int) -> Read | None:
        """What follows an anchor up to the end of the sentence or a clause that explains it."""
        lead = _LEAD.match(text, start)
        place = lead.end() if lead else start
        span = _MATH_SPAN.match(text, place) or _BOLD.match(text, max(start, place - 2))
        if span is not None and not _LISTED.match(text, span.end()):
            inside = next(filter(None, span.groups()))
            answer = open_answer(inside) or (
                inside.strip() if span.re is _MATH_SPAN and not _BOX.search(inside) else ""
            )
            if answer:
                return _stated(text, answer, span.start())
        line = text[place : place + _LONGEST].partition("\n")[0]
        end = SENTENCE_END.search(line)
        sentence = line[: end.start()] if end else line
        if line[len(sentence) : len(sentence) + 1] == "?" or (end is None and len(line) == _LONGEST):
            return None
        # "\text{The answer is 5}": the brace was opened before the anchor.
        if sentence.count("{") < sentence.count("}"):
            sentence = sentence.rstrip().removesuffix("}")
        said = [sentence, *(sentence[: cut.start()] for cut in [_CUT.search(sentence)] if cut)]
        if _AMOUNT_FIRST.match(sentence):
            said += [sentence[: cut.start()] for cut in [_COMMA_AND_PROSE.search(sentence)] if cut]
        for part in said:
            if (answer := open_answer(part)) is not None:
                return _stated(text, answer, place)
        return None


def _stated(text: str, answer: str, start: int) -> Read:
    begin = text.index(answer, start)
    return Read(answer, None, begin, begin + len(answer), weak=is_name(answer) and not is_number(answer))


def open_answer(text: str) -> str | None:
    """The answer that `text` is, without its wrappers; None for prose, several lines, and nothing."""
    text = text.strip(' \t\n*_`"“”')
    balanced = text.count("{") == text.count("}")
    if not text or not balanced or len(text) > _LONGEST or "\n" in text or _BOX.search(text):
        return None
    bare = text.rstrip(".").strip()
    if is_number(bare) or is_expression(bare):
        span = _MATH_SPAN.fullmatch(bare)
        return next(filter(None, span.groups())).strip() if span else bare
    return next((form for form in peeled(text) if is_number(form) or is_expression(form) or is_name(form)), None)


def is_number(text: str) -> bool:
    """Whether `text` is one number, with a currency, a percent sign or a unit of up to three words if it has one."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return False
    unit = found.group("unit") or ""
    return not (_PROSE.search(unit) or _NO_UNIT.search(unit))


def is_expression(text: str) -> bool:
    r"""Whether `text` is mathematics: no word outside LaTeX commands and `\text{}`, and something to count with."""
    if _LONG_WORD.search(_JOINT.sub(" ", _COMMAND.sub(" ", text))):
        return False
    return (len(text) == 1 and text.isalnum()) or (
        _MATHEMATICAL.search(text) is not None and any(map(str.isalnum, text))
    )


def is_name(text: str) -> bool:
    """Whether `text` is one to three words, none of which belongs to a sentence."""
    return _NAME.fullmatch(text) is not None and not (_PROSE.search(text) or _JUDGEMENT.fullmatch(text))
