"""Saving a workspace and a report at W&B, within a time limit. Knows no panel."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from thinkgap.errors import ThinkgapError

SECONDS = 120.0
"""W&B's client repeats a request that fails for much longer."""


class NotSent(ThinkgapError):
    """W&B could not be reached, or did not take what was sent."""


def saved(*things: Any, seconds: float = SECONDS) -> list[str]:
    """Save each of `things` and return their addresses.

    Raises:
        NotSent: W&B did not take one in time.
    """
    return [_within(lambda one=one: one.save().url, seconds) for one in things]


def _within(job: Callable[[], str], seconds: float) -> str:
    found: list[str] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(job())
        except BaseException as error:  # its client also ends processes that it cannot log in
            failed.append(error)

    # A thread that nobody waits for: the client takes no limit over all its tries.
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if found:
        return found[0]
    reason = f"{type(failed[0]).__name__}: {failed[0]}" if failed else f"no answer within {seconds:g} s"
    raise NotSent(" ".join(reason.split())[:300])
