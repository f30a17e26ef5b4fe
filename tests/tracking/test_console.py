"""Logging set-up and progress bars."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from thinkgap.tracking.console import ProgressHandler, setup_logging
from thinkgap.tracking.progress import progress


@pytest.fixture(autouse=True)
def root_logger() -> Iterator[logging.Logger]:
    """The root logger without handlers, put back afterwards."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    quiet = {name: logging.getLogger(name).level for name in ("transformers", "wandb")}
    root.handlers[:] = []
    yield root
    for handler in root.handlers:
        handler.close()
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, old in quiet.items():
        logging.getLogger(name).setLevel(old)


def test_one_console_handler_however_often_it_is_called(
    root_logger: logging.Logger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    hydras = logging.FileHandler(tmp_path / "evaluate.log")
    root_logger.handlers[:] = [logging.StreamHandler(sys.stdout), hydras]
    setup_logging()
    setup_logging()
    assert [type(handler) for handler in root_logger.handlers] == [logging.FileHandler, ProgressHandler]
    logging.getLogger("thinkgap.x").info("hello %d", 1)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.endswith("INFO    thinkgap.x: hello 1\n")
    assert (tmp_path / "evaluate.log").read_text() == shown.err


def test_a_message_cannot_command_the_terminal(
    root_logger: logging.Logger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root_logger.handlers[:] = [logging.FileHandler(tmp_path / "evaluate.log")]
    setup_logging()
    logging.getLogger("thinkgap.x").warning("row %s\n\tof 2: é", "\x1b]0;title\x07\x9b31m\u202e\rname")
    shown = capsys.readouterr().err
    assert shown.endswith("thinkgap.x: row \\x1b]0;title\\x07\\x9b31m\\u202e\\rname\n\tof 2: é\n")
    assert (tmp_path / "evaluate.log").read_text(encoding="utf-8") == shown


def test_third_parties_and_other_ranks_only_warn(root_logger: logging.Logger, capsys: pytest.CaptureFixture[str]):
    setup_logging()
    logging.getLogger("httpx.client").info("chatter")
    logging.getLogger("httpx.client").warning("mind this")
    assert capsys.readouterr().err.splitlines()[0].endswith("WARNING httpx.client: mind this")
    setup_logging(rank=1)
    logging.getLogger("thinkgap.x").info("hello")
    assert capsys.readouterr().err == ""
    logging.getLogger("thinkgap.x").error("lost")
    line = capsys.readouterr().err
    assert line.startswith("rank 1: ")
    assert line.endswith("ERROR   thinkgap.x: lost\n")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "enabled", "shown"), [(Terminal, True, True), (Terminal, False, False), (io.StringIO, True, False)]
)
def test_bars_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch, stream: type, enabled: bool, shown: bool):
    sink = stream()
    monkeypatch.setattr(sys, "stderr", sink)
    assert list(progress(range(3), description="scoring", enabled=enabled)) == [0, 1, 2]
    assert bool(sink.getvalue()) is shown
    if shown:
        assert "scoring" in sink.getvalue()
        assert "item/s" in sink.getvalue()


def test_bars_by_hand_start_where_a_resume_does(monkeypatch: pytest.MonkeyPatch):
    sink = Terminal()
    monkeypatch.setattr(sys, "stderr", sink)
    with progress(total=10, initial=4) as bar:
        bar.update(6)
    assert "4/10" in sink.getvalue()
    assert "10/10" in sink.getvalue()
