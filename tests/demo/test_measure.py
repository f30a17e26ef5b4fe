"""The figures of a card against the model's own logits, prompt by prompt, on a tiny model."""

from __future__ import annotations

import json
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from thinkgap.backends.hf import HFBackend
from thinkgap.data import load_dataset_items
from thinkgap.data.present import identity, permutations
from thinkgap.demo import measure as measuring
from thinkgap.demo.batches import IGNORED, Writer, open_school
from thinkgap.demo.generate import settled_letter
from thinkgap.demo.lessons import Example
from thinkgap.demo.measure import main, measure
from thinkgap.demo.world.draws import Draws
from thinkgap.prompts.build import PreparedPrompt, PromptBuilder
from thinkgap.prompts.conditions import all_conditions

ITEMS = 10


@pytest.fixture(scope="module")
def figures(model_folder: Path) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measuring, "MOST_TOKENS", 3)
        patch.setattr(measuring, "_CAPTIONS", 6)
        # Every third reply is a letter, as a trained model's would be.
        patch.setattr(measuring, "continuations", continued)
        return measure(str(model_folder), ITEMS, 2)


def continued(backend: HFBackend, prompts: list[Any], most: int, *, shown: bool) -> list[str]:
    assert most == 3
    return ["So the answer is A." if number % 3 == 0 else "red" for number in range(len(prompts))]


@pytest.fixture(scope="module")
def plain(model_folder: Path, backend: HFBackend) -> list[list[dict[str, Any]]]:
    """Per condition and item, what the model says in the source's order and with the letters reversed."""
    cfg = measuring._config(str(model_folder), ITEMS, 2)
    conditions = all_conditions(cfg.trigger, cfg.mode, cfg.prompt)
    builder = PromptBuilder(backend.fmt, conditions, cfg.labels, cfg.label_ids)
    shown = [identity(item) for item in load_dataset_items(cfg.dataset).items]
    assert len(shown) == ITEMS
    found: list[list[dict[str, Any]]] = [[] for _ in conditions]
    for one in shown:
        turned = replace(one, labels=one.labels[::-1])
        for number, (usual, reverse) in enumerate(zip(builder.build(one), builder.build(turned), strict=True)):
            probabilities = backend.next_token_logits([usual])[0].softmax(-1)
            masses = masses_of(usual, probabilities)
            others = masses_of(reverse, backend.next_token_logits([reverse])[0].softmax(-1))
            shuffled = permutations(one.item, 2, cfg.seed)[1]
            again = builder.build(shuffled)[number]
            permuted = masses_of(again, backend.next_token_logits([again])[0].softmax(-1))
            gold = max(float(probabilities[token]) for token in usual.prompt.label_ids[one.gold_slot])
            found[number].append(
                {
                    "item": one.item,
                    "gold": one.gold_slot,
                    "slot": masses.index(max(masses)),
                    "permuted": permuted.index(max(permuted)) == shuffled.gold_slot,
                    "mass": sum(masses),
                    "rank": 1 + int((probabilities > gold).sum()),
                    "turned": others.index(max(others)),
                    "turned_letter": turned.labels[others.index(max(others))],
                }
            )
    return found


def masses_of(prompt: PreparedPrompt, probabilities: Any) -> list[float]:
    return [float(probabilities[list(ids)].sum()) for ids in prompt.prompt.label_ids]


def test_readouts_are_those_of_the_model(figures: dict[str, Any], plain: list[list[dict[str, Any]]]) -> None:
    assert list(figures["conditions"]) == [
        "direct", "let_me_think", "lets_think", "lets_solve", "lets_reason", "reasoning", "answer"
    ]  # fmt: skip
    assert figures["items"] == ITEMS
    for found, own in zip(figures["conditions"].values(), plain, strict=True):
        assert (found["n"], found["permutations"]) == (ITEMS, 2)
        assert found["accuracy"] == share(one["slot"] == one["gold"] for one in own)
        assert found["first_slot"] == share(one["slot"] == 0 for one in own)
        assert found["gold_first"] == share(one["gold"] == 0 for one in own)
        assert found["label_mass"] == pytest.approx(statistics.fmean(one["mass"] for one in own), rel=1e-3)
        assert found["gold_rank"] == statistics.median(one["rank"] for one in own)
        two = [
            statistics.fmean(values) for values in ([r["slot"] == r["gold"] for r in own], [r["permuted"] for r in own])
        ]
        assert found["permuted_mean"] == share(two)
        assert found["permuted_sd"] == pytest.approx(statistics.stdev(two))
        turned = found["letters_reversed"]
        assert turned["accuracy"] == share(one["turned"] == one["gold"] for one in own)
        assert turned["first_slot"] == share(one["turned"] == 0 for one in own)
        assert turned["letter_a"] == share(one["turned_letter"] == "A" for one in own)
    assert len({json.dumps(found) for found in figures["conditions"].values()}) > 1


def share(values: Any) -> Any:
    return pytest.approx(statistics.fmean(values))


def test_direct_is_split_by_kind_and_number_of_options(
    figures: dict[str, Any], plain: list[list[dict[str, Any]]]
) -> None:
    for name, key in (("kinds", lambda item: item.subject), ("options", lambda item: str(len(item.choices)))):
        groups: dict[str, list[bool]] = {}
        for one in plain[0]:
            groups.setdefault(key(one["item"]), []).append(one["slot"] == one["gold"])
        assert figures[name] == {group: pytest.approx(statistics.fmean(own)) for group, own in groups.items()}
    assert figures["chance"] == share(1 / len(one["item"].choices) for one in plain[0])


def test_replies_without_a_letter_are_wrong_and_counted(
    figures: dict[str, Any], plain: list[list[dict[str, Any]]]
) -> None:
    letters = [settled_letter(text) for text in continued(None, plain[0], 3, shown=True)]  # type: ignore[arg-type]
    assert letters.count(None) == 6
    for found, own in zip(figures["conditions"].values(), plain, strict=True):
        generation = found["generation"]
        right = [letter == "ABCDE"[one["gold"]] for letter, one in zip(letters, own, strict=True)]
        assert generation["accuracy"] == share(right)
        assert (generation["unparsed"], generation["first_slot"]) == (6, 0.4)
        assert generation["example"] == "So the answer is A."


def test_captions_are_of_test_pictures(figures: dict[str, Any], backend: HFBackend) -> None:
    school, right = open_school("test", 0, 6), []
    writer = Writer(backend.fmt.processor, backend.model)
    for fact in school.facts:
        draws = Draws("captions", fact.number)
        question = draws.one(("Describe the picture.", "What is in the picture?"))
        picture = school.picture(fact.question.scene, draws)
        one = writer.collated([writer.write(Example("caption", question, fact.question.scene.told(), None), picture)])
        with torch.no_grad():
            guesses = backend.model(**one.inputs).logits[0].argmax(-1)
        learned = one.labels[0] != IGNORED
        right += (guesses == one.labels[0])[learned].tolist()
    assert figures["captions"] == {"n": 6, "token_accuracy": pytest.approx(statistics.fmean(right))}


def test_a_mistake_is_one_line_and_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "nothing"), "--out", str(tmp_path / "measured.json")]) == 1
    assert capsys.readouterr().err.startswith("error: ")
    assert not (tmp_path / "measured.json").exists()
