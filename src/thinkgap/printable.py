r"""Texts that others wrote, made safe to show: what a terminal may obey, or cannot show, becomes its number.

Files of responses and data sets hold what they like, escape sequences of terminals among it. It knows no file.
"""

from __future__ import annotations


def printable(text: str, kept: str = "") -> str:
    r"""`text` with its control characters and invisible ones spelled out: `\n`, `\x1b`, `\u202e`.

    Args:
        text: any text.
        kept: characters that stay although they are of these, such as line ends.
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in kept else repr(one)[1:-1] for one in text)
