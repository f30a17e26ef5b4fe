"""Asks served models: many requests at a time, each reply stored as it comes, each fault an outcome of its request.

Knows no item and no mode.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Iterator, Sequence
from typing import Any

import httpx2
from openai import AsyncOpenAI, OpenAIError

from thinkgap.backends.served.cache import ResponseStore
from thinkgap.backends.served.faults import Fault, ServedError, fault_of
from thinkgap.backends.served.keeping import Keeper
from thinkgap.backends.served.key import read_key, without_key
from thinkgap.backends.served.outcomes import Answers, Counts, Outcome
from thinkgap.backends.served.profile import check_profile
from thinkgap.backends.served.reply import ReplyError, to_response
from thinkgap.backends.served.request import ServedRequest
from thinkgap.backends.served.transport import TimedClient, open_client
from thinkgap.errors import StoreError, ThinkgapError
from thinkgap.schema import ModelConfig
from thinkgap.tracking.interrupts import ended_by_sigterm
from thinkgap.tracking.progress import progress

log = logging.getLogger(__name__)

IN_A_ROW = 20
"""Requests that may fail in a row before a run takes the server for broken."""
_BEGIN = 32
"""Workers that begin at a time; were it hundreds, all of them would make their requests before the first was sent."""
_PAUSE = 0.01
"""Seconds before the next ones do."""


def ask(
    cfg: ModelConfig, requests: Sequence[ServedRequest], store: ResponseStore, *, show_progress: bool = True
) -> Answers:
    """Ask everything that the store does not hold; see `ask_all`. Ctrl-C and SIGTERM keep what was answered.

    Raises:
        ConfigError, ServedError, StoreError: see `ask_all`.
        KeyboardInterrupt: the run was interrupted.
    """
    try:
        with ended_by_sigterm():
            return asyncio.run(ask_all(cfg, requests, store, show_progress=show_progress))
    except KeyboardInterrupt:
        log.warning("interrupted: %d replies are in %s; the same command goes on from them", len(store), store.path)
        raise


async def ask_all(
    cfg: ModelConfig,
    requests: Sequence[ServedRequest],
    store: ResponseStore,
    *,
    show_progress: bool = True,
    http_client: httpx2.AsyncClient | None = None,
) -> Answers:
    """Ask everything that the store does not hold.

    Args:
        cfg: the model that the requests were built for.
        requests: in any order; the same request is asked once.
        store: takes each reply as it comes.
        show_progress: whether to show a bar on a terminal.
        http_client: takes the place of our own, together with its rate and time limits; it is left open.

    Returns:
        One outcome for each request. A request that failed after all its tries has an error in it.

    Raises:
        ConfigError: a wrong profile, or no key in the environment.
        ServedError: the server cannot be reached, lets nobody in, or answers nobody any more. What was answered is
            stored.
        StoreError: a reply could not be stored.
    """
    check_profile(cfg)
    started = time.monotonic()
    counts, outcomes, waiting = Counts(), {}, {}
    for request in requests:
        if request.key in outcomes or request.key in waiting:
            continue
        raw = store.get(request.key)
        if raw is None:
            waiting[request.key] = request
        else:
            outcomes[request.key] = Outcome(to_response(raw, request.api), stored=True)
            counts.stored += 1
    if waiting:
        key = read_key(cfg.served)
        http = http_client or TimedClient(cfg.served)
        try:
            client = open_client(cfg.served, key, http)
            await _Run(cfg, client, key, store, counts, outcomes).go(list(waiting.values()), show_progress)
        finally:
            if http_client is None:
                await http.aclose()
    counts.seconds = time.monotonic() - started
    log.info(
        "%s: %d replies (%d of them stored before), %d errors; %d prompt and %d completion tokens, %d of them "
        "reasoning, in %.0f s",
        cfg.name,
        counts.stored + counts.answered,
        counts.stored,
        counts.errors,
        counts.prompt_tokens,
        counts.completion_tokens,
        counts.reasoning_tokens,
        counts.seconds,
    )
    return Answers(outcomes, counts)


class _Run:
    """The calls of one run."""

    def __init__(
        self,
        cfg: ModelConfig,
        client: AsyncOpenAI,
        key: str,
        store: ResponseStore,
        counts: Counts,
        outcomes: dict[str, Outcome],
    ) -> None:
        self._cfg, self._client, self._key, self._store = cfg, client, key, store
        self._counts, self._outcomes = counts, outcomes
        self._in_a_row = 0
        self._end: ThinkgapError | None = None
        """What ends the run."""

    async def go(self, requests: Sequence[ServedRequest], show_progress: bool) -> None:
        """Ask `requests`; after a fault of the server none is begun any more, and those that are open may end."""
        queue = iter(requests)
        done = self._counts.ended
        bar_of = progress(
            total=done + len(requests),
            initial=done,
            description=self._cfg.name,
            unit="request",
            enabled=show_progress,
        )
        # The keeper ends after all workers, so that what came before an interruption is stored.
        with bar_of as bar, Keeper(self._store) as keeper:
            async with asyncio.TaskGroup() as group:
                for number in range(min(self._cfg.served.concurrency, len(requests))):
                    group.create_task(self._work(queue, bar, keeper))
                    if (number + 1) % _BEGIN == 0:
                        await asyncio.sleep(_PAUSE)
        if self._end is not None:
            log.error("%s: %d replies are in %s", self._cfg.name, len(self._store), self._store.path)
            raise self._end

    async def _work(self, queue: Iterator[ServedRequest], bar: Any, keeper: Keeper) -> None:
        for request in queue:
            if self._end is not None:
                return
            try:
                outcome = await self._ask(request, keeper)
            except StoreError as error:
                self._end = self._end or error
                return
            self._outcomes[request.key] = outcome
            self._count(outcome)
            counts = self._counts
            bar.set_postfix_str(f"{counts.completion_tokens:,} tokens, {counts.errors} errors", refresh=False)
            bar.update()

    async def _ask(self, request: ServedRequest, keeper: Keeper) -> Outcome:
        started, before = time.monotonic(), self._counts.answered
        try:
            reply = await self._client.post(request.url, body=request.body(), cast_to=httpx2.Response)
            raw = _parsed(without_key(reply.text, self._key))
            response = to_response(raw, request.api)
        except (OpenAIError, ReplyError) as error:
            fault = Fault(str(error)) if isinstance(error, ReplyError) else fault_of(error, self._cfg)
            reason = without_key(fault.reason, self._key)
            self._judge(fault, reason, before)
            return Outcome(None, reason)
        self._in_a_row = 0
        stored = await keeper.keep(request, raw, time.monotonic() - started)
        return Outcome(response if stored == raw else to_response(stored, request.api))

    def _judge(self, fault: Fault, reason: str, before: int) -> None:
        self._in_a_row += 1
        alone = self._counts.answered == before
        many = self._in_a_row >= IN_A_ROW
        never = self._counts.answered + self._counts.stored == 0
        stop = {
            "always": True,
            "unless_answered": alone,
            "in_a_row": many,
            "if_nothing_works": many and never,
        }[fault.stops]
        if stop and self._end is None:
            row = f"; {self._in_a_row} requests in a row failed" if many else ""
            self._end = ServedError(f"model={self._cfg.name}: {reason}{row}")

    def _count(self, outcome: Outcome) -> None:
        if outcome.response is None:
            self._counts.errors += 1
            return
        self._counts.answered += 1
        for name in ("prompt_tokens", "completion_tokens", "reasoning_tokens"):
            setattr(self._counts, name, getattr(self._counts, name) + (getattr(outcome.response, name) or 0))


def _parsed(text: str) -> dict[str, Any]:
    try:
        return json.loads(text)
    except ValueError:
        start = " ".join(text[:80].split())
        raise ReplyError(f"the reply is no JSON: {start!r}") from None
