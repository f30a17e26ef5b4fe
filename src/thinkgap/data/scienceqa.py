"""ScienceQA (derek-thomas/ScienceQA): school science with two to five options, a hint, and sometimes an image.

`lecture` and `solution` explain the answer and are not read.
"""

from thinkgap.data.adapter import Adapter, Draft, Row, image_keys, question_key

_META = ("grade", "topic", "category", "skill", "task")


def parse(row: Row) -> Draft:
    """An item with the hint as context and its image, if it has one."""
    question, choices, hint = row.text("question"), row.texts("choices"), row.text("hint")
    image = row.image("image")
    images = () if image is None else (image,)
    return Draft(
        question=question,
        choices=choices,
        gold=row.integer("answer"),
        context=hint,
        images=images,
        subject=row.text("subject"),
        meta={name: row.text(name) for name in _META},
        group_keys=(question_key(question, choices, hint), *image_keys(images)),
    )


ADAPTER = Adapter(
    name="scienceqa",
    parse=parse,
    columns={
        "image": "image or text",
        "question": "text",
        "choices": "texts",
        "answer": "integer",
        "hint": "text",
        "subject": "text",
        **dict.fromkeys(_META, "text"),
    },
    published={"train": 12_726, "validation": 4_241, "test": 4_241},
)
