"""A scene as a 56 x 56 picture: each digit's greys enlarged, tinted and set into its quadrant, as a PNG.

All arithmetic is in whole numbers and the file is written here, uncompressed, so that its bytes and so its hash are
the same on every platform and with every release of an imaging library. It does not know which samples are chosen.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from functools import cache

import numpy as np

from thinkgap.demo.world.handwriting import handwriting
from thinkgap.demo.world.scenes import Scene
from thinkgap.demo.world.words import COLOURS, GROUND, PLACES

SIDE = 56
CELL = SIDE // 2
GLYPH = 24
_EDGE = 1
ROOM = CELL - GLYPH - 2 * _EDGE
"""A digit is moved by 0 to this many pixels within its quadrant, each way; neighbours never touch."""
_SHADES = 48
"""Steps from ground to tint; four tints and the ground stay below the 256 colours of a palette."""


def draw_picture(scene: Scene, rows: Sequence[int], offsets: Sequence[tuple[int, int]]) -> bytes:
    """The scene as a PNG with a palette.

    Args:
        scene: what is shown.
        rows: for each mark the handwriting sample, a row of `load_digits`.
        offsets: for each mark how far it is moved right and down, 0 to `ROOM`.
    """
    pixels = np.zeros((SIDE, SIDE), np.uint8)
    palette = bytes(GROUND)
    for index, (mark, row, (right, down)) in enumerate(zip(scene.marks, rows, offsets, strict=True)):
        corner = PLACES.index(mark.place)
        x, y = corner % 2 * CELL + _EDGE + right, corner // 2 * CELL + _EDGE + down
        shades = _glyphs()[row]
        pixels[y : y + GLYPH, x : x + GLYPH] = np.where(shades > 0, shades + index * _SHADES, 0)
        palette += _tints(mark.colour)
    return _png(pixels, palette)


@cache
def _glyphs() -> np.ndarray:
    """`[row, y, x]`: every sample enlarged three times, bilinear, in shades of 0 to `_SHADES`."""
    weights = np.zeros((GLYPH, 8), np.int64)
    for target in range(GLYPH):
        whole, thirds = divmod(target - 1, GLYPH // 8)
        weights[target, max(whole, 0)] += 3 - thirds
        weights[target, min(whole + 1, 7)] += thirds
    enlarged = weights @ handwriting().greys.astype(np.int64) @ weights.T
    # Of 9 * 16 steps of ink the lowest sixth is left out and the highest is shown as full, because enlarging blurs:
    # otherwise loops close and thin strokes fade.
    return np.clip((enlarged - 24) // 2, 0, _SHADES).astype(np.uint8)


@cache
def _tints(colour: str) -> bytes:
    """Palette entries from just above the ground to the full tint."""
    steps = [(low, high - low) for low, high in zip(GROUND, COLOURS[colour], strict=True)]
    return bytes(low + rise * shade // _SHADES for shade in range(1, _SHADES + 1) for low, rise in steps)


def _png(pixels: np.ndarray, palette: bytes) -> bytes:
    height, width = pixels.shape
    lines = np.hstack([np.zeros((height, 1), np.uint8), pixels]).tobytes()  # filter 0 before each line
    stored = b"\x01" + struct.pack("<HH", len(lines), len(lines) ^ 0xFFFF) + lines
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in (
            (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            (b"PLTE", palette),
            (b"IDAT", b"\x78\x01" + stored + struct.pack(">I", zlib.adler32(lines))),
            (b"IEND", b""),
        )
    )
