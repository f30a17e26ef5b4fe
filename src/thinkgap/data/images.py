"""Image values of rows as `ImageRef`s, the check that image bytes can be decoded, and images as data URIs.

It does not know prompts, sizes or processors, and hands the encoded bytes of rows on unchanged.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import stat
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from thinkgap.errors import RowError
from thinkgap.types import ImageRef

if TYPE_CHECKING:
    from PIL.ImageFile import ImageFile as PictureFile

_SENT = ("png", "jpeg", "gif", "webp")
"""Formats that providers take."""
FORMATS = ("AVIF", "BMP", "GIF", "ICO", "JPEG", "JPEG2000", "PNG", "PPM", "TIFF", "WEBP")
"""What is decoded, by content and never by name. PIL knows more: EPS hands the file to Ghostscript, which runs it."""
_LARGEST = 512 << 20
"""Bytes of an image file."""


def image_ref(
    value: object,
    folder: Path | None = None,
    reread: Callable[[], object] | None = None,
    root: Path | None = None,
) -> ImageRef:
    """The image that `value` holds or names.

    Args:
        value: Encoded bytes, a mapping with `bytes` and `path` (how Parquet holds an image), a path, or a data URI.
        folder: What a relative path is relative to; None refuses paths.
        reread: Returns `value` anew, so that its bytes need not be kept.
        root: What files must lie in, links followed; None is `folder`.

    Raises:
        RowError: There are no bytes to be had.

    """
    data = _encoded(value, folder, root)
    if not data:
        raise RowError("an image has no bytes")
    if isinstance(value, str) and not value.startswith("data:"):
        load = partial(_encoded, value, folder, root)
    elif reread is not None:
        load = partial(_encoded_again, reread, folder, root)
    else:
        load = partial(_encoded, value, folder, root)
    return ImageRef(hashlib.sha256(data).hexdigest(), load)


def opened(data: bytes) -> PictureFile:
    """An image file as PIL opens it, of `FORMATS` only; nothing is decoded yet.

    Raises:
        UnidentifiedImageError: of another format, or no image.
        DecompressionBombError: more pixels than twice PIL's limit, by its header.
    """
    from PIL import Image

    Image.init()  # a build without one of these knows the others
    return Image.open(io.BytesIO(data), formats=[one for one in FORMATS if one in Image.OPEN])


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
            with opened(data) as image:
                ImageOps.exif_transpose(image).convert("RGB")
    except UnidentifiedImageError as error:  # PIL's own text names a buffer's address, another in every run
        raise RowError(f"an image cannot be read: its bytes are of none of {', '.join(FORMATS)}") from error
    except Image.DecompressionBombError as error:
        raise RowError(f"an image cannot be read: it has too many pixels ({error})") from error
    except Exception as error:  # PIL raises OSError, SyntaxError, ValueError, struct.error, ... by format
        raise RowError(f"an image cannot be read: {str(error) or type(error).__name__}") from error


def data_uri(data: bytes) -> str:
    """An image as a `data:` URI; a format that served models do not take becomes PNG.

    Raises:
        RowError: it is no image that PIL reads.
    """
    check_image(data)
    with opened(data) as image:
        kind = (image.format or "").lower()
        if kind not in _SENT:
            sink = io.BytesIO()
            image.convert("RGB").save(sink, "PNG")
            kind, data = "png", sink.getvalue()
    return f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"


def _encoded_again(reread: Callable[[], object], folder: Path | None, root: Path | None) -> bytes:
    return _encoded(reread(), folder, root)


def _encoded(value: object, folder: Path | None, root: Path | None) -> bytes:
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
        return _file_bytes(value, folder, root or folder)
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: a link to itself, a home that is not known
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise RowError(f"image file {value!r:.120} cannot be read: {reason}") from error


def _file_bytes(value: str, folder: Path, root: Path) -> bytes:
    """A row names files, and a row may be anybody's: no file elsewhere, no device that never ends."""
    file = (folder / Path(value).expanduser()).resolve()
    if not file.is_relative_to(root.resolve()):
        raise RowError(
            f"image file {value!r:.120} lies outside {root}; dataset.image_root=FOLDER allows all that lies below it"
        )
    status = file.stat()
    if not stat.S_ISREG(status.st_mode):
        raise RowError(f"image file {value!r:.120} cannot be read: it is no regular file")
    if status.st_size > _LARGEST:
        raise RowError(f"image file {value!r:.120} has {status.st_size:,} bytes, more than an image's {_LARGEST:,}")
    return file.read_bytes()


def _from_data_uri(value: str) -> bytes:
    header, _, payload = value.partition(",")
    if not header.startswith("data:image/") or not header.endswith(";base64"):
        raise RowError(f"image {header!r:.60} is no `data:image/...;base64,` URI")
    try:
        return base64.b64decode(payload, validate=True)
    except binascii.Error as error:
        raise RowError(f"an image's base64 cannot be read: {error}") from error
