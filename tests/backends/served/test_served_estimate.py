"""Calls and tokens before a run, counted by hand."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.backends.served.loopback import chat, model, question
from thinkgap.backends.served import CallEstimate, ResponseStore, build_request, estimate, estimate_sheet
from thinkgap.readouts.sheet import sheet_markdown
from thinkgap.schema import PrefillForm
from thinkgap.types import Thinking

CFG = model("http://localhost:1/v1", prefill=PrefillForm.prefix)


@pytest.fixture
def without_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)


@pytest.mark.usefixtures("without_tiktoken")
def test_calls_and_tokens_by_hand(tmp_path: Path) -> None:
    requests = [question(CFG, text) for text in ("a" * 9, "b" * 8, "c" * 100, "a" * 9)]
    turns = [{"role": "system", "content": "12345"}, {"role": "user", "content": [{"type": "text", "text": "67"}]}]
    requests.append(build_request(CFG, turns, Thinking.disabled, max_new_tokens=100, prefill="89"))
    with ResponseStore.open(tmp_path, "m") as store:
        store.put(requests[2], chat("B"), 0.0)
        found = estimate("strict", requests, store)
    # Five requests, four of them distinct, one of those stored. 9 characters are 2.25, so 3 tokens; 8 are 2; five, two
    # and two with a line end after each of the first two are 11, so 3. Limits: 16 + 16 + 100.
    assert found == CallEstimate("strict", 5, 1, 3, 3 + 2 + 3, 132, "characters / 4")


def test_tiktoken_counts_if_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def encode(text: str, disallowed_special: tuple[str, ...]) -> list[str]:
        assert disallowed_special == (), "a text that spells out a control token is no error"
        return text.split()

    fake = SimpleNamespace(get_encoding=lambda name: SimpleNamespace(encode=encode))
    monkeypatch.setitem(sys.modules, "tiktoken", fake)
    with ResponseStore.open(tmp_path, "m") as store:
        found = estimate("strict", [question(CFG, "one two three")], store)
    assert (found.prompt_tokens, found.counted_by) == (3, "tiktoken o200k_base")


def test_a_vocabulary_that_cannot_be_fetched_is_no_reason_to_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def get_encoding(name: str) -> None:
        raise OSError("no network")

    monkeypatch.setitem(sys.modules, "tiktoken", SimpleNamespace(get_encoding=get_encoding))
    with ResponseStore.open(tmp_path, "m") as store:
        assert estimate("strict", [question(CFG, "12345678")], store).prompt_tokens == 2


def test_the_sheet_sums_its_rows() -> None:
    rows = [CallEstimate("cot", 10, 4, 6, 600, 96, "characters / 4"), CallEstimate("soft", 5, 0, 5, 50, 80, "x")]
    sheet = estimate_sheet("far", rows)
    assert sheet.rows[-1] == ("all", 15, 4, 11, 650, 176)
    assert sheet.rows[0] == ("cot", 10, 4, 6, 600, 96)
    text = sheet_markdown(sheet)
    assert "counted by characters / 4" in text
    assert "output tokens at most" in text
    assert len(estimate_sheet("far", rows[:1]).rows) == 1
    with pytest.raises(ValueError, match="no estimates"):
        estimate_sheet("far", [])
