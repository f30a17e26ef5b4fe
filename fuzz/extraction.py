"""Fuzz target: any reply is read in any space; the rules judge labels it and quotes its own words."""

from __future__ import annotations

from fuzz.driver import fuzz, instrumented

with instrumented():
    from thinkgap.judging.rules import RULES, RulesJudge
    from thinkgap.responses.extract import extract
    from thinkgap.responses.permissive import permissive_of
    from thinkgap.types import AnswerSpace, Pair

_SHOWN: tuple[tuple[AnswerSpace, tuple[str, ...], tuple[str, ...]], ...] = (
    ("mcq", ("A", "B", "C", "D"), ("red", "red and blue", "7", "A mammal")),
    ("mcq", ("1", "2", "10"), ()),
    ("mcq", (), ("a cat", "two dogs")),
    ("bool", (), ()),
    ("open", (), ()),
)
_MODES = (None, "prefix", "think_off")
_JUDGE = RulesJudge()
_PROBLEM = "Context: The lake is deep.\nQuestion: Which is deeper than 7?\nOptions:\nA. the lake\nB. red and blue"


def check(data: bytes) -> None:
    """The first byte chooses how the reply was asked for, the rest is the reply."""
    if not data:
        return
    choice, text = data[0], data[1:].decode("utf-8", "surrogateescape")
    space, labels, options = _SHOWN[choice % len(_SHOWN)]
    asked = {"labels": labels, "options": options, "mode": _MODES[choice // 8 % 3], "truncated": choice >= 128}
    read = extract(text, space, **asked)
    assert (read.status == "ok") == (read.answer is not None) == (read.span is not None) == (read.rule != "")
    if read.span is not None:
        assert 0 <= read.span[0] < read.span[1] <= len(read.text)
    if space == "mcq" and read.answer is not None:
        assert read.slot is not None
        assert read.answer == (labels or options)[read.slot]
    assert extract(read.text, space, **asked) == read, "a reply that is normalised reads the same"
    loose = permissive_of(read, space, labels, options)
    assert read.answer is None or loose == read.answer
    rule, span = _JUDGE.explain(Pair(_PROBLEM, text))
    assert rule in RULES
    assert span in text


if __name__ == "__main__":
    fuzz("extraction", check)
