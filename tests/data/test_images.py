"""Image values of every form, and images that cannot be decoded."""

from __future__ import annotations

import hashlib
import io
import struct
import warnings
import zlib
from pathlib import Path
from typing import Any

import pytest
from data_examples import png
from PIL import Image

from thinkgap.data.images import check_image, image_ref
from thinkgap.errors import RowError


def test_the_digest_is_of_the_encoded_bytes_whatever_holds_them(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png())
    held = [png(), {"bytes": png(), "path": "other.png"}, {"bytes": None, "path": "a.png"}, "a.png"]
    refs = [image_ref(value, tmp_path) for value in held]
    assert {ref.sha256 for ref in refs} == {hashlib.sha256(png()).hexdigest()}
    assert all(ref.load() == png() for ref in refs)


def test_bytes_are_read_again_and_not_kept() -> None:
    calls = []

    def reread() -> object:
        calls.append(1)
        return {"bytes": png(7), "path": None}

    ref = image_ref({"bytes": png(7), "path": None}, None, reread)
    assert not calls
    assert ref.load() == png(7)
    assert calls == [1]


@pytest.mark.parametrize("value", [{}, {"bytes": None, "path": None}, b"", 5, ["a.png"], "a.png", "nul\0.png"])
def test_values_without_an_image(value: object) -> None:
    with pytest.raises(RowError, match="image"):
        image_ref(value)


def test_a_folder_is_no_image(tmp_path: Path) -> None:
    with pytest.raises(RowError, match="cannot be read"):
        image_ref(".", tmp_path)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP"])
def test_sound_images_pass(kind: str) -> None:
    check_image(png(100, (30, 20), kind))


def _encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def _noise(kind: str) -> bytes:
    return _encoded(Image.effect_noise((80, 80), 90).convert("RGB"), kind)


@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        ("I;16", "PNG"),
        ("I;16", "TIFF"),
        ("P", "PNG"),
        ("P", "GIF"),
        ("1", "PNG"),
        ("LA", "PNG"),
        ("RGBA", "PNG"),
        ("L", "JPEG"),
        ("CMYK", "JPEG"),
        ("CMYK", "TIFF"),
    ],
)
def test_sound_images_of_every_mode_pass_and_cut_ones_do_not(mode: str, kind: str) -> None:
    noise = Image.effect_noise((80, 80), 90)
    data = _encoded(noise.convert("I").convert(mode) if mode == "I;16" else noise.convert(mode), kind)
    with Image.open(io.BytesIO(data)) as image:
        assert image.mode == mode or kind == "GIF"
    check_image(data)
    with pytest.raises(RowError, match="cannot be read"):
        check_image(data[: len(data) // 2])


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_an_image_that_is_cut_off_is_refused(kind: str, share: float) -> None:
    data = _noise(kind)
    check_image(data)
    with pytest.raises(RowError, match="cannot be read"):
        check_image(data[: int(len(data) * share)])


def test_an_image_is_decoded_and_turned_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    convert = Image.Image.convert

    def spy(image: Image.Image, mode: str) -> Image.Image:
        sizes.append(image.size)
        return convert(image, mode)

    exif = Image.Exif()
    exif[0x0112] = 6
    data = _encoded(Image.new("RGB", (64, 32)), "JPEG", exif=exif)
    monkeypatch.setattr(Image.Image, "convert", spy)
    check_image(data)
    assert sizes == [(32, 64)]


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data")
@pytest.mark.parametrize("exif", [b"Exif\0\0nonsense", b"Exif\0\0II*\0\x08\0\0\0\x05\0\x12\x01\x03\0"])
def test_broken_exif_is_no_reason_to_refuse(exif: bytes) -> None:
    check_image(_encoded(Image.new("RGB", (8, 8)), "JPEG", exif=exif))


@pytest.mark.parametrize("data", [b"no image", b"\x89PNG\r\n\x1a\n", b"<svg/>", b"\0" * 100])
def test_other_bytes_are_refused_with_a_reason_that_is_the_same_in_every_run(data: bytes) -> None:
    with pytest.raises(RowError, match="cannot be read") as caught:
        check_image(data)
    assert " at 0x" not in str(caught.value)


def test_a_file_without_bytes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RowError, match="cannot be read: it has no bytes"):
        check_image(b"")
    (tmp_path / "empty.png").touch()
    with pytest.raises(RowError, match="has no bytes"):
        image_ref("empty.png", tmp_path)


def _claiming(width: int, height: int) -> bytes:
    """A PNG whose header claims a size, and whose data is a few bytes."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0")) + chunk(b"IEND", b"")


def test_a_decompression_bomb_is_refused_before_it_is_decoded() -> None:
    with pytest.raises(RowError, match=r"too many pixels \(.*3600000000 pixels"):
        check_image(_claiming(60_000, 60_000))


def test_a_large_image_passes_without_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_image(png(size=(12, 12)))
    with pytest.raises(RowError, match="too many pixels"):
        check_image(png(size=(20, 20)))
