"""Fuzz target: boxes, braces and open answers as mathematics, compared by their forms (no algebra)."""

from __future__ import annotations

from fuzz.driver import fuzz, instrumented

with instrumented():
    from thinkgap.latex import brace_pairs, closing_brace, find_box_commands, find_boxes
    from thinkgap.nothinking.exact import exactly_equal
    from thinkgap.nothinking.text_form import same_text
    from thinkgap.responses.open_answer import open_answer
    from thinkgap.responses.rational import rational, unwrapped


def check(data: bytes) -> None:
    """Two texts, set apart by a zero byte; the second may be empty."""
    gold, _, answer = data.decode("utf-8", "surrogateescape").partition("\0")
    for start, end in brace_pairs(gold).items():
        assert gold[start] == "{"
        assert gold[end] == "}"
    for command in find_box_commands(gold):
        assert 0 <= command.start < command.end <= len(gold)
    for box in find_boxes(gold)[:20]:
        assert box.content == box.content.strip()
    if (first := gold.find("{")) >= 0 and len(gold) < 5000:
        closing_brace(gold, first)
    assert exactly_equal(gold, gold) is not False
    assert exactly_equal(gold, answer) in (True, False, None)
    assert same_text(gold, gold)
    assert same_text(gold, answer) == same_text(answer, gold)
    said = open_answer(gold)
    assert said is None or (said and said in gold)
    value = rational(gold)
    if value is not None:
        assert rational(unwrapped(gold)) == value, "a second unwrapping changes no number"
        assert exactly_equal(gold, gold) is True


if __name__ == "__main__":
    fuzz("latex", check)
