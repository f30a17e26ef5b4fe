"""What a file is, by its content: formats under wrong suffixes, encodings, and what is refused with the way out."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path

import pytest

from thinkgap.errors import DataError
from thinkgap.importers import load_responses

ROW = {"question": "Größe?", "response": "Ω", "gold": "Ω", "space": "open"}
LINE = json.dumps(ROW, ensure_ascii=False) + "\n"


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("samples_own_open_*.jsonl", "lm_eval"),
        ("own_choices.eval", "inspect"),
        ("model_own.tsv", "vlmeval"),
    ],
)
def test_suffixes_are_not_asked(files: Path, tmp_path: Path, name: str, format: str) -> None:
    (source,) = files.glob(name)
    renamed = tmp_path / "file.dat"
    renamed.write_bytes(source.read_bytes())
    found = load_responses(renamed)
    assert found.format == format
    told = load_responses(source, format=format)  # type: ignore[arg-type]
    assert [one.response for one in found.answered] == [one.response for one in told.answered]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_encodings_that_say_what_they_are(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "f.jsonl"
    file.write_bytes((LINE + LINE.replace("Gr", "gr")).encode(encoding))
    found = load_responses(file)
    assert [one.response.content for one in found.answered] == ["Ω", "Ω"]
    assert any(encoding.upper() in note for note in found.notes) is encoding.startswith(("utf-16", "utf-32"))


def test_two_files_with_marks_joined(tmp_path: Path) -> None:
    file = tmp_path / "f.jsonl"
    file.write_bytes(LINE.encode("utf-8-sig") + LINE.replace("Gr", "gr").encode("utf-8-sig"))
    assert len(load_responses(file).answered) == 2


def test_a_line_in_another_encoding_is_one_bad_row(tmp_path: Path) -> None:
    file = tmp_path / "f.jsonl"
    file.write_bytes(
        LINE.encode() + '{"question": "Größe'.encode("latin-1") + b'"}\n' + LINE.replace("Gr", "gr").encode()
    )
    found = load_responses(file)
    assert len(found.answered) == 2
    # {"question": "Gr is 16 bytes, from 0.
    assert [bad.reason for bad in found.bad] == ["line 2 is not UTF-8: invalid start byte at byte 16"]


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"\xef\xbb\xbf \n", "is empty"),
        (b"\xff\xfe", "is empty"),
        (LINE.encode("utf-16-le"), "line 1, byte 2: a zero byte; it is UTF-16 without its mark"),
        (LINE.encode("utf-16")[:-1], "begins as UTF-16 and is not at byte"),
        (gzip.compress(LINE.encode(), mtime=0), "compressed with gzip"),
        (b"\xd0\xcf\x11\xe0" + bytes(9), "save it as .xlsx"),
        (b'[{"question": "q"}]', "JSON array: write one object per line"),
        (json.dumps({"results": {}, "configs": {}}, indent=1).encode(), "give the samples_*.jsonl"),
        (json.dumps({"version": 2, "eval": {}, "samples": []}).encode(), "inspect log convert --to eval"),
        (b"index,question,answer,prediction\n1,q,A,A\n", "save it with tabs"),
        (b"Dear reader", "it begins with 'Dear reader'"),
        (b"PK\x03\x04broken", "damaged zip file"),
        (b"PAR1broken", "no readable Parquet file"),
        (b'{"question": "q"', "line 1 is not JSON"),
    ],
)
def test_refused_files(tmp_path: Path, data: bytes, complaint: str) -> None:
    file = tmp_path / "f.jsonl"
    file.write_bytes(data)
    with pytest.raises(DataError) as error:
        load_responses(file)
    assert complaint in str(error.value)
    assert str(file) in str(error.value)


def test_a_zip_of_something_else(tmp_path: Path) -> None:
    file = tmp_path / "f.eval"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("notes.txt", "x")
    with pytest.raises(DataError, match=r"no \.eval log and no \.xlsx sheet"):
        load_responses(file)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        load_responses(tmp_path / "none.jsonl")
    with pytest.raises(DataError, match="is a folder: give one file"):
        load_responses(tmp_path)


def test_a_told_format_that_the_file_has_not(files: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.jsonl"
    own.write_text(LINE, encoding="utf-8")
    with pytest.raises(DataError, match="no samples file of lm-evaluation-harness: it has no 'doc'"):
        load_responses(own, format="lm_eval")
    with pytest.raises(DataError, match="damaged .eval log"):
        load_responses(own, format="inspect")
    with pytest.raises(DataError, match="no column 'index'"):
        load_responses(own, format="vlmeval")
    with pytest.raises(DataError, match="no readable Parquet file"):
        load_responses(own, format="parquet")
    with pytest.raises(DataError, match="none of its .* row"):
        load_responses(files / "own_open.eval", format="jsonl")


def test_an_empty_zip(tmp_path: Path) -> None:
    stream = io.BytesIO()
    zipfile.ZipFile(stream, "w").close()
    file = tmp_path / "f.eval"
    file.write_bytes(stream.getvalue())
    with pytest.raises(DataError):
        load_responses(file)
