"""MMMU (MMMU/MMMU): college questions with up to seven images, which text and options refer to as `<image n>`.

The prefix study uses ten subjects (MMMU-10, 286 multiple-choice items) and does not say which. `MMMU_10` is our
choice, all six disciplines represented; `dataset.subjects` changes it. Open questions are left out.
"""

import ast
import re

from thinkgap.data.adapter import Adapter, Draft, Filtered, Row, image_keys, question_key
from thinkgap.data.checks import PLACEHOLDER, letter_index
from thinkgap.errors import RowError
from thinkgap.types import ImageRef

_SUBJECTS = {
    "art_and_design": "Art Art_Theory Design Music",
    "business": "Accounting Economics Finance Manage Marketing",
    "science": "Biology Chemistry Geography Math Physics",
    "health_and_medicine": """Basic_Medical_Science Clinical_Medicine Diagnostics_and_Laboratory_Medicine Pharmacy
        Public_Health""",
    "humanities_and_social_science": "History Literature Psychology Sociology",
    "tech_and_engineering": """Agriculture Architecture_and_Engineering Computer_Science Electronics Energy_and_Power
        Materials Mechanical_Engineering""",
}
DISCIPLINES = {subject: name for name, subjects in _SUBJECTS.items() for subject in subjects.split()}
MMMU_10 = (
    "Design",
    "Economics",
    "Biology",
    "Physics",
    "Clinical_Medicine",
    "Public_Health",
    "History",
    "Psychology",
    "Computer_Science",
    "Energy_and_Power",
)

_ID = re.compile(r"[a-z]+_(?P<subject>\w+)_\d+")
_IMAGES = tuple(f"image_{number}" for number in range(1, 8))


def parse(row: Row) -> Draft | Filtered:
    """A multiple-choice item; `<image n>` in its texts is the n-th of its images."""
    if row.text("question_type") != "multiple-choice":
        return Filtered("open question")
    match = _ID.fullmatch(row.text("id"))
    if match is None or match["subject"] not in DISCIPLINES:
        raise RowError(f"id {row.text('id')!r} names no MMMU subject")
    held = {number: image for number, name in enumerate(_IMAGES, 1) if (image := row.image(name))}
    question, *options = _renumber([row.text("question"), *_options(row)], held)
    images = tuple(held.values())
    difficulty, kinds = row.text("topic_difficulty"), row.text("img_type")
    return Draft(
        question=question,
        choices=tuple(options),
        gold=letter_index(row.text("answer"), len(options)),
        images=images,
        subject=match["subject"],
        meta={"area": DISCIPLINES[match["subject"]], "difficulty": difficulty, "image_type": kinds},
        group_keys=(question_key(question, options), *image_keys(images)),
    )


def _options(row: Row) -> list[str]:
    text = row.text("options")
    try:
        options = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise RowError(f"options {text!r:.60} are no Python list") from error
    if not isinstance(options, list) or not all(isinstance(option, str) for option in options):
        raise RowError(f"options {text!r:.60} are no list of texts")
    return [option.strip() for option in options]


def _renumber(texts: list[str], held: dict[int, ImageRef]) -> list[str]:
    """`texts` with image numbers counted without the columns that hold no image."""
    place = {number: index for index, number in enumerate(held, 1)}

    def renumbered(match: re.Match[str]) -> str:
        number = int(match.group(1))
        if number not in place:
            raise RowError(f"its text refers to {match.group()}, and image_{number} is missing")
        return f"<image {place[number]}>"

    return [PLACEHOLDER.sub(renumbered, text) for text in texts]


ADAPTER = Adapter(
    name="mmmu",
    parse=parse,
    columns={
        "id": "text",
        "question": "text",
        "options": "text",
        "answer": "text",
        "question_type": "text",
        **dict.fromkeys(_IMAGES, "image or text"),
    },
    optional={"topic_difficulty": "text", "img_type": "text"},
    id_column="id",
    placeholders=True,
    published={"dev": 150, "validation": 900, "test": 10_500},
    published_per_config={"dev": 5, "validation": 30},
    subjects=tuple(sorted(DISCIPLINES)),
    config_per_subject=True,
)
