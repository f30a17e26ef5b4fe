"""Logs of inspect_ai, as version 0.3.285 wrote them, and the same logs cut, damaged and packed otherwise."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from thinkgap.errors import DataError
from thinkgap.importers import Imported, load_responses
from thinkgap.importers.zipped import read_member
from thinkgap.types import Answered


def members(file: Path) -> dict[str, bytes]:
    stream = io.BytesIO(file.read_bytes())
    archive = zipfile.ZipFile(stream)
    return {name: read_member(stream, archive, name) for name in archive.namelist()}


def sample_of(file: Path, name: str) -> dict[str, Any]:
    return json.loads(members(file)[f"samples/{name}.json"])


@pytest.fixture
def repacked(files: Path, tmp_path: Path) -> Callable[..., Path]:
    """`repacked(name, change)`: a log packed with deflate, as earlier versions did, after `change(members)`."""

    def write(name: str, change: Callable[[dict[str, bytes]], None] = lambda _: None) -> Path:
        kept = members(files / name)
        change(kept)
        file = tmp_path / name
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, data in kept.items():
                archive.writestr(member, data)
        return file

    return write


def by_id(found: Imported) -> dict[str, Answered]:
    return {one.question.item_id: one for one in found.answered}


def test_the_files_are_packed_with_zstd(files: Path) -> None:
    with zipfile.ZipFile(files / "own_open.eval") as archive:
        assert {info.compress_type for info in archive.infolist()} == {93}


def test_replies_of_a_model(files: Path) -> None:
    found = load_responses(files / "own_open.eval")
    assert found.format == "inspect"
    assert found.bad == ()
    first = by_id(found)["1"]
    written = sample_of(files / "own_open.eval", "1_epoch_1")
    assert first.response.content == written["output"]["completion"] != ""
    assert first.question.problem == "Question: A baker fills 3 trays with 4 rolls each. How many rolls are there?"
    assert (first.question.dataset, first.question.space, first.question.answer) == ("own_open", "open", "12")
    assert first.response.model == "smollm2"
    assert by_id(found)["3"].question.answer == "5"
    assert "1 row(s): several right answers, of which the first is kept" in found.notes


def test_a_reply_that_used_all_its_tokens_is_cut_where_nobody_said_why_it_ended(files: Path) -> None:
    found = load_responses(files / "own_open.eval")
    for name in ("1", "2", "3"):
        written = sample_of(files / "own_open.eval", f"{name}_epoch_1")["output"]
        assert written["choices"][0]["stop_reason"] == "unknown"
        n_tokens = written["usage"]["output_tokens"]
        one = by_id(found)[name].response
        assert one.completion_tokens == n_tokens
        assert one.finish_reason == ("max_tokens" if n_tokens == 24 else "unknown")
    assert any(
        note.startswith("2 row(s): stop reason unknown, and as many tokens as the limit of 24") for note in found.notes
    )


def test_reasoning_parts_stop_reasons_and_options(files: Path) -> None:
    rows = by_id(load_responses(files / "own_choices.eval"))
    plain = rows["c1"]
    assert plain.response.content == "ANSWER: A"
    assert plain.response.reasoning == "Scissors cut paper, spoons do not."
    assert dict(plain.response.channels) == {"reasoning": "Scissors cut paper, spoons do not."}
    # 50 tokens charged and 5 from the cache were 55 in the prompt.
    assert (plain.response.prompt_tokens, plain.response.completion_tokens) == (55, 20)
    assert plain.response.reasoning_tokens == 12
    assert plain.question.options == ("scissors", "spoon", "pillow", "kettle")
    assert (plain.question.answer, plain.question.labels, plain.question.subject) == ("A", tuple("ABCD"), "things")
    assert rows["c3"].question.labels == ("A", "B", "C")
    assert rows["c3"].question.problem.startswith("Question: Where does a sailor work?\nOptions:\nA. in a mine")
    assert (rows["c3"].response.content, rows["c3"].response.finish_reason) == ("<think>Ships sail, so", "max_tokens")
    assert (rows["c4"].response.content, rows["c4"].response.finish_reason) == ("", "content_filter")


def test_of_encrypted_reasoning_only_the_summary_is_text(files: Path) -> None:
    found = load_responses(files / "own_choices.eval")
    hidden = by_id(found)["c2"].response
    assert hidden.reasoning == "Hens lay eggs."
    assert dict(hidden.channels) == {"reasoning_details": "Hens lay eggs."}
    # The parts of the message are joined as inspect joins them.
    assert hidden.content == sample_of(files / "own_choices.eval", "c2_epoch_1")["output"]["completion"]
    assert "2 row(s): reasoning that the provider encrypted; only its summary is read" in found.notes


def test_epochs_are_responses_of_one_group(files: Path) -> None:
    rows = by_id(load_responses(files / "own_choices.eval"))
    assert sorted(rows) == ["c1", "c1#2", "c2", "c2#2", "c3", "c3#2", "c4", "c4#2"]
    assert rows["c1"].question.group_id == rows["c1#2"].question.group_id != rows["c2"].question.group_id


def test_a_sample_with_an_error_is_a_bad_row(files: Path) -> None:
    found = load_responses(files / "own_errors.eval")
    assert sorted(by_id(found)) == ["1", "3"]
    (bad,) = found.bad
    assert bad.id == "2"
    assert bad.reason == "samples/2_epoch_1.json: inspect recorded an error: RuntimeError('the server hung up')"


def test_shuffled_options_are_refused_because_the_replies_are_gone(files: Path) -> None:
    # The model's text was "Taking all in all: ANSWER: A" for both samples.
    assert "Taking" not in sample_of(files / "own_shuffled.eval", "c1_epoch_1")["output"]["completion"]
    with pytest.raises(DataError, match="what the model wrote is not in the log"):
        load_responses(files / "own_shuffled.eval")


def test_deflate_gives_the_same(files: Path, repacked: Callable[..., Path]) -> None:
    assert load_responses(repacked("own_choices.eval")) == load_responses(files / "own_choices.eval")


def test_an_unfinished_log_gives_what_was_done(files: Path, repacked: Callable[..., Path]) -> None:
    def cut(kept: dict[str, bytes]) -> None:
        for name in ("header.json", "summaries.json", "reductions.json", "samples/3_epoch_1.json"):
            kept.pop(name)

    found = load_responses(repacked("own_open.eval", cut))
    assert sorted(by_id(found)) == ["1", "2"]
    assert found.notes[0] == "the log was not finished: it holds the samples that were done"
    # The limit on tokens stands in the journal as well.
    assert by_id(found)["1"].response.finish_reason == "max_tokens"


def test_attachments_are_put_in(repacked: Callable[..., Path]) -> None:
    def attach(kept: dict[str, bytes]) -> None:
        sample = json.loads(kept["samples/c1_epoch_1.json"])
        sample["input"] = "attachment://a1"
        sample["output"]["choices"][0]["message"]["content"] = [
            {"type": "reasoning", "reasoning": "attachment://a2"},
            {"type": "text", "text": "attachment://a3"},
        ]
        sample["attachments"] = {"a1": "A long question?", "a2": "A long thought.", "a3": "ANSWER: A"}
        kept["samples/c1_epoch_1.json"] = json.dumps(sample).encode()
        sample["attachments"] = {}
        kept["samples/c1_epoch_2.json"] = json.dumps(sample | {"epoch": 2}).encode()

    found = load_responses(repacked("own_choices.eval", attach))
    one = by_id(found)["c1"]
    assert one.question.parts[0] == "A long question?"
    assert (one.response.reasoning, one.response.content) == ("A long thought.", "ANSWER: A")
    assert [bad.reason for bad in found.bad] == ["samples/c1_epoch_2.json: attachment a2 is not in the sample"]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"target": ["A", "B"]}, "several right options (A, B)"),
        ({"target": "E"}, "does not fit space mcq"),
        ({"output": {"choices": []}}, "it has no model output"),
        ({"input": [{"role": "system", "content": "x"}]}, "its input has no turn of the user"),
        ({"output": {"choices": [{}]}}, "no sample of a known layout"),
    ],
)
def test_a_sample_that_cannot_be_used(repacked: Callable[..., Path], change: dict[str, Any], complaint: str) -> None:
    def spoil(kept: dict[str, bytes]) -> None:
        sample = json.loads(kept["samples/c2_epoch_1.json"]) | change
        kept["samples/c2_epoch_1.json"] = json.dumps(sample).encode()
        kept["samples/c3_epoch_1.json"] = b"{"

    found = load_responses(repacked("own_choices.eval", spoil))
    assert len(found.answered) == 6
    assert [bad.id for bad in found.bad] == ["c2", "samples/c3_epoch_1.json"]
    assert complaint in found.bad[0].reason


def test_questions_about_pictures_are_no_group(repacked: Callable[..., Path]) -> None:
    def picture(kept: dict[str, bytes]) -> None:
        for name in ("c1", "c2"):
            sample = json.loads(kept[f"samples/{name}_epoch_1.json"])
            parts = [{"type": "image", "image": f"{name}.png"}, {"type": "text", "text": "What is it?"}]
            sample |= {"input": [{"role": "user", "content": parts}], "choices": ["hen", "dog"], "target": "A"}
            kept[f"samples/{name}_epoch_1.json"] = json.dumps(sample).encode()

    rows = by_id(load_responses(repacked("own_choices.eval", picture)))
    assert rows["c1"].question.problem == rows["c2"].question.problem
    assert (rows["c1"].question.group_id, rows["c2"].question.group_id) == ("c1", "c2")


def test_damage(files: Path, tmp_path: Path) -> None:
    data = bytearray((files / "own_open.eval").read_bytes())
    with zipfile.ZipFile(files / "own_open.eval") as archive:
        info = archive.getinfo("samples/2_epoch_1.json")
    data[info.header_offset + 200] ^= 0xFF
    file = tmp_path / "f.eval"
    file.write_bytes(data)
    found = load_responses(file)
    assert sorted(by_id(found)) == ["1", "3"]
    assert [bad.id for bad in found.bad] == ["samples/2_epoch_1.json"]
    file.write_bytes(bytes(data[: len(data) // 2]))
    with pytest.raises(DataError, match="damaged zip file"):
        load_responses(file)


def test_a_header_of_another_layout(repacked: Callable[..., Path]) -> None:
    for header in (b"[]", b"{", b"{}", b'{"plan": null, "eval": {}}', b'{"plan": {"steps": [1]}, "eval": {}}'):
        with pytest.raises(DataError, match="no .eval log of a known layout"):
            load_responses(repacked("own_open.eval", lambda kept, text=header: kept.update({"header.json": text})))


def test_a_log_without_samples(repacked: Callable[..., Path]) -> None:
    def drop(kept: dict[str, bytes]) -> None:
        for name in [name for name in kept if name.startswith("samples/")]:
            kept.pop(name)

    with pytest.raises(DataError, match="holds no sample"):
        load_responses(repacked("own_open.eval", drop))
