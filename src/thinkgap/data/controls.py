"""Items with something taken away that a question needs: its images, its text, or the images that belong to it.

What a model still gets right shows how much of its accuracy the options or the text alone carry. A control keeps the
item's id, group and gold, so that it is paired with the item itself. Knows no prompt.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from thinkgap.data.checks import PLACEHOLDER
from thinkgap.errors import ConfigError, nearest
from thinkgap.presentation_names import CONTROLS
from thinkgap.types import ImageRef, Item

Images = tuple[ImageRef, ...]
_Digests = tuple[str, ...]

_RUN = rf"(?:{PLACEHOLDER.pattern}[ \t]*)+"
_MARKS = re.compile(rf"[ \t]*(?:\([ \t]*{_RUN}\)[ \t]*|{_RUN})+")
_CLOSING, _OPENING = ".,;:?!)]}", "([{"


def check_control(name: str) -> None:
    """Refuse a name that is no control.

    Raises:
        ConfigError: with the nearest names.
    """
    if name not in CONTROLS:
        raise ConfigError(f"evaluation.controls: no control {name!r}{nearest(name, CONTROLS)}")


def control(item: Item, name: str, others: Mapping[str, Images]) -> Item | None:
    """The item with something taken away.

    Args:
        item: the item.
        name: `text_only` drops its images and the marks `<image n>` of its texts; `options_only` drops question,
            context and images, so that the options stand alone; `shuffled_images` shows another item's images.
        others: `shuffled_images(...)` of all items.

    Returns:
        None where it would show nothing else than the item or nothing at all: an item without images has no
        `text_only` and no `shuffled_images`, a yes/no item no options to leave, and an item whose options are images
        cannot do without them.

    Raises:
        ConfigError: no such control.
    """
    check_control(name)
    if _has_image_options(item):
        return None
    if name == "options_only":
        return replace(item, question="", context="", images=()) if item.answer_space == "mcq" else None
    if not item.images:
        return None
    if name == "text_only":
        return replace(item, question=_without_marks(item.question), context=_without_marks(item.context), images=())
    images = others.get(item.id)
    return None if images is None else replace(item, images=images)


def shuffled_images(items: Sequence[Item], seed: int) -> dict[str, Images]:
    """For each item with images those of another item with as many, none of which is its own.

    Image contents (SHA-256) stand on a seeded circle, one circle for each number of images, and everyone gets those of
    the next that shares no image with its own, and no group either if there is such a one: the same scene drawn anew
    would give the answer. Items with the same images get the same others. The result does not depend on the order of
    `items`.

    Args:
        items: the items of a run. Those whose options are images neither get nor give any.
        seed: of the run.

    Returns:
        Item id -> images. Items for which there are no others are missing.
    """
    contents: dict[int, dict[_Digests, Images]] = defaultdict(dict)
    groups: dict[_Digests, set[str]] = defaultdict(set)
    shown = [item for item in items if item.images and not _has_image_options(item)]
    for item in shown:
        contents[len(item.images)].setdefault(_digests(item.images), item.images)
        groups[_digests(item.images)].add(item.group_id)
    taken: dict[_Digests, Images] = {}
    for alike in contents.values():
        circle = sorted(alike, key=lambda digests: hashlib.sha256(f"{seed}\0{digests}".encode()).digest())
        for place, own in enumerate(circle):
            other = _next(circle, place, groups)
            if other is not None:
                taken[own] = alike[other]
    return {item.id: taken[_digests(item.images)] for item in shown if _digests(item.images) in taken}


def _next(circle: Sequence[_Digests], place: int, groups: Mapping[_Digests, set[str]]) -> _Digests | None:
    """The next on the circle that shares neither image nor group with the one at `place`, or else no image."""
    own = circle[place]
    fallback = None
    for step in range(1, len(circle)):
        other = circle[(place + step) % len(circle)]
        if set(other).isdisjoint(own):
            if groups[other].isdisjoint(groups[own]):
                return other
            fallback = fallback or other
    return fallback


def _digests(images: Images) -> _Digests:
    return tuple(image.sha256 for image in images)


def _has_image_options(item: Item) -> bool:
    return bool(item.images) and any(PLACEHOLDER.search(choice) for choice in item.choices)


def _without_marks(text: str) -> str:
    """`text` without `<image n>`, the blanks around it made good, and without lines that held nothing else."""
    lines = []
    for line in text.split("\n"):
        kept = _MARKS.sub(_joint, line)
        if kept or kept == line:
            lines.append(kept)
    return "\n".join(lines)


def _joint(match: re.Match[str]) -> str:
    """What stands where marks stood: a blank between words, nothing beside a line's end or inside punctuation."""
    line = match.string
    before, after = line[: match.start()], line[match.end() :]
    return " " if before and after and after[0] not in _CLOSING and before[-1] not in _OPENING else ""
