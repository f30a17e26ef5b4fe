"""Options that are shown as bullets, without labels: their own texts are the answers.

It knows the mark before an option, and which options can be told apart by their texts.
"""

from __future__ import annotations

import re

from thinkgap.errors import ConfigError
from thinkgap.responses.normalise import normalise
from thinkgap.responses.options import Options
from thinkgap.responses.reading import collapsed

_MARK = re.compile(r"[-*•‣·]\s+")


def bullet_names(options: tuple[str, ...]) -> tuple[str, ...]:
    """What an answer with each option is called: the option's text, outer blanks apart.

    Raises:
        ConfigError: no options, or ones that cannot be told apart.
    """
    texts = [collapsed(normalise(option)) for option in options]
    if not texts or not all(texts) or len(set(texts)) < len(texts):
        raise ConfigError(
            f"options {options} without labels cannot be read from replies: give one label per option, or options that "
            "all differ"
        )
    return tuple(option.strip() for option in options)


def after_bullet(options: Options, text: str, start: int) -> int | None:
    """Where the text after a bullet's mark begins; None without one, or where it may be the sign of -7 (`- 7`)."""
    mark = _MARK.match(text, start)
    if mark is None:
        return None
    line = text[mark.end() :].partition("\n")[0]
    signed = mark.group()[0] == "-" and options.whole(f"-{line}") is not None
    return None if signed else mark.end()
