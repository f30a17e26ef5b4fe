"""Each image decoded and preprocessed once, however many prompts show it.

An item's image stands in every prompt of a sweep, and preprocessing it costs more than tokenising all of them. Knows
processors of transformers by their call alone.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from thinkgap.types import ImageRef

_KEPT = 16


class ImageMemo:
    """Stands in for a processor's image processor and remembers the last images.

    Several images of one prompt are put together from their single results. The first prompt that has several, of one
    size and of unequal sizes, shows whether that is right for this processor; if not, only equal sets are remembered.
    """

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.calls = 0
        """How often the image processor itself ran."""
        self._separable: dict[bool, bool] = {}
        self._pictures: OrderedDict[str, Any] = OrderedDict()
        self._results: OrderedDict[tuple[tuple[str, ...], str], dict[str, Any]] = OrderedDict()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    @contextmanager
    def standing_in(self, processor: Any) -> Iterator[None]:
        """Let `processor` call this instead of its image processor inside the block."""
        before = processor.image_processor
        processor.image_processor = self
        try:
            yield
        finally:
            processor.image_processor = before

    def pictures(self, images: Sequence[ImageRef], decode: Any) -> list[Any]:
        """The decoded images; the same object for the same content while it is remembered."""
        for image in images:
            if image.sha256 not in self._pictures:
                self._pictures[image.sha256] = decode(image)
            self._pictures.move_to_end(image.sha256)
        found = [self._pictures[image.sha256] for image in images]
        # What one prompt shows stays, however much that is.
        while len(self._pictures) > max(_KEPT, len(images)):
            self._pictures.popitem(last=False)
        return found

    def __call__(self, images: Any, *arguments: Any, **settings: Any) -> Any:
        """What the image processor gives for `images`, computed or remembered."""
        names = {id(picture): name for name, picture in self._pictures.items()}
        shown = _flat(images)
        if arguments or not all(id(picture) in names for picture in shown):
            self.calls += 1
            return self.inner(images, *arguments, **settings)
        key = tuple(names[id(picture)] for picture in shown)
        return self._feature(self._of(key, dict(zip(key, shown, strict=True)), images, settings))

    def _of(self, key: tuple[str, ...], pictures: Mapping[str, Any], images: Any, settings: Mapping[str, Any]) -> Any:
        asked = (key, repr(sorted(settings.items(), key=lambda one: one[0])))
        if asked in self._results:
            self._results.move_to_end(asked)
            return self._results[asked]
        alike = len({getattr(pictures[name], "size", None) for name in key}) == 1
        if len(key) == 1 or self._separable.get(alike) is False:
            found = self._run(images, settings)
        else:
            joined = _joined([self._of((name,), pictures, [pictures[name]], settings) for name in key])
            found = joined if joined is not None and alike in self._separable else self._run(images, settings)
            if alike not in self._separable:
                self._separable[alike] = joined is not None and _equal(joined, found)
        self._results[asked] = found
        while len(self._results) > _KEPT:
            self._results.popitem(last=False)
        return found

    def _run(self, images: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
        self.calls += 1
        return dict(self.inner(images, **settings))

    def _feature(self, found: Mapping[str, Any]) -> Any:
        # A fresh mapping each time: processors take entries out of what they are given.
        from transformers import BatchFeature

        return BatchFeature(dict(found))


def _flat(images: Any) -> list[Any]:
    if isinstance(images, list | tuple):
        return [picture for one in images for picture in _flat(one)]
    return [images]


def _joined(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Single results one after the other; None where that has no meaning."""
    found: dict[str, Any] = {}
    for key in parts[0]:
        values = [part.get(key) for part in parts]
        if all(isinstance(value, torch.Tensor) for value in values):
            tensors = [value for value in values if isinstance(value, torch.Tensor)]
            if len({tensor.shape[1:] for tensor in tensors}) != 1:
                return None
            found[key] = torch.cat(tensors)
        elif all(isinstance(value, list) for value in values):
            found[key] = [entry for value in values if isinstance(value, list) for entry in value]
        else:
            return None
    return found


def _equal(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    def same(a: Any, b: Any) -> bool:
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
            return torch.equal(a, b)
        return type(a) is type(b) and a == b

    return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
