"""Number facts: the facts of digit scenes told in words, each asked yes/no, with options, and openly. No picture.

The three forms of a fact are one group, and a fact's number is that of the digit scene with the same question.
"""

from collections.abc import Iterator, Mapping

from thinkgap.data.adapter import Adapter, Draft, Row, text_key
from thinkgap.data.checks import YES_NO
from thinkgap.errors import RowError, nearest
from thinkgap.schema import DatasetConfig
from thinkgap.types import AnswerSpace

_META = ("form", "topic", "category", "skill", "scene", "caption", "fact")
_FORMS: Mapping[str, AnswerSpace] = {"bool": "bool", "mcq": "mcq", "open": "open"}


def parse(row: Row) -> Draft:
    """An item of the form that the row names."""
    form = _FORMS.get(row.text("form"))
    if form is None:
        raise RowError(f"form {row.text('form')!r} is unknown{nearest(row.text('form'), _FORMS)}")
    return Draft(
        question=row.text("question"),
        choices={"bool": YES_NO, "mcq": row.texts("choices")}.get(form, ()),
        gold=None if form == "open" else row.integer("answer"),
        answer_space=form,
        answer=row.text("answer_text"),
        context=row.text("hint"),
        subject=row.text("subject"),
        meta={"rationale": row.text("solution"), **{name: row.text(name) for name in _META}},
        group_keys=(text_key("scene", row.text("scene")),),
    )


def generate(cfg: DatasetConfig) -> Iterator[Mapping[str, object]]:
    """The rows of a split, the forms of a fact one after another."""
    from thinkgap.demo.world.rows import fact_rows  # numpy is loaded only where it is used

    return fact_rows(cfg.split, cfg.seed, cfg.generation)


ADAPTER = Adapter(
    name="number_facts",
    parse=parse,
    columns={
        "id": "text",
        "question": "text",
        "choices": "texts",
        "answer": "integer",
        "answer_text": "text",
        "hint": "text",
        "solution": "text",
        "subject": "text",
        **dict.fromkeys(_META, "text"),
    },
    id_column="id",
    subjects=("which digit", "which colour", "where", "how many", "largest", "sum"),
    generate=generate,
    generation=("size", "forms", "splits"),
)
