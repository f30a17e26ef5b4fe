"""Manifests: what they hold, and that secrets are not in them."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from datetime import UTC, datetime, timedelta, timezone
from enum import Enum
from pathlib import Path

import numpy as np
import pytest

from thinkgap.errors import StoreError
from thinkgap.store import collect_manifest, read_manifest, write_manifest
from thinkgap.store.manifest import code_state
from thinkgap.store.redact import looks_secret, plain

START = datetime(2026, 3, 1, 12, 0, 0, tzinfo=timezone(timedelta(hours=2)))


def test_facts_of_the_process(tmp_path: Path):
    manifest = collect_manifest({"model": {"revision": "abc"}}, started=START, finished=START + timedelta(minutes=1))
    write_manifest(tmp_path, manifest)
    stored = read_manifest(tmp_path)
    assert stored == manifest
    assert (stored["started"], stored["finished"]) == ("2026-03-01T10:00:00+00:00", "2026-03-01T10:01:00+00:00")
    assert stored["python"] == platform.python_version()
    assert stored["libraries"]["numpy"] == importlib.metadata.version("numpy")
    assert stored["model"] == {"revision": "abc"}


def test_a_run_that_goes_on_has_no_end():
    assert collect_manifest({}, started=datetime.now(UTC))["finished"] is None


def test_wrong_facts_are_refused():
    with pytest.raises(ValueError, match="time zone"):
        collect_manifest({}, started=datetime(2026, 1, 1))
    with pytest.raises(ValueError, match="python"):
        collect_manifest({"python": 1}, started=START)


def test_absent_and_damaged_manifests_are_explained(tmp_path: Path):
    with pytest.raises(StoreError, match="does not exist"):
        read_manifest(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(StoreError, match="damaged"):
        read_manifest(tmp_path)


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_code_state_follows_git(tmp_path: Path):
    code = tmp_path / "src"
    code.mkdir()
    assert code_state(code)["commit"] is None
    assert code_state(code)["reason"]
    git(tmp_path, "init", "-q")
    (code / "a.py").write_text("1\n")
    assert code_state(code)["commit"] is None  # inside a checkout, but not of it
    (tmp_path / "evaluate.py").write_text("1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "x")
    assert code_state(code) == {"commit": git(tmp_path, "rev-parse", "HEAD"), "dirty": False}
    (tmp_path / "outputs.txt").touch()
    assert code_state(code)["dirty"] is False
    (tmp_path / "evaluate.py").write_text("2\n")
    assert code_state(code)["dirty"] is True
    git(tmp_path, "checkout", "evaluate.py")
    (code / "new.py").touch()
    assert code_state(code)["dirty"] is True


def test_names_that_look_secret():
    secret = ["api_key", "API_KEY", "apiKey", "HF_TOKEN", "password", "client_secret", "x-api-key", "OPENAI_API_KEY"]
    secret += ["api_key_env", "Authorization", "token", "hub_token", "secrets"]
    assert [name for name in secret if not looks_secret(name)] == []
    open_names = ["max_tokens", "n_image_tokens", "tokenizers", "label_token_ids", "monkey", "keyboard", "name", "path"]
    assert [name for name in open_names if looks_secret(name)] == []


def test_secrets_are_dropped_by_name_and_by_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MADE_UP_API_KEY", "sk-made-up-value")
    facts = {
        "served": {"base_url": "https://x/?k=sk-made-up-value", "api_key": "other", "list": ["sk-made-up-value", 1]},
        "max_tokens": 5,
    }
    path = write_manifest(tmp_path, collect_manifest(facts, started=START))
    assert "sk-made-up-value" not in path.read_text()
    stored = read_manifest(tmp_path)
    assert stored["served"] == {"base_url": "[removed]", "list": ["[removed]", 1]}
    assert stored["max_tokens"] == 5


def test_paths_below_the_working_folder_stay_readable(monkeypatch: pytest.MonkeyPatch):
    """PWD is no password."""
    monkeypatch.setenv("PWD", "/home/somebody")
    monkeypatch.setenv("OLDPWD", "/home/somebody/else")
    monkeypatch.setenv("MADE_UP_PWD", "made-up-password")
    found = plain({"cells": "/home/somebody/else/cells", "url": "https://x:made-up-password@y"})
    assert found == {"cells": "/home/somebody/else/cells", "url": "[removed]"}


def test_plain_gives_json_values():
    class Colour(Enum):
        red = "r"

    found = plain({"a": (1, np.int64(2), np.float32(0.5)), "b": Colour.red, 3: Path("x"), "c": None, "d": True}, [])
    assert found == {"a": [1, 2, 0.5], "b": "r", "3": "x", "c": None, "d": True}
    assert [type(value) for value in found["a"]] == [int, int, float]
