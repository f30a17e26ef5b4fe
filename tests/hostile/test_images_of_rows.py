"""What a row may name as its image, and which files are decoded at all."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest
from PIL import Image

from thinkgap.data.images import check_image, image_ref
from thinkgap.data.load import load_dataset_items
from thinkgap.errors import RowError
from thinkgap.schema import DatasetConfig


def png(shade: int = 0) -> bytes:
    sink = io.BytesIO()
    Image.new("RGB", (4, 3), (shade, 0, 0)).save(sink, "PNG")
    return sink.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data set's folder beside a picture that is none of its own."""
    (tmp_path / "secret.png").write_bytes(png(9))
    own = tmp_path / "set"
    (own / "in").mkdir(parents=True)
    (own / "in" / "one.png").write_bytes(png(1))
    (own / "link.png").symlink_to(tmp_path / "secret.png")
    (own / "inner.png").symlink_to(own / "in" / "one.png")
    (own / "loop.png").symlink_to(own / "loop.png")
    return own


@pytest.mark.parametrize("name", ["in/one.png", "./in/../in/one.png", "inner.png"])
def test_files_of_the_folder_are_read(folder: Path, name: str) -> None:
    assert image_ref(name, folder).load() == png(1)
    assert image_ref(str(folder / name), folder).load() == png(1)


@pytest.mark.parametrize("name", ["../secret.png", "link.png", "in/../../secret.png", "ABSOLUTE"])
def test_files_elsewhere_need_leave(folder: Path, name: str) -> None:
    name = str(folder.parent / "secret.png") if name == "ABSOLUTE" else name
    with pytest.raises(RowError, match=r"lies outside .*dataset\.image_root=FOLDER"):
        image_ref(name, folder)
    assert image_ref(name, folder, root=folder.parent).load() == png(9)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("/dev/zero", "outside"),
        ("../../../../../../etc/passwd", "outside"),
        ("..\\..\\secret.png", "cannot be read" if os.sep == "/" else "outside"),
        ("nul\0.png", "cannot be read"),
        ("x" * 5000, "cannot be read"),
        ("a/" * 3000, "cannot be read"),
        ("loop.png", "cannot be read"),
        ("~nobody-of-that-name/x.png", "cannot be read"),
        ("in", "no regular file"),
        ("file:///etc/passwd", "is an address"),
        ("\ud800.png", "cannot be read"),
    ],
)
def test_names_that_are_no_file(folder: Path, name: str, complaint: str) -> None:
    with pytest.raises(RowError, match=complaint):
        image_ref(name, folder)


@pytest.mark.skipif(sys.platform == "win32", reason="devices and pipes")
def test_what_never_ends_is_not_read(folder: Path) -> None:
    with pytest.raises(RowError, match="no regular file"):
        image_ref("/dev/zero", folder, root=Path("/"))
    os.mkfifo(folder / "pipe.png")
    with pytest.raises(RowError, match="no regular file"):
        image_ref("pipe.png", folder)


def test_a_file_too_large_for_an_image(folder: Path) -> None:
    with (folder / "large.png").open("wb") as stream:
        stream.truncate(600 << 20)  # a hole: nothing is written
    with pytest.raises(RowError, match="629,145,600 bytes"):
        image_ref("large.png", folder)


def test_one_bad_name_costs_its_row(folder: Path) -> None:
    rows = [f'{{"id": "{n}", "question": "Is it?", "answer": true, "image": "{name}"}}' for n, name in
            enumerate(["in/one.png", "../secret.png", "link.png"])]  # fmt: skip
    (folder / "mine.jsonl").write_text("\n".join(rows), encoding="utf-8")
    cfg = DatasetConfig(name="jsonl", path=str(folder / "mine.jsonl"), max_bad=1)
    found = load_dataset_items(cfg)
    assert [item.id for item in found.items] == ["0"]
    assert [bad.id for bad in found.bad] == ["1", "2"]
    cfg.image_root = str(folder.parent)
    assert len(load_dataset_items(cfg).items) == 3


@pytest.mark.parametrize(
    "data",
    [
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n(/etc/passwd) (r) file\nshowpage\n",
        b"<svg xmlns='http://www.w3.org/2000/svg'><image href='file:///etc/passwd'/></svg>",
        b"\xd7\xcd\xc6\x9a" + bytes(100),
        b"8BPS" + bytes(100),
        b"\x89HDF\r\n\x1a\n" + bytes(100),
    ],
    ids=["eps", "svg", "wmf", "psd", "hdf5"],
)
def test_formats_that_are_no_plain_pictures(data: bytes) -> None:
    with pytest.raises(RowError, match="its bytes are of none of AVIF, BMP"):
        check_image(data)


def test_odd_pictures_that_are_sound() -> None:
    sink = io.BytesIO()
    frames = [Image.new("RGB", (8, 8), (shade, 0, 0)) for shade in range(40)]
    frames[0].save(sink, "GIF", save_all=True, append_images=frames[1:])
    check_image(sink.getvalue())
    for kind, extra in (("PNG", {"icc_profile": b"no profile"}), ("JPEG", {"exif": b"Exif\0\0II*\0\xff\xff\xff\xff"})):
        sink = io.BytesIO()
        frames[0].save(sink, kind, **extra)
        check_image(sink.getvalue())
