"""Fixtures of tests of judges: those of served models, as judges are asked the same way."""

from __future__ import annotations

from tests.backends.served.conftest import own_environment, quick

__all__ = ["own_environment", "quick"]
