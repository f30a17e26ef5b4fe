"""Form of answers to open numeric questions: `Parse` and `Exact` of the inertia study (arXiv 2610.11765, table I.5).

Neither says whether an answer is right: 1/2 is right where 0.5 is, and is not written as it is. Takes the answer that
was read from a response; knows no response and no question.
"""

from __future__ import annotations

from thinkgap.responses.rational import rational


def parses(answer: str | None) -> bool:
    r"""Whether an answer is one rational number (`responses.rational`): `1,250`, `-3`, `7/2`, `50\%`, `5 cm`.

    No answer (None), words (`twelve`), ranges (`2-3`) and expressions (`2\pi`) do not parse.
    """
    return answer is not None and rational(answer) is not None


def exact(gold: str, answer: str | None) -> bool:
    """Whether an answer is the right one as a string, commas and outer blanks apart: 1250 is 1,250; 0.50 is not 0.5.

    No answer (None) is not.
    """
    return answer is not None and _bare(gold) == _bare(answer)


def _bare(text: str) -> str:
    return text.replace(",", "").strip()
