"""Equal digests mean equal prompts: what changes a prompt changes the digest, and nothing else does."""

from __future__ import annotations

import copy
import hashlib
from typing import Any

import pytest

from probes.prompt_hash import Difference, facts_hash, prompt_differences, prompt_facts, prompt_hash
from thinkgap.errors import StoreError


def manifest(**changes: Any) -> dict[str, Any]:
    """Of a run with a trigger and a mode; `changes` are of the trigger."""
    trigger = {
        "name": "think",
        "kind": "trigger",
        "requests": "rationale",
        "text": "Hm.",
        "placement": "user",
        "thinking": "disabled",
        "natural_variant": "bare",
        "label_ids": {"A": [49], "B": [50, 333]},
        "natural_label_ids": {"A": [49], "B": [50]},
        "example_prompt_end": "...",
        "example_prompt_sha256": "00",
    }
    mode = trigger | {"name": "soft", "kind": "mode"}
    texts = {"instruction": "Hm.", "user_suffix": "", "prefill": "", "soft_switch": "", "requests": "answer_only"}
    return {
        "config": {
            "prompt": {"instruction": "", "system": None, "chat_template": True, "date": None},
            "mode": {"format_example": True, "conditions": {"soft": texts}},
            "seed": 0,
        },
        "conditions": [trigger | changes, mode],
    }


def test_the_digest_is_of_these_bytes() -> None:
    text = (
        '{"kind":"trigger","label_ids":{"A":[49],"B":[50,333]},"placement":"user",'
        '"prompt":{"chat_template":true,"date":null,"instruction":"","system":null},"text":"Hm.","thinking":"disabled"}'
    )
    assert prompt_hash(manifest(), "think") == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    "change",
    [
        {"text": "Hm. "},
        {"text": "Hḿ."},
        {"placement": "assistant"},
        {"thinking": "enabled"},
        {"label_ids": {"A": [49], "B": [50]}},
        {"label_ids": {"A": [50, 333], "B": [49]}},
        {"label_ids": {"A": [49]}},
    ],
)
def test_what_changes_a_prompt_changes_the_digest(change: dict[str, Any]) -> None:
    assert prompt_hash(manifest(**change), "think") != prompt_hash(manifest(), "think")


@pytest.mark.parametrize(("key", "value"), [("instruction", "Answer."), ("system", ""), ("chat_template", False)])
def test_so_do_settings_of_every_prompt(key: str, value: object) -> None:
    changed = manifest()
    changed["config"]["prompt"][key] = value
    assert prompt_hash(changed, "think") != prompt_hash(manifest(), "think")


def test_what_changes_no_prompt_does_not() -> None:
    other = manifest(
        name="ponder", requests="label", example_prompt_sha256="11", natural_variant="spaced", natural_label_ids={}
    )
    other["config"]["seed"] = 7
    other["conditions"].reverse()
    other["conditions"][1]["label_ids"] = {"B": (50, 333), "A": (49,)}
    other["config"]["prompt"] = dict(reversed(other["config"]["prompt"].items()))
    assert prompt_hash(other, "ponder") == prompt_hash(manifest(), "think")


@pytest.mark.parametrize("key", ["user_suffix", "prefill", "soft_switch"])
def test_a_mode_has_further_texts(key: str) -> None:
    changed = manifest()
    changed["config"]["mode"]["conditions"]["soft"][key] = "Final answer:"
    assert prompt_hash(changed, "soft") != prompt_hash(manifest(), "soft")
    assert prompt_hash(changed, "think") == prompt_hash(manifest(), "think")


def test_a_mode_is_no_trigger_of_the_same_text_and_its_example_counts() -> None:
    changed = manifest()
    assert prompt_hash(changed, "soft") != prompt_hash(changed, "think")
    changed["config"]["mode"]["format_example"] = False
    assert prompt_hash(changed, "soft") != prompt_hash(manifest(), "soft")


def test_the_manifest_is_left_as_it_is() -> None:
    given = manifest()
    before = copy.deepcopy(given)
    facts = prompt_facts(given, "think")
    facts["prompt"]["system"] = facts["label_ids"]["A"] = None
    assert given == before


def test_an_unknown_condition_is_named_with_its_neighbour() -> None:
    with pytest.raises(StoreError, match="no condition 'thnk'; did you mean 'think'"):
        prompt_hash(manifest(), "thnk")


def test_differences_name_the_setting_and_both_values() -> None:
    other = manifest(text="Ah.", label_ids={"A": [49], "B": [7], "C": [8]})
    other["config"]["prompt"]["system"] = "Be brief."
    assert prompt_differences(prompt_facts(manifest(), "think"), prompt_facts(other, "think")) == [
        Difference("prompt.system", None, "Be brief."),
        Difference("text", "Hm.", "Ah."),
        Difference("the token of label B", [50, 333], [7]),
    ]


def test_a_label_that_one_run_lacks_is_another_digest_but_no_difference() -> None:
    one, other = (prompt_facts(manifest(label_ids=ids), "think") for ids in ({"A": [49], "B": [50]}, {"A": [49]}))
    assert facts_hash(one) != facts_hash(other)
    assert prompt_differences(one, other) == prompt_differences(other, one) == []


def test_runs_without_a_common_label_differ() -> None:
    facts = prompt_facts(manifest(), "think")
    assert prompt_differences(facts, facts | {"label_ids": {"1": [33], "2": [34]}}) == [
        Difference("the labels", ["A", "B"], ["1", "2"])
    ]


def test_a_mode_differs_from_a_trigger_in_what_only_it_has() -> None:
    found = prompt_differences(prompt_facts(manifest(), "think"), prompt_facts(manifest(), "soft"))
    assert [one.name for one in found] == ["kind", "mode"]
