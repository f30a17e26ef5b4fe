"""StrategyQA (ChilleD/StrategyQA): yes/no questions that need several facts, asked without any context.

The columns that give the facts and the term away are not read.
"""

from thinkgap.data.adapter import Adapter, Draft, Row, question_key
from thinkgap.data.checks import YES_NO


def parse(row: Row) -> Draft:
    """A bool item without context."""
    question = row.text("question")
    return Draft(
        question=question,
        choices=YES_NO,
        gold=0 if row.boolean("answer") else 1,
        answer_space="bool",
        group_keys=(question_key(question),),
    )


ADAPTER = Adapter(
    name="strategyqa",
    parse=parse,
    columns={"question": "text", "answer": "boolean"},
    optional={"qid": "text"},
    id_column="qid",
    published={"train": 1_603, "test": 687},
    other_count="so these are not the study's 687 items",
)
