"""What a served run returns: an outcome for each request, and what the run did in all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from thinkgap.backends.served.request import ServedRequest
from thinkgap.types import Response


@dataclass(frozen=True)
class Outcome:
    """What became of one request."""

    response: Response | None
    """None if there is none."""
    error: str = ""
    """Why there is none."""
    stored: bool = False
    """Whether an earlier run had asked the same."""

    @property
    def status(self) -> Literal["ok", "error"]:
        """`ok` with a response; what it says is another question."""
        return "ok" if self.response is not None else "error"


@dataclass
class Counts:
    """What a run did; tokens are those of replies that came in this run and said how many they took."""

    stored: int = 0
    """Distinct requests that the store could answer."""
    answered: int = 0
    """Distinct requests that the server answered."""
    errors: int = 0
    """Distinct requests without a response."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    seconds: float = 0.0

    @property
    def ended(self) -> int:
        """Distinct requests that are done."""
        return self.stored + self.answered + self.errors


@dataclass(frozen=True)
class Answers:
    """Outcomes by request, whatever order they came in."""

    outcomes: Mapping[str, Outcome]
    """By `ServedRequest.key`; requests with the same key share one."""
    counts: Counts

    def __getitem__(self, request: ServedRequest) -> Outcome:
        return self.outcomes[request.key]
