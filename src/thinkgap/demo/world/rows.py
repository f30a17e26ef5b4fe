"""Rows of the two data sets: digit scenes in the columns of ScienceQA, and the same facts in words in three forms.

Each row depends on split, seed and its number only, so that a longer set begins with the shorter one, and a question
is the same whether its scene is shown or told. It does not know items or files.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from thinkgap.demo.world.draws import Deck, Draws
from thinkgap.demo.world.facts import Fact, facts
from thinkgap.demo.world.handwriting import check_parts, pools
from thinkgap.demo.world.parts import SPLITS, Part, parts_of
from thinkgap.demo.world.pictures import ROOM, draw_picture
from thinkgap.demo.world.questions import SKILLS
from thinkgap.demo.world.scenes import Scene
from thinkgap.errors import ConfigError, nearest
from thinkgap.schema import GenerationConfig

SIZES = {"train": 20_000, "validation": 1_000, "test": 2_000}
FORMS = ("bool", "mcq", "open")
YES_NO = ("Yes", "No")
_CLAIMS = (True, False) * 5


def scene_rows(split: str, seed: int, cfg: GenerationConfig) -> Iterator[dict[str, object]]:
    """Digit scenes: a question with options about a picture, or about the same scene in words.

    Raises:
        ConfigError: A setting that cannot be honoured, or splits that would share a digit or a scene.
    """
    parts, size = _checked("digit_scenes", split, cfg)
    rows = pools(split, parts)
    words = Draws("words", split, seed)
    for fact in islice(facts(split, seed, parts[split]), size):
        scene = fact.question.scene
        draws = Draws("picture", split, seed, fact.number)
        samples = [draws.one(rows[int(mark.digit)]) for mark in scene.marks]
        offsets = [(draws.below(ROOM + 1), draws.below(ROOM + 1)) for _ in scene.marks]
        in_words = words.chance(cfg.image_free)
        image = None if in_words else {"bytes": draw_picture(scene, samples, offsets), "path": None}
        yield {
            "id": f"digit_scenes/{split}/{seed}/{fact.number:06d}",
            "image": image,
            "question": fact.question.text,
            "choices": list(fact.choices),
            "answer": fact.gold,
            "hint": _told(scene, split, seed, fact.number) if in_words else "",
            "solution": fact.rationale(fact.question.answer),
            "task": "closed choice",
            "grade": "",
            "handwriting": "" if in_words else " ".join(map(str, samples)),
        } | _described(fact)


def fact_rows(split: str, seed: int, cfg: GenerationConfig) -> Iterator[dict[str, object]]:
    """Number facts: each fact of `scene_rows` with a scene not met before, told in words and asked in three forms.

    Raises:
        ConfigError: A setting that cannot be honoured, or splits that would share a scene.
    """
    parts, size = _checked("number_facts", split, cfg)
    unknown = [form for form in cfg.forms if form not in FORMS]
    if unknown or not cfg.forms:
        wrong = f"has {unknown[0]!r}{nearest(unknown[0], FORMS)}" if unknown else "is empty"
        raise ConfigError(f"dataset.generation.forms {wrong}; give some of {', '.join(FORMS)}")
    claims = Deck(Draws("claims", split, seed), _CLAIMS)
    options = Draws("claimed", split, seed)
    for fact in islice(_new_scenes(facts(split, seed, parts[split])), size):
        question, answer, true = fact.question, fact.question.answer, claims.draw()
        claimed = options.one(fact.wrong)
        claim = question.claim(answer if true else claimed)
        truth = YES_NO[0 if true else 1]
        common = {
            "fact": f"number_facts/{split}/{seed}/{fact.number:06d}",
            "hint": _told(question.scene, split, seed, fact.number),
        } | _described(fact)
        forms: dict[str, tuple[str, list[str], int | None, str]] = {
            "bool": (claim, list(YES_NO), YES_NO.index(truth), truth),
            "mcq": (question.text, list(fact.choices), fact.gold, answer),
            "open": (question.text, [], None, answer),
        }
        for form in (form for form in FORMS if form in cfg.forms):
            text, choices, gold, reference = forms[form]
            yield {
                "id": f"{common['fact']}/{form}",
                "form": form,
                "question": text,
                "choices": choices,
                "answer": gold,
                "answer_text": reference,
                "solution": fact.rationale(reference),
            } | common


def _checked(name: str, split: str, cfg: GenerationConfig) -> tuple[dict[str, Part], int]:
    if split not in SPLITS:
        raise ConfigError(f"{name} has no split {split!r}{nearest(split, SPLITS)}")
    if cfg.size is not None and cfg.size < 1:
        raise ConfigError(f"dataset.generation.size is {cfg.size}; it is at least 1, or null for {SIZES[split]:,}")
    if not 0 <= cfg.image_free <= 1:
        raise ConfigError(f"dataset.generation.image_free is {cfg.image_free}; it is a share between 0 and 1")
    parts = parts_of(cfg.splits)
    check_parts(parts)
    return parts, cfg.size or SIZES[split]


def _new_scenes(stream: Iterator[Fact]) -> Iterator[Fact]:
    seen: set[str] = set()
    for fact in stream:
        if fact.question.scene.text not in seen:
            seen.add(fact.question.scene.text)
            yield fact


def _told(scene: Scene, split: str, seed: int, number: int) -> str:
    """The scene in words, in an order of its own, so that the first place told is not always the first in reading."""
    return scene.told(Draws("telling", split, seed, number).shuffled(range(len(scene.marks))))


def _described(fact: Fact) -> dict[str, object]:
    scene, n = fact.question.scene, len(fact.question.scene.marks)
    return {
        "subject": fact.kind,
        "topic": fact.question.topic,
        "category": "1 digit" if n == 1 else f"{n} digits",
        "skill": SKILLS[fact.kind],
        "scene": scene.text,
        "caption": scene.told(),
    }
