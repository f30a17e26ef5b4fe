"""What went wrong with a call that the client gave up on: in words, and whether a run should go on.

A fault of the server ends a run, with one message instead of one for each request. Knows no run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import httpx2
from openai import APIConnectionError, APIStatusError, APITimeoutError, OpenAIError

from thinkgap.backends.served.reply import error_text
from thinkgap.errors import ThinkgapError
from thinkgap.schema import ModelConfig

Stops = Literal["always", "unless_answered", "in_a_row", "if_nothing_works"]

_LONGEST = 300
_EVERYTHING = {
    401: "the key is not accepted: look at the environment variable {key}",
    402: "there is no credit left for this key",
    404: "there is no such address or model: look at model.served.base_url and model.path={path}",
}
"""Status codes that every other request would get as well."""


class ServedError(ThinkgapError):
    """A served model that cannot be reached, does not accept the key, or has no room for more requests."""


@dataclass(frozen=True)
class Fault:
    """Why a call has no reply, after all its tries."""

    reason: str
    stops: Stops = "if_nothing_works"
    """When it ends the run. `always`: every other request would fare the same. `unless_answered`: unless another one
    was answered since this one began. `in_a_row`: if as many requests in a row fail. `if_nothing_works`: a fault of
    this request, so only if as many fail and none was ever answered."""


def fault_of(error: OpenAIError, cfg: ModelConfig) -> Fault:
    """What `error`, which the client raised after its last try, says."""
    tries = cfg.served.max_retries + 1
    if isinstance(error, APIStatusError):
        return _of_status(error, cfg)
    if isinstance(error, APITimeoutError):
        return Fault(f"no answer within {cfg.served.timeout:g} s, {tries} times (model.served.timeout)", "in_a_row")
    if isinstance(error, APIConnectionError):
        cause = error.__cause__
        why = f"{type(cause).__name__}: {cause}" if cause is not None else str(error)
        if isinstance(cause, httpx2.ConnectError):
            return Fault(
                f"{cfg.served.base_url} cannot be reached ({why}): is the server running, and is "
                "model.served.base_url right?",
                "unless_answered",
            )
        return Fault(f"the connection broke, {tries} times ({_short(why)})", "in_a_row")
    return Fault(_short(f"{type(error).__name__}: {error}"))


def _of_status(error: APIStatusError, cfg: ModelConfig) -> Fault:
    code = error.status_code
    said = _short(error_text(error.body) if error.body else error.message)
    reason = f"status {code}: {said}"
    if code in _EVERYTHING:
        hint = _EVERYTHING[code].format(
            key=cfg.served.api_key_env or "(model.served.api_key_env is empty)", path=cfg.path
        )
        return Fault(f"{hint} ({reason})", "always")
    if code == 429:
        wait = error.response.headers.get("retry-after")
        told = f", and asks to wait {wait} s" if wait else ""
        return Fault(
            f"the rate limit still holds after {cfg.served.max_retries} further tries{told} ({reason}): set "
            "model.served.requests_per_minute or a smaller model.served.concurrency, or come back later",
            "unless_answered",
        )
    return Fault(reason, "in_a_row" if code >= 500 else "if_nothing_works")


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
