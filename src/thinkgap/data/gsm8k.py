"""GSM8K (openai/gsm8k, main): grade-school word problems with a numeric answer after `####`."""

from thinkgap.data.adapter import Adapter, Draft, Row, question_key
from thinkgap.errors import RowError


def parse(row: Row) -> Draft:
    """An open item; the reference answer has no thousands separators."""
    question = row.text("question")
    _, mark, answer = row.text("answer").rpartition("####")
    if not mark:
        raise RowError("the answer has no '####' line")
    return Draft(
        question=question,
        answer_space="open",
        answer=answer.strip().replace(",", ""),
        group_keys=(question_key(question),),
    )


ADAPTER = Adapter(
    name="gsm8k",
    parse=parse,
    columns={"question": "text", "answer": "text"},
    published={"train": 7_473, "test": 1_319},
)
