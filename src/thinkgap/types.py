"""The core records: what is asked, how it is shown, what is read, and the row that is kept.

Slot and content are different things and different names everywhere. A *content* is an index into
`Item.choices`; a *slot* is a position on screen (0 is the first). Only `Presentation` maps one to the other.

This file imports nothing of ours and knows no model, no file format and no metric.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

AnswerSpace = Literal["mcq", "bool", "open"]
ResponseStatus = Literal["ok", "unparsed", "truncated", "empty", "refused", "content_filtered"]
TraceLabel = Literal[
    "explicit_reasoning", "paraphrase_only", "relevant_non_inferential", "generic_or_off_topic", "unclear"
]
"""What a judge says of a trace; an empty trace is never sent to one."""
JudgeStatus = Literal["ok", "judge_error", "refused", "content_filtered", "truncated"]
"""How a judge's reading of one trace ended; only `ok` has a label."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

REASONING_WORDS = (
    "First",
    "Let",
    "The",
    "To",
    "We",
    "Step",
    "Since",
    "Because",
    "So",
    "Given",
    "Based",
    "Looking",
    "In",
    "It",
    "This",
    "If",
    "Now",
    "Okay",
    "Sure",
    "I",
)
AMBIGUOUS_WORDS = ("The", "It", "This", "In", "I")
"""These open an answer ("The answer is") as well as a rationale, so the mass is also given without them."""


class Placement(Enum):
    """Where a trigger stands, and so where the label is read (study A's protocol leaves it open)."""

    user = "user"
    """The trigger ends the user turn; the generation prompt follows; read at the start of the assistant turn."""
    assistant = "assistant"
    """The trigger opens the assistant turn; read right after it."""
    prompt_end = "prompt_end"
    """No generation prompt: read right after the last token of the user's text."""


class Request(Enum):
    """The event that a condition asks the model to produce next."""

    label = "label"
    rationale = "rationale"
    answer_only = "answer_only"


class Thinking(Enum):
    """What is asked of a model's own thinking switch."""

    default = "default"
    """Leave the switch of the chat template or provider alone."""
    enabled = "enabled"
    disabled = "disabled"


@dataclass(frozen=True)
class ImageRef:
    """An image by content hash; its bytes are read only when a prompt needs them.

    `sha256` is over the encoded bytes, so two rows that hold the same file share it.
    """

    sha256: str
    load: Callable[[], bytes] = field(compare=False, repr=False)


@dataclass(frozen=True)
class Item:
    """One question of a benchmark, before any prompt is made of it.

    Text fields may hold `<image n>` (1-based, into `images`) where a picture stands in the text or is an
    option; images that no text names are shown first, in order.
    """

    id: str
    group_id: str
    """Items that share a question, passage or image have the same group; intervals resample groups."""
    question: str
    choices: tuple[str, ...]
    """Option contents in the source's order. For `bool` items ("Yes", "No"); empty for `open`."""
    gold: int | None
    """Content index of the right choice; None for `open`."""
    answer_space: AnswerSpace
    split: str
    context: str = ""
    """Passage (BoolQ) or hint (ScienceQA); empty if there is none."""
    images: tuple[ImageRef, ...] = ()
    subject: str = ""
    answer: str = ""
    """The right answer as text: the gold choice's content, or the reference answer of an `open` item."""
    meta: Mapping[str, str] = field(default_factory=dict)
    """Further fields to group by: area, category, grade, topic, level, type, ..."""


@dataclass(frozen=True)
class Presentation:
    """An `Item` as shown: which content stands in which slot, under which label."""

    item: Item
    order: tuple[int, ...]
    """`order[slot]` is the content shown in that slot."""
    labels: tuple[str, ...]
    """The label printed before, and read for, each slot."""
    name: str = "identity"
    lettered: bool = True
    """Whether options stand under their labels; if not, they are bullets and their own texts are their labels."""

    def __post_init__(self) -> None:
        if sorted(self.order) != list(range(len(self.item.choices))):
            raise ValueError(f"item {self.item.id}: order {self.order} is no permutation of its choices")
        if len(self.labels) != len(self.order) or len(set(self.labels)) != len(self.labels):
            raise ValueError(f"item {self.item.id}: labels {self.labels} do not name {len(self.order)} slots")

    @property
    def k(self) -> int:
        """Number of options shown."""
        return len(self.order)

    @property
    def contents(self) -> tuple[str, ...]:
        """Option contents in display order."""
        return tuple(self.item.choices[content] for content in self.order)

    @property
    def gold_slot(self) -> int:
        """Slot in which the right content is shown."""
        if self.item.gold is None:
            raise ValueError(f"item {self.item.id} is open: it has no gold slot")
        return self.order.index(self.item.gold)


