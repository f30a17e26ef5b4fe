"""How many calls and tokens a served run will take, before it is begun. Sends nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from math import ceil

from thinkgap.backends.served.cache import ResponseStore
from thinkgap.backends.served.request import ServedRequest, message_texts
from thinkgap.readouts.sheet import Column, Sheet

_ENCODING = "o200k_base"
_CHARACTERS = 4


@dataclass(frozen=True)
class CallEstimate:
    """What one group of requests, such as a mode, will take."""

    name: str
    requests: int
    """Requests in all."""
    stored: int
    """Distinct requests that the store can answer."""
    calls: int
    """Distinct requests that have to be sent."""
    prompt_tokens: int
    """Of those calls, without what a chat template adds."""
    output_bound: int
    """Most tokens that those calls can return: the sum of their limits."""
    counted_by: str
    """How prompt tokens were counted."""


def estimate(name: str, requests: Sequence[ServedRequest], store: ResponseStore) -> CallEstimate:
    """Count what `requests` will take beyond what `store` holds.

    Prompt tokens are counted with tiktoken's `o200k_base` if tiktoken is installed and has its vocabulary at hand, else
    as a quarter of the characters, rounded up for each request. Images are not counted. Tries that are repeated after a
    fault are not either.

    Args:
        name: of the group.
        requests: as they would be given to `ask`.
        store: of the model.
    """
    distinct = {request.key: request for request in requests}
    calls = [request for key, request in distinct.items() if key not in store]
    count, counted_by = _counter()
    return CallEstimate(
        name,
        requests=len(requests),
        stored=len(distinct) - len(calls),
        calls=len(calls),
        prompt_tokens=sum(count(_text(request)) for request in calls),
        output_bound=sum(request.max_new_tokens for request in calls),
        counted_by=counted_by,
    )


def estimate_sheet(model: str, estimates: Sequence[CallEstimate]) -> Sheet:
    """The estimates of one model as a table, with their sums.

    Raises:
        ValueError: there is none.
    """
    if not estimates:
        raise ValueError("no estimates to show")
    names = ("requests", "stored", "calls", "prompt_tokens", "output_bound")
    rows = [(one.name, *(getattr(one, name) for name in names)) for one in estimates]
    if len(estimates) > 1:
        rows.append(("all", *(sum(getattr(one, name) for one in estimates) for name in names)))
    headings = ("requests", "stored", "calls to make", "prompt tokens", "output tokens at most")
    return Sheet(
        "estimate",
        f"What {model} would be asked",
        (
            Column("name", "mode", "text"),
            *(Column(name, heading, "count") for name, heading in zip(names, headings, strict=True)),
        ),
        tuple(rows),
        notes=(
            f"Prompt tokens are counted by {estimates[0].counted_by}, which is not the model's own way.",
            "Output tokens at most: every reply runs to its limit. Repeated tries after faults are not counted.",
        ),
    )


def _text(request: ServedRequest) -> str:
    texts = [text for message in request.messages for text in message_texts(message["content"])]
    return "\n".join([*texts, request.prefill] if request.prefill else texts)


def _counter() -> tuple[Callable[[str], int], str]:
    try:
        encoding = import_module("tiktoken").get_encoding(_ENCODING)
    except Exception:
        # Not installed, or its vocabulary is not here and cannot be fetched: an estimate is no reason to stop.
        return lambda text: ceil(len(text) / _CHARACTERS), f"characters / {_CHARACTERS}"
    return lambda text: len(encoding.encode(text, disallowed_special=())), f"tiktoken {_ENCODING}"
