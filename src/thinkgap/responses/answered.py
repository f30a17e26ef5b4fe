"""One `Answered` to its reading: the extractor's, with what finish reason, refusal and reasoning channels say.

It does not know files or servers, nor whether an answer is right.
"""

from __future__ import annotations

from dataclasses import replace

from thinkgap.presentation_names import BULLETS
from thinkgap.responses.channels import reasoning_texts
from thinkgap.responses.extract import Extraction, extract
from thinkgap.responses.finish import is_cut, is_filtered, is_refusal
from thinkgap.types import Answered, Question, Response, Thinking

_OFF_MODE = "think_off"
"""What a response of no mode is read as, if its thinking was switched off."""


def read_answered(answered: Answered) -> Extraction:
    """Reads the answer out of one response.

    A reply that a filter stopped is read as one that the limit cut: the last number of it may not be whole. Without an
    answer its status is `content_filtered`; that of a refusal is `refused`. The flag `channel_swap` says that nothing
    visible came, but reasoning did, although none was asked for.

    Raises:
        ConfigError: see `extract`.
    """
    question, response = answered.question, answered.response
    refused = is_refused(response)
    # Reasoning that was asked for, or stands beside a refusal, is no answer in the wrong place.
    swappable = not refused and answered.thinking is not Thinking.enabled
    read = extract(
        response.content,
        question.space,
        labels=shown_labels(question),
        options=question.options,
        mode=_mode(answered),
        # A filter, too, ends a response that might have been longer.
        truncated=is_cut(response.finish_reason) or is_filtered(response.finish_reason),
        reasoning="\n".join(reasoning_texts(response)) if swappable else "",
        open_box=answered.open_box,
    )
    if read.answer is not None:
        return read
    if is_filtered(response.finish_reason):
        return replace(read, status="content_filtered")
    return replace(read, status="refused") if refused else read


def shown_labels(question: Question) -> tuple[str, ...]:
    """The labels that stood before the options; none where they were bullets, whose own texts are their labels."""
    return () if question.presentation == BULLETS else question.labels


def is_refused(response: Response) -> bool:
    """Whether a refusal channel or the finish reason says that the model refused."""
    return bool(response.refusal.strip()) or is_refusal(response.finish_reason)


def _mode(answered: Answered) -> str | None:
    return answered.mode or (_OFF_MODE if answered.thinking is Thinking.disabled else None)