@dataclass(frozen=True)
class Condition:
    """What is asked of the model beyond the question: a trigger (study A) or a mode (study B)."""

    name: str
    kind: Literal["trigger", "mode"]
    requests: Request
    text: str = ""
    """Trigger text, or the mode's instruction line; byte-exact as the study gives it."""
    placement: Placement = Placement.user
    thinking: Thinking = Thinking.default
    user_suffix: str = ""
    """Text appended to the last line of the user turn (mode M6's forced prefix)."""
    prefill: str = ""
    """Text that opens the assistant turn (mode M6p)."""
    soft_switch: str = ""
    """First line of the user turn (`/think`, `/no_think`)."""
    format_example: bool = True
    """Whether the mode's answer-format line keeps its example."""


@dataclass(frozen=True)
class Prompt:
    """One `Presentation` under one `Condition`, as token ids of the whole rendered prompt."""

    presentation: Presentation
    condition: Condition
    text: str
    """Rendered text before image tokens are expanded."""
    input_ids: tuple[int, ...]
    """Token ids with image tokens expanded; the read position is the last one."""
    label_ids: tuple[tuple[int, ...], ...]
    """Per slot, the token ids whose probabilities are summed for that slot's label; empty where none is read."""
    images: tuple[ImageRef, ...] = ()
    n_image_tokens: int = 0
    sha256: str = ""
    """Digest of token ids and image contents."""


@dataclass(frozen=True)
class Reading:
    """What one forward pass says at the read position of one `Prompt` (natural logarithms, float32 softmax)."""

    label_logprobs: tuple[float, ...]
    """Per slot, log of the summed full-vocabulary probability of that label's tokens."""
    label_mass: float
    """Sum over slots of label probability, not renormalised (study A, table 3: answer mass)."""
    top_token_id: int
    """Most probable token of the full vocabulary."""
    top_logprob: float
    entropy: float = math.nan
    """Of the next-token distribution over the full vocabulary, in nats."""
    gold_rank: int | None = None
    """1-based rank in the full vocabulary of the right label's most probable token; None for open questions."""
    reasoning_mass: float | None = None
    """Summed probability of tokens that open a rationale (study A, table 3); None if they were not asked for."""
    reasoning_mass_strict: float | None = None
    """The same without tokens that open an answer just as well."""
    top_tokens: tuple[tuple[int, float], ...] = ()
    """The most probable tokens with their log-probabilities, as many as were asked for."""


@dataclass(frozen=True)
class Question:
    """What a response answers, so far as its analysis needs it: from a data set, or from somebody's own file."""

    item_id: str
    group_id: str
    """Items that share a question, passage or image have the same group."""
    dataset: str
    space: AnswerSpace
    problem: str
    """The full problem text that the model saw: context, question and options, without the mode's lines."""
    answer: str
    """The right answer: its label (mcq), `yes` or `no` (bool), or the reference answer (open); empty if unknown."""
    labels: tuple[str, ...] = ()
    """Labels that were shown, one to a slot (mcq)."""
    options: tuple[str, ...] = ()
    """The options' texts in slot order (mcq)."""
    parts: tuple[str, ...] = ()
    """Context, question stem and each option apart, for the audit of copies; empty if they are not known apart."""
    split: str = ""
    subject: str = ""
    area: str = ""
    """Area of an MMLU subject, or whatever else groups subjects."""
    presentation: str = "identity"
    """How the item was shown; rewrites and perturbations of one item share its id."""
    contents: tuple[int, ...] = ()
    """Content index of the source item in each slot (mcq); under verification that of the proposed answer alone."""


