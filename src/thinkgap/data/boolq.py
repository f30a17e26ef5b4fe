"""BoolQ (google/boolq): yes/no questions about a passage.

Questions are in lower case and without a question mark, as the source has them.
"""

from thinkgap.data.adapter import Adapter, Draft, Row, text_key
from thinkgap.data.checks import YES_NO


def parse(row: Row) -> Draft:
    """A bool item with the passage as context; questions about one passage are one group."""
    passage = row.text("passage")
    return Draft(
        question=row.text("question"),
        context=passage,
        choices=YES_NO,
        gold=0 if row.boolean("answer") else 1,
        answer_space="bool",
        group_keys=(text_key("passage", passage),),
    )


ADAPTER = Adapter(
    name="boolq",
    parse=parse,
    columns={"question": "text", "passage": "text", "answer": "boolean"},
    published={"train": 9_427, "validation": 3_270},
)
