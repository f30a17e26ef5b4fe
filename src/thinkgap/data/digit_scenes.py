"""Digit scenes: coloured handwritten digits in the quadrants of a small picture, made from a seed. ScienceQA's columns.

This file is the documented example of an adapter (docs/datasets.md). What an adapter says of a data set is here: which
columns a row has, how a row is read, and, as this set needs no source, where its rows come from. How scenes and
questions are made is `thinkgap.demo.world`'s; ids, splits, groups, checks and counts are the loader's.
"""

from collections.abc import Iterator, Mapping

from thinkgap.data.adapter import Adapter, Draft, Row, text_key
from thinkgap.schema import DatasetConfig

# Kept with the item to group results by and to check them; never shown to a model.
_META = ("task", "grade", "topic", "category", "skill", "scene", "caption", "handwriting")


def parse(row: Row) -> Draft:
    """An item with its picture, or with the scene in words as its hint."""
    image = row.image("image")
    return Draft(
        question=row.text("question"),
        choices=row.texts("choices"),
        gold=row.integer("answer"),
        context=row.text("hint"),
        images=() if image is None else (image,),
        subject=row.text("subject"),
        meta={"rationale": row.text("solution"), **{name: row.text(name) for name in _META}},
        # Not the picture: the same scene in other handwriting, or in words, is no independent case.
        group_keys=(text_key("scene", row.text("scene")),),
    )


def generate(cfg: DatasetConfig) -> Iterator[Mapping[str, object]]:
    """The rows of a split."""
    from thinkgap.demo.world.rows import scene_rows  # numpy, and scikit-learn for the digits: only where they are used

    return scene_rows(cfg.split, cfg.seed, cfg.generation)


ADAPTER = Adapter(
    name="digit_scenes",
    parse=parse,
    columns={
        "id": "text",
        "image": "image or text",
        "question": "text",
        "choices": "texts",
        "answer": "integer",
        "hint": "text",
        "solution": "text",
        "subject": "text",
        **dict.fromkeys(_META, "text"),
    },
    id_column="id",
    subjects=("which digit", "which colour", "where", "how many", "largest", "sum"),
    generate=generate,
    generation=("size", "image_free", "splits"),
)
