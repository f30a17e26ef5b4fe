"""The store of replies: what is in it stays in it, whatever happens to the process, the file or its neighbours."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.backends.served.loopback import chat, model, question
from tests.conftest import ROOT
from thinkgap.backends.served import ResponseStore
from thinkgap.errors import StoreError

CFG = model("http://localhost:1/v1")


def test_a_reply_is_found_by_its_request_and_only_by_it(tmp_path: Path) -> None:
    asked, other = question(CFG, "a"), question(CFG, "b")
    with ResponseStore.open(tmp_path, "m") as store:
        assert store.put(asked, chat("B"), 1.5) == chat("B")
        assert store.get(asked.key) == chat("B")
        assert (asked.key in store, other.key in store, len(store)) == (True, False, 1)
        assert store.get(other.key) is None
    with ResponseStore.open(tmp_path, "m") as store:
        assert store.get(asked.key) == chat("B")
    with ResponseStore.open(tmp_path, "another model") as store:
        assert (store.path.name, len(store)) == ("another_model.sqlite", 0)


@pytest.mark.parametrize("text", ["", "é 🙂 \u2028 \x00", "\ud83d", "'; DROP TABLE replies; --", "x" * 1_000_000])
def test_any_text_comes_back_as_it_was(text: str, tmp_path: Path) -> None:
    with ResponseStore.open(tmp_path, "m") as store:
        store.put(question(CFG), {"choices": text}, 0.0)
        assert store.get(question(CFG).key) == {"choices": text}


def test_the_first_reply_stays(tmp_path: Path) -> None:
    """Two processes may pay for the same reply; all that is measured must come from one of them."""
    with ResponseStore.open(tmp_path, "m") as one, ResponseStore.open(tmp_path, "m") as two:
        assert one.put(question(CFG), chat("first"), 0.0) == chat("first")
        assert two.put(question(CFG), chat("second"), 0.0) == chat("first")
        assert (len(one), two.get(question(CFG).key)) == (1, chat("first"))


def test_export_holds_request_and_reply_by_key(tmp_path: Path) -> None:
    requests = sorted((question(CFG, text) for text in "abc"), key=lambda one: one.key)
    with ResponseStore.open(tmp_path, "m") as store:
        for number, request in enumerate(reversed(requests)):
            store.put(request, chat(str(number)), number / 2)
        assert store.export(tmp_path / "out.jsonl") == 3
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["key"] for row in rows] == [request.key for request in requests]
    assert [row["reply"]["choices"][0]["message"]["content"] for row in rows] == ["2", "1", "0"]
    assert [row["seconds"] for row in rows] == [1.0, 0.5, 0.0]
    assert [row["request"] for row in rows] == [request.record() for request in requests]
    assert rows[0]["asked_at"].endswith("+00:00")


def test_a_damaged_reply_is_told_and_asked_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    good, bad = question(CFG, "good"), question(CFG, "bad")
    with ResponseStore.open(tmp_path, "m") as store:
        store.put(good, chat("B"), 0.0)
        store.put(bad, chat("B"), 0.0)
        path = store.path
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE replies SET reply = replace(reply, 'stop', 'halt') WHERE key = ?", (bad.key,))
    connection.close()
    with ResponseStore.open(tmp_path, "m") as store:
        assert (store.get(bad.key), store.get(good.key)) == (None, chat("B"))
        assert "damaged" in caplog.text
        assert store.put(bad, chat("C"), 0.0) == chat("C")


def test_a_torn_tail_costs_the_last_replies_only(tmp_path: Path) -> None:
    """A power cut in the middle of a write leaves half a write at the end of the log."""
    requests = [question(CFG, str(n)) for n in range(20)]
    with ResponseStore.open(tmp_path, "m") as store:
        for request in requests[:19]:
            store.put(request, chat("B"), 0.0)
        whole = (tmp_path / "m.sqlite-wal").stat().st_size
        store.put(requests[19], chat("B"), 0.0)
        torn = tmp_path / "torn"
        torn.mkdir()
        # As the files lie there while a writer is at work; closing would fold the log into the file.
        for name in ("m.sqlite", "m.sqlite-wal"):
            shutil.copy(tmp_path / name, torn / name)
    log = torn / "m.sqlite-wal"
    assert log.stat().st_size > whole
    with log.open("r+b") as file:
        file.truncate(log.stat().st_size - 100)
    with ResponseStore.open(torn, "m") as store:
        assert [request.key in store for request in requests] == [True] * 19 + [False]
        store.put(requests[19], chat("again"), 0.0)
        assert len(store) == 20


def test_a_file_that_is_no_store_is_named(tmp_path: Path) -> None:
    (tmp_path / "m.sqlite").write_bytes(b"not a database at all, and long enough to be looked at" * 100)
    with pytest.raises(StoreError, match=r"m\.sqlite is damaged.*move it away"):
        ResponseStore.open(tmp_path, "m")


def test_a_file_that_is_damaged_inside_is_named(tmp_path: Path) -> None:
    with ResponseStore.open(tmp_path, "m") as store:
        for n in range(200):
            store.put(question(CFG, str(n)), chat("B" * 200), 0.0)
        path = store.path
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)
    with ResponseStore.open(tmp_path, "m") as store, pytest.raises(StoreError, match=r"m\.sqlite is damaged"):
        store.get(question(CFG, "7").key)


def test_a_file_of_another_version_is_left_alone(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "m.sqlite")
    connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(StoreError, match=r"another version of thinkgap \(form 9\).*paths.responses_dir"):
        ResponseStore.open(tmp_path, "m")


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"file cannot be made .*paths.responses_dir"):
        ResponseStore.open(tmp_path / "file", "m")
    (tmp_path / "m.sqlite").mkdir()
    with pytest.raises(StoreError, match=r"m\.sqlite cannot be used.*paths.responses_dir"):
        ResponseStore.open(tmp_path, "m")


WRITER = """
import sys
from pathlib import Path
from tests.backends.served.loopback import chat, model, question
from thinkgap.backends.served import ResponseStore
me, folder = sys.argv[1:]
cfg = model("http://localhost:1/v1")
for n in range(40):
    # Opened anew each time, so that processes meet at the beginning of the file too.
    with ResponseStore.open(folder, "m") as store:
        stored = store.put(question(cfg, str(n)), chat(me), 0.0)
        assert store.get(question(cfg, str(n)).key) == stored
        store.put(question(cfg, f"{me} {n}"), chat(me), 0.0)
"""


def test_processes_share_a_file(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER]
    processes = [
        subprocess.Popen([*command, str(n), str(tmp_path)], cwd=ROOT, stderr=subprocess.PIPE, text=True)
        for n in range(3)
    ]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    with ResponseStore.open(tmp_path, "m") as store:
        # 40 that all of them put, and 40 of each of the three.
        assert len(store) == 40 + 3 * 40
        assert {row["reply"]["choices"][0]["message"]["content"] for row in store.rows()} == {"0", "1", "2"}


def test_every_reply_is_synced(tmp_path: Path) -> None:
    with ResponseStore.open(tmp_path, "m") as store:
        values = [store._connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
    assert values == ["wal", 2], "2 is FULL"
