"""A Chromium for tests of pages, and a page in a profile of its own; tests are skipped where there is no browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@contextmanager
def chromium() -> Iterator[Any]:
    """A running browser."""
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (pip install -e '.[dev]')")
    asked = os.environ.get("THINKGAP_BROWSER", "")
    program = next((found for name in (asked, *BROWSERS) if name and (found := shutil.which(name))), None)
    if program is None:
        pytest.skip("no Chromium here: install chromium, or set THINKGAP_BROWSER to a browser of its family")
    with driver.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program)
        yield running
        running.close()


@dataclass
class Visit:
    """A page, with all that it requested and complained of."""

    page: Any
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def open(self, file: Path, address: str = "") -> Visit:
        """Loads a file and goes to an address in it."""
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on(
            "console", lambda said: self.complaints.append(said.text) if said.type in ("error", "warning") else None
        )
        self.page.goto(file.as_uri() + address)
        return self
