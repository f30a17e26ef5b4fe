"""The store of replies: exact round trips, other caps and stop tokens, kills, damage, other contexts."""

from __future__ import annotations

import hashlib
import logging
import math
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.store.cell_examples import CONTEXT, prompt
from thinkgap.errors import StoreError
from thinkgap.scoring.reply import Finish, Reply
from thinkgap.store import shards
from thinkgap.store.replies import SCHEMA, ReplyStore, reply_key, up_to
from thinkgap.types import Prompt

STOPS = (2, 0)
ITEMS = tuple(f"q{number}" for number in range(6))


class Killed(BaseException):
    """Stands for SIGKILL."""


def reply(
    item: str = "q1", tokens: tuple[int, ...] = (5, 6), finish: Finish = "stop", condition: str = "direct"
) -> Reply:
    first = tokens[0] if tokens else STOPS[0]
    return Reply(prompt(item, condition), tokens, finish, (-0.1 - 1 / 3, -math.inf, -math.pi), first)


def several() -> list[Reply]:
    """Replies of unequal lengths under a cap of 8: empty ones, stopped ones, and ones that were cut."""
    found = [reply(item, tuple(range(10, 10 + 2 * number))) for number, item in enumerate(ITEMS[:4])]
    return [*found, *(reply(item, tuple(range(20, 28)), "length") for item in ITEMS[4:])]


def opened(folder: Path, cap: int = 8, stops: tuple[int, ...] = STOPS) -> ReplyStore:
    return ReplyStore.open(folder, CONTEXT, max_new_tokens=cap, stop_ids=stops)


def prompts(replies: list[Reply]) -> list[Prompt]:
    return [one.prompt for one in replies]


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_replies_come_back_as_they_were(tmp_path: Path) -> None:
    store, written = opened(tmp_path), several()
    assert store.get(prompts(written)) == [None] * 6
    path = store.write(written)
    assert path is not None
    for again in (store, opened(tmp_path)):
        assert len(again) == 6
        found = again.get(prompts(written)[::-1])
        assert found == written[::-1]
        for one, other in zip(found, written[::-1], strict=True):
            assert one is not None
            assert one.prompt is other.prompt
            assert isinstance(one.token_ids, tuple)
        assert written[0].prompt in again
        assert prompt("q9") not in again
        assert again.get([]) == []
    assert files(tmp_path) == ["fingerprint.json", path.name]
    columns = pq.read_schema(path).names
    assert columns == SCHEMA.names
    assert columns[:5] == ["key", "prompt_sha256", "item_id", "presentation", "condition"]
    # Equal replies give a file of an equal name.
    other = opened(tmp_path / "other").write(written)
    assert other is not None
    assert other.name == path.name


def test_the_key_by_hand() -> None:
    asked = prompt("q1")
    assert asked.label_ids == ((32, 362), (33,), (34,))
    text = f'["{asked.sha256}", [[32, 362], [33], [34]], [0, 2]]'
    assert reply_key(asked, (2, 0)) == hashlib.sha256(text.encode()).hexdigest()
    assert reply_key(asked, (0, 2)) == reply_key(asked, (2, 0))
    assert reply_key(asked, (0,)) != reply_key(asked, (2, 0))
    assert reply_key(replace(asked, label_ids=((1,), (2,))), STOPS) != reply_key(asked, STOPS)
    assert reply_key(prompt("q1", "think"), STOPS) != reply_key(asked, STOPS)
    with pytest.raises(ValueError, match="q1, condition direct has no sha256"):
        reply_key(replace(asked, sha256=""), STOPS)


@pytest.mark.parametrize(
    ("tokens", "finish", "cap", "expected"),
    [
        # It stopped as its third token: any cap that allows three gives the same.
        ((5, 6), "stop", 3, ((5, 6), "stop")),
        ((5, 6), "stop", 400, ((5, 6), "stop")),
        # A cap of two is full before the stop token.
        ((5, 6), "stop", 2, ((5, 6), "length")),
        ((5, 6), "stop", 1, ((5,), "length")),
        ((), "stop", 1, ((), "stop")),
        # It was cut at three: nothing is known of a fourth.
        ((5, 6, 7), "length", 3, ((5, 6, 7), "length")),
        ((5, 6, 7), "length", 2, ((5, 6), "length")),
        ((5, 6, 7), "length", 4, None),
    ],
)
def test_a_reply_under_another_cap_by_hand(
    tokens: tuple[int, ...], finish: Finish, cap: int, expected: tuple[tuple[int, ...], Finish] | None
) -> None:
    assert up_to(tokens, finish, cap) == expected


def test_a_larger_cap_uses_what_stopped_by_itself(tmp_path: Path) -> None:
    written = several()
    opened(tmp_path).write(written)
    larger = opened(tmp_path, cap=100)
    assert larger.get(prompts(written)) == [*written[:4], None, None]
    assert [one.prompt in larger for one in written] == [True] * 4 + [False] * 2
    longer = [replace(written[4], token_ids=(*written[4].token_ids, 99), finish="stop")]
    longer.append(replace(written[5], token_ids=tuple(range(20, 120))))
    larger.write(longer)
    assert larger.get(prompts(written)) == [*written[:4], *longer]
    # Each run sees what its own cap gives, in whichever order the shards are read.
    assert opened(tmp_path, cap=100).get(prompts(written)) == [*written[:4], *longer]
    assert opened(tmp_path).get(prompts(written)) == written
    short = opened(tmp_path, cap=4)
    assert [one and (one.token_ids, one.finish) for one in short.get(prompts(written))] == [
        ((), "stop"),
        ((10, 11), "stop"),
        ((10, 11, 12, 13), "length"),
        ((10, 11, 12, 13), "length"),
        ((20, 21, 22, 23), "length"),
        ((20, 21, 22, 23), "length"),
    ]
    assert len(short) == 6
    before = files(tmp_path)
    assert short.write([one for one in short.get(prompts(written)) if one]) is None
    assert files(tmp_path) == before


