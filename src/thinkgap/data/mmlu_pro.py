r"""MMLU-Pro (TIGER-Lab/MMLU-Pro): harder questions with three to ten options in 14 categories.

A row gives its answer as a letter and as an index. Where they disagree (id 3983 upstream) no rule can tell which is
right, so the row is refused rather than scored against a doubtful gold. Upstream's string literals turned LaTeX
escapes into control characters. The loader restores `\a`, `\b`, `\v` and `\f` (22 rows), and not `\t`, `\n` and `\r`,
whose tabs and line ends cannot be told from meant ones.
"""

from thinkgap.data.adapter import Adapter, Draft, Row, question_key
from thinkgap.data.checks import letter_index
from thinkgap.errors import RowError


def parse(row: Row) -> Draft:
    """An item by category."""
    question, options = row.text("question"), row.texts("options")
    letter, index = row.text("answer"), row.integer("answer_index")
    gold = letter_index(letter, len(options))
    if gold != index:
        raise RowError(f"the answer's letter {letter} and index {index} disagree")
    return Draft(
        question=question,
        choices=options,
        gold=gold,
        subject=row.text("category"),
        meta={"category": row.text("category"), "source": row.text("src")},
        group_keys=(question_key(question, options),),
    )


ADAPTER = Adapter(
    name="mmlu_pro",
    parse=parse,
    columns={
        "question_id": "integer",
        "question": "text",
        "options": "texts",
        "answer": "text",
        "answer_index": "integer",
        "category": "text",
    },
    optional={"src": "text"},
    id_column="question_id",
    published={"test": 12_032, "validation": 70},
)
