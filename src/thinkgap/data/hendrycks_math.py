r"""MATH (DigitalLearningGmbH/MATH-lighteval): competition problems; the answer is the last box of the solution."""

from thinkgap.data.adapter import Adapter, Draft, Row, question_key
from thinkgap.errors import RowError
from thinkgap.latex import last_boxed


def parse(row: Row) -> Draft:
    """An open item by problem type; the whole solution is kept beside the boxed answer."""
    problem, solution = row.text("problem"), row.text("solution")
    answer = last_boxed(solution)
    if answer is None:
        raise RowError("the solution has no balanced \\boxed{} or \\fbox{}")
    return Draft(
        question=problem,
        answer_space="open",
        answer=answer,
        subject=row.text("type"),
        meta={"level": row.text("level"), "type": row.text("type"), "solution": solution},
        group_keys=(question_key(problem),),
    )


ADAPTER = Adapter(
    name="math",
    parse=parse,
    columns={"problem": "text", "level": "text", "type": "text", "solution": "text"},
    published={"train": 7_500, "test": 5_000},
)