@dataclass(frozen=True)
class Response:
    """What came back for one request, channel by channel and as it came."""

    content: str
    """Visible text."""
    reasoning: str = ""
    """Text of all reasoning channels, each text once."""
    channels: Mapping[str, str] = field(default_factory=dict)
    """Reasoning channel -> its text as it came: `reasoning`, `reasoning_content`, `reasoning_details`, ..."""
    finish_reason: str = ""
    """As the server or the decoder said it: `stop`, `length`, `content_filter`, ...; empty if nobody said it."""
    refusal: str = ""
    """Text of a refusal channel."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    """Of the completion's tokens, those that were reasoning; None if nobody counted them."""
    model: str = ""
    """Id of the model that answered, as the server gives it."""


@dataclass(frozen=True)
class Answered:
    """A question under one mode and what came back; the unit of the no-thinking analysis."""

    question: Question
    mode: str
    """Name of the mode, such as `strict`; empty for a response from a file that does not say."""
    thinking: Thinking
    """What was asked of the thinking switch."""
    response: Response
    open_box: bool | None = None
    """Whether the response begins inside a box that its prompt or prefill opened; None where only the name of the mode
    can tell."""


@dataclass(frozen=True)
class Pair:
    """All that encoders, judges and people see of a response: no model, mode, data set, gold or answer."""

    problem: str
    """Full problem text (`Question.problem`)."""
    trace: str
    """Complete pre-answer trace, reasoning channels included, not empty."""


@dataclass(frozen=True)
class Relevance:
    """How close a trace is to its problem in the space of one encoder (QRel)."""

    cosine: float
    """Raw, never clipped."""
    problem_tokens: int
    """Before anything was cut, prompts included."""
    trace_tokens: int
    truncated: bool
    """Whether the encoder read only the beginning of one of the two texts."""
    chunk_mean: float
    """Cosine of the problem with the token-weighted mean of the trace's chunks; the cosine itself for one chunk."""
    chunk_max: float
    """Largest cosine of the problem with one of the trace's chunks."""


@dataclass(frozen=True)
class Judgement:
    """What one judge said of one trace (EIR)."""

    label: TraceLabel | None
    """None unless `status` is `ok`."""
    status: JudgeStatus = "ok"
    evidence: str = ""
    """Span of the trace that the label rests on."""
    verbatim: bool = True
    """Whether the evidence stands in the trace, white space and case apart."""
    shortened: bool = False
    """Whether the judge saw only head and tail of a long trace."""
    asked: int = 1
    """Requests that this trace was part of until it had its label; 0 for a judge that asks nobody."""
    reason: str = ""
    """Why there is no label."""


@dataclass(frozen=True)
class Record:
    """One row of a run, keyed by (item_id, presentation, condition, readout); see `store.records` for its columns."""

    item_id: str
    presentation: str
    condition: str
    readout: str
    group_id: str
    split: str
    subject: str
    k: int
    order: tuple[int, ...]
    labels: tuple[str, ...]
    gold_slot: int
    gold_content: int
    pred_slot: int
    pred_content: int
    correct: bool
    tied: bool
    """Whether the two most probable labels were exactly equal (a stable digest of the key decided)."""
    label_logprobs: tuple[float, ...]
    label_mass: float
    label_token_ids: tuple[tuple[int, ...], ...]
    top_token_id: int
    top_token: str
    top_logprob: float
    entropy: float
    gold_rank: int
    reasoning_mass: float
    reasoning_mass_strict: float
    top_ids: tuple[int, ...]
    """The most probable tokens, as many as were asked for, with their texts and log-probabilities."""
    top_tokens: tuple[str, ...]
    top_logprobs: tuple[float, ...]
    lens_label_logprobs: tuple[tuple[float, ...], ...]
    """Per layer, `label_logprobs` as the model's own norm and head read them there; empty if not asked for."""
    lens_label_mass: tuple[float, ...]
    n_tokens: int
    n_image_tokens: int
    prompt_sha256: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What identifies this row within a run."""
        return (self.item_id, self.presentation, self.condition, self.readout)
