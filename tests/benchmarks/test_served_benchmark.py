"""The benchmark of served models runs from end to end, and its server has the limit that it says."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from benchmarks import served_responses, slot_server


def test_a_quick_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "")  # set by the benchmark; put back afterwards
    served_responses.main(["--quick", "--seconds", "0.05", "--slots", "5", "--out", str(tmp_path)])
    result = json.loads((tmp_path / "served_responses-quick.json").read_text())
    assert (result["requests"], result["concurrency"], result["slots"], result["bound"]) == (40, 20, 5, 0.9)
    # 5 slots of 0.05 s are 100 replies a second, so 40 of them take 0.4 s for any client.
    assert result["server_by_arithmetic_per_s"] == pytest.approx(100)
    limited = result["limited"]
    assert all(side["median_s"] >= 0.4 for side in limited["sides"].values())
    assert limited["per_s"]["raw"] == pytest.approx(40 / limited["sides"]["raw"]["median_s"])
    assert result["share"] == pytest.approx(limited["per_s"]["thinkgap"] / limited["per_s"]["raw"])
    assert [(row["server"], row["client"]) for row in result["table"]] == [
        ("limited", "raw"),
        ("limited", "thinkgap"),
        ("instant", "raw"),
        ("instant", "thinkgap"),
    ]


def test_the_server_says_how_long_its_reply_is() -> None:
    head, _, body = slot_server.reply(3).partition(b"\r\n\r\n")
    assert slot_server.content_length(head) == len(body)
    assert json.loads(body)["choices"][0]["message"]["content"] == r"word word word \boxed{B}"
    assert slot_server.content_length(b"GET / HTTP/1.1\r\nhost: here") == 0


def test_a_raw_client_against_a_server_that_is_not_there() -> None:
    cfg = served_responses.model_of("http://127.0.0.1:9/v1", concurrency=2)
    with pytest.raises(ConnectionError):
        asyncio.run(served_responses.raw([served_responses.request_of(cfg, 0)], 2))
