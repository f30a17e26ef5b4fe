"""A contact sheet: items side by side with picture or words, question and options, to be looked at by people.

It knows items only, so it shows those of any data set.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from thinkgap.types import LETTERS, Item

if TYPE_CHECKING:
    from PIL.Image import Image

COLUMNS = 4
_SIDE = 224
_MARGIN = 12
_LINE = 17
_LINES = 9
_TEXT_WIDTH = 34
_FONT_SIZE = 13


def contact_sheet(items: Sequence[Item], notes: Sequence[Sequence[str]] = ()) -> bytes:
    """A PNG of the items in rows of `COLUMNS`; the right option is marked with `*`.

    Args:
        items: what is shown.
        notes: lines below each item, such as what a model answered.
    """
    from PIL import Image, ImageDraw, ImageFont

    columns = max(1, min(COLUMNS, len(items)))
    noted = max(map(len, notes), default=0)
    width, height = _SIDE + 2 * _MARGIN, _SIDE + (_LINES + noted) * _LINE + 2 * _MARGIN
    sheet = Image.new("RGB", (columns * width, max(1, -(-len(items) // columns)) * height), "white")
    pen = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(_FONT_SIZE)
    for index, item in enumerate(items):
        x, y = index % columns * width + _MARGIN, index // columns * height + _MARGIN
        if item.images:
            sheet.paste(_enlarged(item.images[0].load()), (x, y))
        else:
            pen.rectangle((x, y, x + _SIDE - 1, y + _SIDE - 1), outline="grey")
            pen.multiline_text((x + 8, y + 8), textwrap.fill(item.context, _TEXT_WIDTH - 4), fill="black", font=font)
        lines = textwrap.wrap(item.question, _TEXT_WIDTH)
        lines += [
            f"{LETTERS[content]}. {choice}{' *' if content == item.gold else ''}"
            for content, choice in enumerate(item.choices)
        ]
        pen.multiline_text((x, y + _SIDE + 6), "\n".join(lines[:_LINES]), fill="black", font=font)
        for row, note in enumerate(notes[index] if notes else ()):
            pen.text((x, y + _SIDE + 6 + (_LINES + row) * _LINE), note, fill="#1a4fa0", font=font)
    sink = io.BytesIO()
    sheet.save(sink, "PNG")
    return sink.getvalue()


def _enlarged(data: bytes) -> Image:
    """The picture with whole pixels enlarged, so that the sheet shows what a model is given."""
    from PIL import Image

    with Image.open(io.BytesIO(data)) as image:
        factor = _SIDE / max(image.size)
        size = (max(1, round(image.width * factor)), max(1, round(image.height * factor)))
        return image.convert("RGB").resize(size, Image.Resampling.NEAREST)
