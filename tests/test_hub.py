"""Without a network nothing is tried again and again."""

from __future__ import annotations

import socket
from typing import Any

import datasets.config as rows
import huggingface_hub.constants as constants
import pytest

from tests.test_config import composed
from thinkgap.data import load_dataset_items
from thinkgap.errors import DataError
from thinkgap.hub import offline_if_unreachable


@pytest.fixture(autouse=True)
def online(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(rows, "HF_HUB_OFFLINE", False)


def unknown(*given: Any, **named: Any) -> Any:
    raise socket.gaierror(-2, "Name or service not known")


def test_a_name_that_cannot_be_resolved(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert offline_if_unreachable()
    assert (constants.HF_HUB_OFFLINE, rows.HF_HUB_OFFLINE) == (True, True)
    assert "huggingface.co cannot be found" in caplog.text
    with pytest.raises(DataError, match=r"google/boolq .*cannot be loaded.*without a network set dataset\.path"):
        load_dataset_items(composed("dataset=boolq").dataset)


def test_a_hub_that_is_there_and_a_proxy_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *given, **named: [])
    assert not offline_if_unreachable()
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    assert not offline_if_unreachable()
    assert not constants.HF_HUB_OFFLINE
