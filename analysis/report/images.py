"""Pictures of items, read again from the data set that the manifest names, made small, as data that a page can hold.

They are drawn anew, so that no byte of a data set's file reaches the page. Loads no model and asks no network.
"""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Iterable
from dataclasses import dataclass

from PIL import Image

from analysis.report.shapes import Plain
from thinkgap.data.images import opened
from thinkgap.errors import ThinkgapError

SIDE = 448
"""Pixels of a picture's longer side at most."""
_OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE")


@dataclass(frozen=True)
class Picture:
    """One picture as the page holds it."""

    url: str
    """As `data:` URL."""
    width: int
    height: int


def pictures(manifest: Plain, wanted: Iterable[str], limit: int) -> tuple[dict[str, Picture], str]:
    """Pictures of a run by SHA-256, and why some are missing (empty if none is).

    Args:
        manifest: of the run.
        wanted: digests of the items' images.
        limit: bytes of all together at most.
    """
    digests = set(wanted)
    if not digests:
        return {}, ""
    for name in _OFFLINE:
        os.environ[name] = "1"
    # Not before: the hub's client looks once, when it is imported, whether it may ask the network.
    from probes.runs import stored_dataset
    from thinkgap.data import load_dataset_items

    try:
        items = load_dataset_items(stored_dataset(manifest)).items
    except Exception as error:
        # OmegaConf and the hub's client raise kinds of their own; a page without pictures is still a page.
        named = str(error) if isinstance(error, ThinkgapError) else f"{type(error).__name__}: {error}"
        return {}, f"images not available: the data set cannot be read again ({named})"
    found: dict[str, Picture] = {}
    size, broken = 0, 0
    for image in (image for item in items for image in item.images):
        if image.sha256 not in digests or image.sha256 in found:
            continue
        if size > limit:
            return found, f"{len(digests) - len(found)} images left out: the page holds {limit >> 20} MB of them"
        try:
            found[image.sha256] = picture(image.load())
            size += len(found[image.sha256].url)
        except (ThinkgapError, OSError, ValueError, Image.DecompressionBombError):
            broken += 1
    missing = len(digests) - len(found) - broken
    told = [f"{broken} images cannot be opened"] if broken else []
    told += [f"{missing} images are not in the data set any more"] if missing else []
    return found, "; ".join(told)


def picture(data: bytes) -> Picture:
    """An image file as a small PNG or JPEG.

    Raises:
        OSError: no image.
    """
    with opened(data) as file:
        image = file.convert("RGBA" if "A" in file.getbands() or file.mode == "P" else "RGB")
    image.thumbnail((SIDE, SIDE))
    options = []
    for form, settings in (("PNG", {"optimize": True}), ("JPEG", {"quality": 80})):
        sink = io.BytesIO()
        (image.convert("RGB") if form == "JPEG" else image).save(sink, form, **settings)
        options.append((sink.tell(), form.lower(), sink.getvalue()))
    _, kind, best = min(options)
    return Picture(f"data:image/{kind};base64,{base64.b64encode(best).decode('ascii')}", image.width, image.height)
