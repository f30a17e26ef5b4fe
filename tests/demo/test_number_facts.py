"""Number facts: the three forms of a fact agree with each other, with the words, and with the digit scene."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

import pytest
import world_reader as reader
from world_reader import Items

from thinkgap.errors import ConfigError
from thinkgap.types import Item

N = 600


def _triples(items: tuple[Item, ...]) -> list[dict[str, Item]]:
    by_fact: dict[str, dict[str, Item]] = defaultdict(dict)
    for item in items:
        by_fact[item.meta["fact"]][item.meta["form"]] = item
    return list(by_fact.values())


def test_every_fact_has_three_forms_in_a_group_of_its_own(made: Items) -> None:
    items = made("number_facts", size=N)
    triples = _triples(items)
    assert len(triples) == N
    assert len(items) == 3 * N
    for triple in triples:
        assert list(triple) == ["bool", "mcq", "open"]
        assert [item.answer_space for item in triple.values()] == ["bool", "mcq", "open"]
        assert [item.id for item in triple.values()] == [f"{triple['mcq'].meta['fact']}/{form}" for form in triple]
    assert set(Counter(item.group_id for item in items).values()) == {3}
    assert len({triple["open"].group_id for triple in triples}) == N


@pytest.mark.parametrize(("split", "seed"), [("test", 0), ("train", 2)])
def test_the_forms_agree_with_each_other_and_with_the_words(made: Items, split: str, seed: int) -> None:
    for triple in _triples(made("number_facts", split, seed, size=N)):
        claim, choice, opened = triple["bool"], triple["mcq"], triple["open"]
        assert claim.context == choice.context == opened.context
        assert not claim.images
        marks = reader.marks_in_text(claim.context)
        assert marks == reader.marks_of_scene(claim)
        assert reader.answer(choice.question, marks) == choice.answer == opened.answer
        assert opened.question == choice.question
        assert (claim.answer == "Yes") == reader.claim_is_true(claim.question, marks)
        said = [option for option in choice.choices if _says(claim.question, option)]
        assert said, "the claim is about one of the options"
        assert (choice.answer in said) == (claim.answer == "Yes") or len(said) > 1


def _says(claim: str, option: str) -> bool:
    return re.search(rf"\b{option}\b", claim) is not None


def test_rationales_end_in_the_answer_of_their_form(made: Items) -> None:
    for item in made("number_facts", size=N):
        assert reader.check_rationale(item.meta["rationale"], reader.marks_of_scene(item)) == item.answer
        assert not re.search(r"\b[A-Z]\b", f"{item.question} {item.context} {item.meta['rationale']}")


def test_half_of_the_claims_are_true_in_every_kind(made: Items) -> None:
    claims = [item for item in made("number_facts", size=N) if item.meta["form"] == "bool"]
    assert sum(item.answer == "Yes" for item in claims) / N == pytest.approx(0.5, abs=0.02)
    for kind in {item.subject for item in claims}:
        answers = [item.answer == "Yes" for item in claims if item.subject == kind]
        assert len(answers) == pytest.approx(N / 6, rel=0.15)
        assert sum(answers) / len(answers) == pytest.approx(0.5, abs=0.15)


def test_options_are_sound(made: Items) -> None:
    choices = [item for item in made("number_facts", size=N) if item.meta["form"] == "mcq"]
    for item in choices:
        assert len(set(item.choices)) == len(item.choices)
        assert item.choices.count(item.answer) == 1
    sizes = Counter(len(item.choices) for item in choices)
    assert set(sizes) == {2, 3, 4, 5}
    assert max(sizes.values()) < 1.2 * min(sizes.values())
    for k in sizes:
        first = sum(item.gold == 0 for item in choices if len(item.choices) == k)
        assert first / sizes[k] == pytest.approx(1 / k, abs=0.06)


def test_facts_are_those_of_the_digit_scenes(made: Items) -> None:
    scenes = {item.id.removeprefix("digit_scenes/"): item for item in made("digit_scenes")}
    matched = 0
    for item in made("number_facts", size=N):
        scene = scenes.get(item.meta["fact"].removeprefix("number_facts/"))
        if scene is not None and item.meta["form"] == "mcq":
            matched += 1
            assert (item.question, item.choices, item.gold) == (scene.question, scene.choices, scene.gold)
            assert item.group_id == scene.group_id
            assert scene.images or scene.context == item.context
    assert matched == N


def test_scenes_of_the_splits_are_disjoint_over_seeds(made: Items) -> None:
    scenes = {
        split: {
            item.meta["scene"]
            for name in ("number_facts", "digit_scenes")
            for seed in (0, 1)
            for item in made(name, split, seed, size=N)
        }
        for split in ("train", "validation", "test")
    }
    for first, second in (("train", "validation"), ("train", "test"), ("validation", "test")):
        assert not scenes[first] & scenes[second]


def test_some_forms_only(made: Items) -> None:
    whole = {item.id: item for item in made("number_facts", size=50)}
    only = made("number_facts", size=50, forms=["open", "mcq"])
    assert [item.meta["form"] for item in only[:4]] == ["mcq", "open"] * 2
    assert all(whole[item.id] == item for item in only)
    with pytest.raises(ConfigError, match="dataset.generation.forms has 'boolean'; did you mean 'bool'"):
        made("number_facts", forms=["boolean"])
    with pytest.raises(ConfigError, match="dataset.generation.forms is empty"):
        made("number_facts", forms=[])
