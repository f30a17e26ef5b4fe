"""Fixtures of tests of served models: a key, no proxies, and quick waits between tries."""

from __future__ import annotations

import pytest

from tests.backends.served.loopback import KEY, KEY_ENV


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv(KEY_ENV, KEY)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits that no server asked for are 20 ms instead of half a second and more."""
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.02)
    monkeypatch.setattr("openai._base_client.MAX_RETRY_DELAY", 0.02)
