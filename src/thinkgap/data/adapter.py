"""What an adapter is: a function from one row of a public data set to one `Draft`, and what the loader must know of it.

Rows hand out their values by expected type, so that an adapter stays a short list of columns. Nothing here knows where
rows come from, which of them are kept, or how ids and groups are made.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from thinkgap.data.checks import normalise
from thinkgap.data.images import image_ref
from thinkgap.errors import RowError
from thinkgap.schema import DatasetConfig
from thinkgap.types import AnswerSpace, ImageRef


@dataclass(frozen=True)
class Row:
    """One row of a source, as plain Python values by column."""

    values: Mapping[str, object]
    folder: Path | None = None
    """What relative image paths are relative to; images lie in it, unless `image_root` allows more."""
    reread: Callable[[str], object] | None = None
    """Reads one column of this row again, so that image bytes need not stay in memory."""
    problem: str = ""
    """Why there are no values (a line that is no JSON object)."""
    image_root: Path | None = None
    """The folder that image files must lie in; None is `folder`."""

    def text(self, column: str) -> str:
        """Text without outer whitespace; empty where the value is null, NaN or absent."""
        value = self.values.get(column)
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return ""
        if not isinstance(value, str):
            raise RowError(f"{column!r} is {_describe(value)}, not text")
        return value.strip()

    def texts(self, column: str) -> tuple[str, ...]:
        """A list of texts, each without outer whitespace."""
        value = self.values.get(column)
        if not isinstance(value, Sequence) or isinstance(value, str | bytes):
            raise RowError(f"{column!r} is {_describe(value)}, not a list of texts")
        for entry in value:
            if not isinstance(entry, str):
                raise RowError(f"{column!r} holds {_describe(entry)}, not text only")
        return tuple(entry.strip() for entry in value)

    def integer(self, column: str) -> int:
        """A whole number; true and false are none."""
        value = self.values.get(column)
        if not isinstance(value, int) or isinstance(value, bool):
            raise RowError(f"{column!r} is {_describe(value)}, not a whole number")
        return value

    def boolean(self, column: str) -> bool:
        """True or false; 0 and 1 are neither."""
        value = self.values.get(column)
        if not isinstance(value, bool):
            raise RowError(f"{column!r} is {_describe(value)}, not true or false")
        return value

    def image(self, column: str) -> ImageRef | None:
        """The image in a column, or None where the column is null."""
        value = self.values.get(column)
        if value is None:
            return None
        again = partial(self.reread, column) if self.reread else None
        return image_ref(value, self.folder, again, self.image_root)


@dataclass(frozen=True)
class Draft:
    """What an adapter reads from a row: an `Item` without its id, split and group."""

    question: str
    choices: tuple[str, ...] = ()
    gold: int | None = None
    answer_space: AnswerSpace = "mcq"
    answer: str = ""
    """Reference answer of an open item; the loader fills it in for the others."""
    context: str = ""
    images: tuple[ImageRef, ...] = ()
    subject: str = ""
    meta: Mapping[str, str] = field(default_factory=dict)
    group_keys: tuple[str, ...] = ()
    """Items that share any of these are one group."""
    remarks: tuple[str, ...] = ()
    """Things to count over the whole source and tell the user."""


@dataclass(frozen=True)
class Filtered:
    """A sound row that this adapter's items do not include."""

    reason: str


@dataclass(frozen=True)
class Adapter:
    """One benchmark: its columns, how a row is read, and what is published about it."""

    name: str
    parse: Callable[[Row], Draft | Filtered]
    columns: Mapping[str, str]
    """Required columns and the kind each must hold: text, texts, integer, boolean, image, any; `a or b` allows both."""
    optional: Mapping[str, str] = field(default_factory=dict)
    """Columns that are read where they are present."""
    all_columns: bool = False
    """Whether `parse` sees every column of the source, not only the ones named above."""
    id_column: str | None = None
    """Column that holds the source's own ids."""
    placeholders: bool = False
    """Whether `<image n>` in its text stands for an image. Without it such text is refused beside images (nothing
    later could tell it from a placeholder) and is plain text in items that have none."""
    published: Mapping[str, int] = field(default_factory=dict)
    """Rows of each split as published."""
    published_per_config: Mapping[str, int] = field(default_factory=dict)
    """The same for one configuration, where the hub has one per subject."""
    other_count: str = ""
    """What it means if the source has another number of rows, as the end of a sentence."""
    subjects: tuple[str, ...] = ()
    """Every subject there is, where the list is closed."""
    config_per_subject: bool = False
    """Whether the hub keeps each subject under a configuration of its name."""
    generate: Callable[[DatasetConfig], Iterable[Mapping[str, object]]] | None = None
    """Makes the rows of a split from a seed, for a set that needs no source."""
    generation: tuple[str, ...] = ()
    """Settings of `dataset.generation` that `generate` follows."""


def text_key(kind: str, *texts: str) -> str:
    """Group key of texts that make two items one case; whitespace does not tell them apart."""
    joined = "\x1f".join(normalise(text) for text in texts)
    return f"{kind}:{hashlib.sha256(joined.encode('utf-8', 'surrogatepass')).hexdigest()}"


def question_key(question: str, choices: Sequence[str] = (), *more: str) -> str:
    """Group key of a question with its options in any order."""
    return text_key("question", question, *more, *sorted(normalise(choice) for choice in choices))


def image_keys(images: Sequence[ImageRef]) -> tuple[str, ...]:
    """One group key per image, so that items with a common image are one group."""
    return tuple(f"image:{image.sha256}" for image in images)


def _describe(value: object) -> str:
    if value is None:
        return "missing"
    return f"{type(value).__name__} {value!r:.40}"
