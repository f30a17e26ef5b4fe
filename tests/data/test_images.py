"""Image values of every form, and images that cannot be decoded."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from data_examples import png

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


def _noise(kind: str) -> bytes:
    import io

    from PIL import Image

    stream = io.BytesIO()
    Image.effect_noise((80, 80), 90).convert("RGB").save(stream, kind)
    return stream.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_an_image_that_is_cut_off_is_refused(kind: str) -> None:
    data = _noise(kind)
    check_image(data)
    with pytest.raises(RowError, match="cannot be read"):
        check_image(data[: len(data) // 2])


@pytest.mark.parametrize("data", [b"", b"no image", b"\x89PNG\r\n\x1a\n", b"<svg/>"])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(RowError, match="cannot be read"):
        check_image(data)
