"""Image values of rows as `ImageRef`s, the check that image bytes can be decoded, and images as data URIs.

It does not know prompts, sizes or processors, and hands the encoded bytes of rows on unchanged.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from thinkgap.errors import RowError
from thinkgap.types import ImageRef

_SENT = ("png", "jpeg", "gif", "webp")
"""Formats that providers take."""


def image_ref(value: object, folder: Path | None = None, reread: Callable[[], object] | None = None) -> ImageRef:
    """The image that `value` holds or names.

    Args:
        value: Encoded bytes, a mapping with `bytes` and `path` (how Parquet holds an image), a path, or a data URI.
        folder: What a relative path is relative to; None refuses paths.
        reread: Returns `value` anew, so that its bytes need not be kept.

    Raises:
        RowError: There are no bytes to be had.

    """
    data = _encoded(value, folder)
    if not data:
        raise RowError("an image has no bytes")
    if isinstance(value, str) and not value.startswith("data:"):
        load = partial(_encoded, value, folder)
    elif reread is not None:
        load = partial(_encoded_again, reread, folder)
    else:
        load = partial(_encoded, value, folder)
    return ImageRef(hashlib.sha256(data).hexdigest(), load)


def check_image(data: bytes) -> None:
    """Decode an image as fully as a run does, turned upright and in RGB, and keep nothing of it.

    Raises:
        RowError: It is no image that PIL reads, it is cut off, or it is too large to be one.

    """
    from PIL import Image, ImageOps, UnidentifiedImageError

    if not data:
        raise RowError("an image cannot be read: it has no bytes")
    try:
        with warnings.catch_warnings():
            # A large chart is no attack; PIL still refuses twice its limit with an error.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data)) as image:
                ImageOps.exif_transpose(image).convert("RGB")
    except UnidentifiedImageError as error:  # PIL's own text names a buffer's address, another in every run
        raise RowError("an image cannot be read: its bytes are of no format that PIL knows") from error
    except Image.DecompressionBombError as error:
        raise RowError(f"an image cannot be read: it has too many pixels ({error})") from error
    except Exception as error:  # PIL raises OSError, SyntaxError, ValueError, struct.error, ... by format
        raise RowError(f"an image cannot be read: {str(error) or type(error).__name__}") from error


def data_uri(data: bytes) -> str:
    """An image as a `data:` URI; a format that served models do not take becomes PNG.

    Raises:
        RowError: it is no image that PIL reads.
    """
    from PIL import Image

    check_image(data)
    with Image.open(io.BytesIO(data)) as image:
        kind = (image.format or "").lower()
        if kind not in _SENT:
            sink = io.BytesIO()
            image.convert("RGB").save(sink, "PNG")
            kind, data = "png", sink.getvalue()
    return f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"


def _encoded_again(reread: Callable[[], object], folder: Path | None) -> bytes:
    return _encoded(reread(), folder)


def _encoded(value: object, folder: Path | None) -> bytes:
    if isinstance(value, Mapping):
        value = value.get("bytes") or value.get("path")
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if not isinstance(value, str):
        raise RowError("an image has no bytes" if value is None else f"an image is {type(value).__name__}, not bytes")
    if value.startswith("data:"):
        return _from_data_uri(value)
    if "://" in value:
        raise RowError(f"image {value!r:.80} is an address; images are files or data URIs")
    if folder is None:
        raise RowError(f"image {value!r:.80} is a path, and its source has no folder")
    try:
        return (folder / Path(value).expanduser()).read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise RowError(f"image file {value!r:.120} cannot be read: {reason}") from error


def _from_data_uri(value: str) -> bytes:
    header, _, payload = value.partition(",")
    if not header.startswith("data:image/") or not header.endswith(";base64"):
        raise RowError(f"image {header!r:.60} is no `data:image/...;base64,` URI")
    try:
        return base64.b64decode(payload, validate=True)
    except binascii.Error as error:
        raise RowError(f"an image's base64 cannot be read: {error}") from error
