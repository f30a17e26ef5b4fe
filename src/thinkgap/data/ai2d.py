"""AI2D (lmms-lab/ai2d): four-option questions about science diagrams. The answer is an index, written as text."""

from thinkgap.data.adapter import Adapter, Draft, Row, image_keys, question_key
from thinkgap.errors import RowError


def parse(row: Row) -> Draft:
    """An item with one diagram; questions about one diagram are one group."""
    question, options = row.text("question"), row.texts("options")
    image = row.image("image")
    if image is None:
        raise RowError("it has no image, and every AI2D question is about one")
    return Draft(
        question=question,
        choices=options,
        gold=_index(row),
        images=(image,),
        group_keys=(question_key(question, options), *image_keys((image,))),
    )


def _index(row: Row) -> int:
    if not isinstance(row.values.get("answer"), str):
        return row.integer("answer")
    text = row.text("answer")
    if not (text.isascii() and text.isdigit()):
        raise RowError(f"answer {text!r} is no index")
    return int(text)


ADAPTER = Adapter(
    name="ai2d",
    parse=parse,
    columns={"question": "text", "options": "texts", "answer": "text or integer", "image": "image or text"},
    published={"test": 3_088},
)
