"""MMLU (cais/mmlu, all): four-option questions of 57 subjects in four areas.

The table below has anatomy under STEM. Only so does the test split divide into 3,153 STEM, 4,705 humanities, 3,077
social and 3,107 other items, the sizes that the inertia study reports; other tables put anatomy under other.
"""

from thinkgap.data.adapter import Adapter, Draft, Row, question_key
from thinkgap.errors import RowError, nearest

_SUBJECTS = {
    "STEM": """abstract_algebra anatomy astronomy college_biology college_chemistry college_computer_science
        college_mathematics college_physics computer_security conceptual_physics electrical_engineering
        elementary_mathematics high_school_biology high_school_chemistry high_school_computer_science
        high_school_mathematics high_school_physics high_school_statistics machine_learning""",
    "humanities": """formal_logic high_school_european_history high_school_us_history high_school_world_history
        international_law jurisprudence logical_fallacies moral_disputes moral_scenarios philosophy prehistory
        professional_law world_religions""",
    "social": """econometrics high_school_geography high_school_government_and_politics high_school_macroeconomics
        high_school_microeconomics high_school_psychology human_sexuality professional_psychology public_relations
        security_studies sociology us_foreign_policy""",
    "other": """business_ethics clinical_knowledge college_medicine global_facts human_aging management marketing
        medical_genetics miscellaneous nutrition professional_accounting professional_medicine virology""",
}
AREAS = {subject: area for area, subjects in _SUBJECTS.items() for subject in subjects.split()}


def parse(row: Row) -> Draft:
    """A four-option item by subject, with its area."""
    question, choices, subject = row.text("question"), row.texts("choices"), row.text("subject")
    if subject and subject not in AREAS:
        raise RowError(f"subject {subject!r} is none of MMLU's 57{nearest(subject, AREAS)}")
    return Draft(
        question=question,
        choices=choices,
        gold=row.integer("answer"),
        subject=subject,
        # The auxiliary training split names no subject, and so has no area.
        meta={"area": AREAS[subject]} if subject else {},
        group_keys=(question_key(question, choices),),
    )


ADAPTER = Adapter(
    name="mmlu",
    parse=parse,
    columns={"question": "text", "subject": "text", "choices": "texts", "answer": "integer"},
    published={"test": 14_042, "validation": 1_531, "dev": 285, "auxiliary_train": 99_842},
    subjects=tuple(sorted(AREAS)),
)
