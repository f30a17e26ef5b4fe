"""MMBench (lmms-lab/MMBench, en): two to four options about an image.

Options and hints that a row does not have are null or the text "nan". The circular copies of a question (its options
rotated) have its index plus multiples of a million, and are one group with it. The test split has no answers.
"""

from thinkgap.data.adapter import Adapter, Draft, Row, image_keys
from thinkgap.data.checks import letter_index
from thinkgap.errors import RowError

_LETTERS = "ABCD"
_COPY = 1_000_000


def parse(row: Row) -> Draft:
    """An item by category, with its hint as context and its image."""
    options = {letter: text for letter in _LETTERS if (text := _present(row, letter))}
    answer = _present(row, "answer")
    if answer in _LETTERS and answer and answer not in options:
        raise RowError(f"answer {answer} is an option that the row does not have")
    letter_index(answer, len(_LETTERS))
    image = row.image("image")
    if image is None:
        raise RowError("it has no image, and every MMBench question is about one")
    return Draft(
        question=row.text("question"),
        choices=tuple(options.values()),
        gold=list(options).index(answer),
        context=_present(row, "hint"),
        images=(image,),
        subject=row.text("category"),
        meta={"area": row.text("L2-category")},
        group_keys=(f"index:{_index(row) % _COPY}", *image_keys((image,))),
    )


def _present(row: Row, column: str) -> str:
    text = row.text(column)
    return "" if text.lower() == "nan" else text


def _index(row: Row) -> int:
    value = row.values.get("index")
    # Some revisions of the hub's copy store it as text.
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else row.integer("index")


ADAPTER = Adapter(
    name="mmbench",
    parse=parse,
    columns={
        "index": "integer or text",
        "question": "text",
        "hint": "text",
        "answer": "text",
        **dict.fromkeys(_LETTERS, "text"),
        "category": "text",
        "L2-category": "text",
        "image": "image or text",
    },
    id_column="index",
    published={"dev": 4_377},
)