def test_a_shorter_reply_does_not_hide_a_longer_one(tmp_path: Path) -> None:
    """Two runs at once: the one with the smaller cap writes last."""
    small, large = opened(tmp_path, cap=3), opened(tmp_path, cap=9)
    long = reply(tokens=(1, 3, 4, 5, 6), finish="stop")
    large.write([long])
    small.write([reply(tokens=(1, 3, 4), finish="length")])
    assert opened(tmp_path, cap=9).get([long.prompt]) == [long]
    assert opened(tmp_path, cap=4).get([long.prompt]) == [replace(long, token_ids=(1, 3, 4, 5), finish="length")]


def test_other_stop_tokens_are_other_replies(tmp_path: Path) -> None:
    opened(tmp_path).write(several())
    other = opened(tmp_path, stops=(2,))
    assert other.get(prompts(several())) == [None] * 6
    mine = reply("q1", (10, 11, 2, 7), "stop")
    other.write([mine])
    assert other.get([mine.prompt]) == [mine]
    assert opened(tmp_path).get([mine.prompt]) == [several()[1]]
    assert opened(tmp_path, stops=STOPS[::-1]).get(prompts(several())) == several()


def test_replies_that_are_there_are_not_written_again(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.write(several()[:3])
    later = [replace(one, label_logprobs=(-1.0, -2.0, -3.0)) for one in several()]
    store.write([*later, *several()])
    assert store.get(prompts(later)) == [*several()[:3], *later[3:]]
    assert store.write(later) is None
    assert store.write([]) is None
    assert len(files(tmp_path)) == 3


@pytest.mark.parametrize(
    ("tokens", "finish"), [(tuple(range(9)), "length"), (tuple(range(3)), "length"), ((1,) * 8, "stop")]
)
def test_what_the_cap_does_not_give_is_refused(tmp_path: Path, tokens: tuple[int, ...], finish: Finish) -> None:
    with pytest.raises(ValueError, match="item q1, condition direct: a reply of . tokens .* under a cap of 8"):
        opened(tmp_path).write([reply(tokens=tokens, finish=finish)])


def test_a_token_that_no_column_holds(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be stored"):
        opened(tmp_path).write([reply(tokens=(2**40,))])


def test_another_context_is_refused(tmp_path: Path) -> None:
    opened(tmp_path).write(several())
    with pytest.raises(
        StoreError, match=r"holds replies with other settings[\s\S]*model.dtype: \"float32\" in the folder"
    ):
        ReplyStore.open(
            tmp_path, CONTEXT | {"model": {"path": "m", "dtype": "bfloat16"}}, max_new_tokens=8, stop_ids=STOPS
        )


def test_a_foreign_shard_is_left_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    other = ReplyStore.open(tmp_path / "other", {"model": "n"}, max_new_tokens=8, stop_ids=STOPS).write(several())
    opened(tmp_path / "mine").write([reply("q9")])
    assert other is not None
    (tmp_path / "mine" / other.name).write_bytes(other.read_bytes())
    with caplog.at_level(logging.WARNING):
        store = opened(tmp_path / "mine")
    assert len(store) == 1
    assert "1 shards in" in caplog.text
    assert (tmp_path / "mine" / other.name).exists()


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "no parquet"])
def test_damaged_shards_are_dropped(tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    store, written = opened(tmp_path), several()
    bad = store.write(written[:3])
    good = store.write(written[3:])
    assert bad is not None
    data = bad.read_bytes()
    middle = len(data) // 2
    bad.write_bytes(
        {
            "cut": data[:-7],
            "flipped": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
            "empty": b"",
            "no parquet": b"text",
        }[damage]
    )
    with caplog.at_level(logging.WARNING):
        # One that is open notices when it reads, one that starts at once.
        assert store.get(prompts(written)) == [None] * 3 + written[3:]
    assert f"{bad.name} is damaged" in caplog.text
    assert "shard removed, its replies are generated again" in caplog.text
    assert not bad.exists()
    bad.write_bytes(data[:-7])
    assert opened(tmp_path).get(prompts(written)) == [None] * 3 + written[3:]
    assert files(tmp_path) == sorted(["fingerprint.json", good.name if good else ""])
    store.write(written)
    assert opened(tmp_path).get(prompts(written)) == written


def test_a_shard_that_went_away_is_generated_again(tmp_path: Path) -> None:
    store = opened(tmp_path)
    path = store.write(several())
    assert path is not None
    path.unlink()
    assert store.get(prompts(several())) == [None] * 6
    assert len(store) == 0


def test_a_killed_writer_leaves_nothing_that_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = opened(tmp_path)
    store.write(several()[:2])

    def killed(path: Path, data: bytes) -> None:
        (path.parent / f".{path.name}.123.tmp").write_bytes(data[:20])
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(shards, "write_bytes", killed)
        with pytest.raises(Killed):
            store.write(several())
    again = opened(tmp_path)
    assert again.get(prompts(several())) == [*several()[:2], None, None, None, None]
    again.write(several())
    assert opened(tmp_path).get(prompts(several())) == several()


def test_a_folder_that_was_deleted_is_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "replies"
    store = opened(folder)
    (folder / "fingerprint.json").unlink()
    folder.rmdir()
    store.write(several())
    assert opened(folder).get(prompts(several())) == several()
