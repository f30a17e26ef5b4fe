"""Conditions of a run: Direct is always there and first; names are unique; the studies' strings are exact."""

from __future__ import annotations

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from tests.conftest import ROOT
from thinkgap import schema
from thinkgap.errors import ConfigError
from thinkgap.prompts.conditions import all_conditions
from thinkgap.schema import EvaluateConfig, ModeConfig, ModeSpec, PromptConfig, TriggerConfig, TriggerSpec
from thinkgap.types import Condition, Placement, Request, Thinking


def composed(*overrides: str) -> list[Condition]:
    schema.register()
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        config = OmegaConf.to_object(compose("evaluate", list(overrides)))
    assert isinstance(config, EvaluateConfig)
    return all_conditions(config.trigger, config.mode, config.prompt)


def test_direct_is_added_and_comes_first() -> None:
    names = [one.name for one in composed("trigger=let_me_think")]
    assert names == ["direct", "let_me_think"]
    assert [one.name for one in composed("trigger=[reasoning,direct]")] == ["direct", "reasoning"]


def test_paper_gives_the_six_rows_of_the_trigger_table() -> None:
    """Study A, table 2; the strings are stimuli."""
    assert [one.text for one in composed("trigger=paper")] == [
        "",
        "Let me think step by step.",
        "Let's think step by step.",
        "Let's solve this step by step.",
        "Let's reason step by step.",
        "Reasoning:",
    ]


def test_endings_are_at_least_eleven_with_answer_eliciting_ones() -> None:
    endings = composed("trigger=endings")
    assert len([one for one in endings if one.text]) >= 11
    assert {"Answer:", "The answer is"} <= {one.text for one in endings if one.requests is Request.label}


def test_placement_holds_for_every_trigger() -> None:
    assert {one.placement for one in composed("trigger=paper", "trigger.placement=prompt_end")} == {
        Placement.prompt_end
    }


def test_modes_of_the_inertia_study() -> None:
    modes = {one.name: one for one in composed("mode=paper", "trigger=direct")}
    assert list(modes) == ["direct", "think_on", "think_off", "cot", "soft", "strict", "prefix"]
    assert modes["think_on"].thinking is Thinking.enabled
    assert {modes[name].thinking for name in list(modes)[2:]} == {Thinking.disabled}
    assert modes["cot"].text == "Think step by step."
    assert modes["soft"].text == "A very short lead-in is allowed, but do not explain."
    assert modes["strict"].text == "Give the final answer directly without any reasoning."
    assert modes["prefix"].user_suffix == r" The answer is \boxed{"
    assert modes["prefix"].prefill == ""


def test_a_trigger_named_direct_must_be_empty_and_others_must_not() -> None:
    with pytest.raises(ConfigError, match="'direct' must have an empty text"):
        all_conditions(TriggerConfig(conditions={"direct": TriggerSpec("x")}), ModeConfig(), PromptConfig())
    with pytest.raises(ConfigError, match="'mine' has no text"):
        all_conditions(TriggerConfig(conditions={"mine": TriggerSpec(" ")}), ModeConfig(), PromptConfig())


def test_a_name_cannot_be_trigger_and_mode() -> None:
    with pytest.raises(ConfigError, match="strict: used both"):
        all_conditions(
            TriggerConfig(conditions={"strict": TriggerSpec("x")}),
            ModeConfig(conditions={"strict": ModeSpec()}),
            PromptConfig(),
        )
