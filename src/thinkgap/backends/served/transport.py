"""How requests travel: the `openai` client for one provider, with a limit on the rate and on the time of each try.

Repeating, waiting as `Retry-After` says, and HTTP itself are that client's. Knows no run and no store.
"""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
from aiolimiter import AsyncLimiter
from openai import AsyncOpenAI, DefaultAsyncHttpxClient, Timeout

from thinkgap.schema import ServedConfig

_OPEN = 32
"""Requests that are open in one pool: for each of them a pool looks through all its connections, several times."""
_CONNECT = 10.0
"""Seconds to reach a server; a model may think for minutes, but a connection comes at once or not at all."""


class TimedClient(DefaultAsyncHttpxClient):
    """Keeps every single try, repeated ones too, within the rate, and ends it after `timeout` seconds in all.

    Timeouts of HTTP are between two bytes, and some servers send blanks for as long as a reply takes.
    """

    def __init__(self, served: ServedConfig) -> None:
        super().__init__()
        context = httpx2.create_ssl_context()
        # A connection for each open request, kept for the next one.
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
        self._pools = [
            DefaultAsyncHttpxClient(verify=context, limits=limits) for _ in range(-(-served.concurrency // _OPEN))
        ]
        self._open = [0] * len(self._pools)
        self._seconds = served.timeout
        # One at a time: a bucket of a minute would let a minute's worth go at once.
        per_minute = served.requests_per_minute
        self._limiter = AsyncLimiter(1, 60 / per_minute) if per_minute else None

    async def send(self, request: httpx2.Request, **settings: Any) -> httpx2.Response:
        """Send one try.

        Raises:
            httpx2.ReadTimeout: the whole reply was not there in time.
        """
        if self._limiter is not None:
            await self._limiter.acquire()
        try:
            async with asyncio.timeout(self._seconds):
                return await self._send(request, **settings)
        except TimeoutError:
            raise httpx2.ReadTimeout("no whole reply in time", request=request) from None

    async def _send(self, request: httpx2.Request, **settings: Any) -> httpx2.Response:
        """Send through the pool with the fewest open requests."""
        place = self._open.index(min(self._open))
        self._open[place] += 1
        try:
            return await self._pools[place].send(request, **settings)
        finally:
            self._open[place] -= 1

    async def aclose(self) -> None:
        """Close all connections."""
        for pool in self._pools:
            await pool.aclose()
        await super().aclose()


def open_client(served: ServedConfig, key: str, http: httpx2.AsyncClient) -> AsyncOpenAI:
    """The client of one provider.

    Args:
        served: its profile.
        key: its key; empty if it asks for none.
        http: what the client sends through.
    """
    shown = key or "none"
    client = AsyncOpenAI(
        api_key=shown,
        base_url=served.base_url,
        max_retries=served.max_retries,
        timeout=Timeout(served.timeout, connect=min(_CONNECT, served.timeout)),
        # Said outright, so that no header from OPENAI_CUSTOM_HEADERS takes its place.
        default_headers={"Authorization": f"Bearer {shown}"},
        http_client=http,
    )
    if client.base_url.host != "api.openai.com":
        # The client takes these from the environment and would tell them to every provider.
        client.organization = client.project = None
    return client
