"""Fuzz target: texts in one spelling, which a second pass leaves as they are, and what is safe to show and to store."""

from __future__ import annotations

from fuzz.driver import fuzz, instrumented

with instrumented():
    from thinkgap.data.checks import replace_controls
    from thinkgap.printable import printable
    from thinkgap.responses.noise import clean, post_after, trace_before
    from thinkgap.responses.normalise import normalise, split_reasoning


def check(data: bytes) -> None:
    """Any text."""
    text = data.decode("utf-8", "surrogateescape")
    plain = normalise(text)
    assert normalise(plain) == plain
    parts = split_reasoning(plain)
    assert parts.text == plain
    assert len(parts.visible) == len(plain), "positions hold in both"
    shown = clean(parts.visible)
    assert "\n" not in shown
    assert len(trace_before(plain)) <= len(plain)
    assert len(post_after(plain)) <= len(plain)
    tamed = replace_controls(text)
    assert replace_controls(tamed) == tamed
    assert printable(text).isprintable()
    assert printable(printable(text)) == printable(text)


if __name__ == "__main__":
    fuzz("normalisation", check)
