"""What is sent for each provider and each wish, written out; and what is refused before anything is sent."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any

import pytest

from tests.backends.served.loopback import model, question
from tests.test_config import composed
from thinkgap.backends.served import ServedRequest, build_request, check_profile
from thinkgap.backends.served.request import check_sent
from thinkgap.errors import ConfigError, PromptError
from thinkgap.schema import (
    BackendKind,
    ModelConfig,
    PrefillForm,
    ServedApi,
    TemperatureRule,
    ThinkingSwitch,
    TokenField,
)
from thinkgap.types import Thinking

URL = "http://localhost:1/v1"
TURN = {"role": "user", "content": "2 + 2?"}
OPENING = r"The answer is \boxed{"
ROUTED = {"provider": {"require_parameters": True}}
OPENROUTER = "https://openrouter.ai/api/v1/chat/completions"


def built(cfg: ModelConfig, thinking: Thinking = Thinking.disabled, **asked: Any) -> ServedRequest:
    return build_request(cfg, [TURN], thinking, **{"max_new_tokens": 9, **asked})


@pytest.mark.parametrize(
    ("name", "thinking", "url", "body", "omitted"),
    [
        (
            "qwen3_235b_a22b",
            Thinking.enabled,
            OPENROUTER,
            {
                "model": "qwen/qwen3-235b-a22b",
                "messages": [TURN],
                "max_tokens": 9,
                "temperature": 0.0,
                "reasoning": {"effort": "high"},
                **ROUTED,
            },
            {},
        ),
        (
            "qwen3_235b_a22b",
            Thinking.disabled,
            OPENROUTER,
            {
                "model": "qwen/qwen3-235b-a22b",
                "messages": [TURN],
                "max_tokens": 9,
                "temperature": 0.0,
                "reasoning": {"effort": "none"},
                **ROUTED,
            },
            {},
        ),
        (
            "gemini_3_flash",
            Thinking.disabled,
            OPENROUTER,
            {
                "model": "google/gemini-3-flash-preview",
                "messages": [TURN],
                "max_tokens": 9,
                "temperature": 0.0,
                "reasoning": {"effort": "minimal"},
                **ROUTED,
            },
            {},
        ),
        (
            "deepseek_v4_flash",
            Thinking.enabled,
            "https://api.deepseek.com/chat/completions",
            {
                "model": "deepseek-v4-flash",
                "messages": [TURN],
                "max_tokens": 9,
                "thinking": {"type": "enabled"},
                "reasoning_effort": "high",
            },
            {"temperature": 0.0},
        ),
        (
            "deepseek_v4_flash",
            Thinking.disabled,
            "https://api.deepseek.com/chat/completions",
            {
                "model": "deepseek-v4-flash",
                "messages": [TURN],
                "max_tokens": 9,
                "temperature": 0.0,
                "thinking": {"type": "disabled"},
            },
            {},
        ),
        (
            "gpt_5_4",
            Thinking.enabled,
            "https://api.openai.com/v1/responses",
            {
                "model": "gpt-5.4",
                "input": [TURN],
                "max_output_tokens": 9,
                "reasoning": {"effort": "high", "summary": "auto"},
            },
            {"temperature": 0.0},
        ),
        (
            "gpt_5_4",
            Thinking.disabled,
            "https://api.openai.com/v1/responses",
            {
                "model": "gpt-5.4",
                "input": [TURN],
                "max_output_tokens": 9,
                "temperature": 0.0,
                "reasoning": {"effort": "none"},
            },
            {},
        ),
        (
            "qwen3_32b_vllm",
            Thinking.disabled,
            "http://localhost:8000/v1/chat/completions",
            {
                "model": "Qwen/Qwen3-32B",
                "messages": [TURN],
                "max_tokens": 9,
                "temperature": 0.0,
                "chat_template_kwargs": {"enable_thinking": False},
            },
            {},
        ),
    ],
)
def test_bodies_of_the_packaged_profiles(
    name: str, thinking: Thinking, url: str, body: dict[str, Any], omitted: dict[str, Any]
) -> None:
    request = built(composed(f"model={name}").model, thinking)
    body = {**body, "stream": False}
    assert (request.url, request.body(), request.omitted) == (url, body, omitted)
    assert request.record() == {
        "base_url": request.base_url,
        "api": request.api,
        "body": body,
        "thinking": thinking.name,
        "omitted": omitted,
    }
    assert json.loads(json.dumps(request.record())) == request.record()


def test_prefill_forms() -> None:
    vllm = built(composed("model=qwen3_32b_vllm").model, prefill=OPENING)
    assert vllm.body()["messages"] == [TURN, {"role": "assistant", "content": OPENING}]
    assert (vllm.body()["continue_final_message"], vllm.body()["add_generation_prompt"]) == (True, False)
    assert vllm.body()["chat_template_kwargs"] == {"enable_thinking": False}
    deepseek = built(composed("model=deepseek_v4_flash").model, prefill=OPENING)
    assert deepseek.body()["messages"] == [TURN, {"role": "assistant", "content": OPENING, "prefix": True}]
    assert deepseek.url == "https://api.deepseek.com/beta/chat/completions"
    assert "continue_final_message" not in deepseek.body()
    assert "continue_final_message" not in built(composed("model=qwen3_32b_vllm").model).body()


def changed(**served: Any) -> ModelConfig:
    return model(URL, **served)


NO_SWITCH = dataclasses.replace(changed(), thinking=ThinkingSwitch())
NEVER = dataclasses.replace(changed(thinks=False), thinking=ThinkingSwitch())
ALWAYS = dataclasses.replace(changed(), thinking=ThinkingSwitch(enabled={"effort": "high"}))
SAME = dataclasses.replace(changed(), thinking=ThinkingSwitch({"effort": "high"}, {"effort": "high"}))
RESPONSES = {"api": ServedApi.responses, "token_field": TokenField.max_output_tokens}


@pytest.mark.parametrize(
    ("cfg", "asked", "message"),
    [
        (NO_SWITCH, {"thinking": Thinking.enabled}, "no switch that turns its thinking on.*model.thinking.enabled"),
        (NO_SWITCH, {}, "no switch that turns its thinking off.*model.served.thinks=false"),
        (ALWAYS, {}, "no switch that turns its thinking off.*cannot be turned off, drop the modes"),
        (NEVER, {"thinking": Thinking.enabled}, "loopback cannot think"),
        (SAME, {}, "send the same fields"),
        (dataclasses.replace(changed(), served=changed(thinks=False).served), {}, "thinks=false, but model.thinking"),
        (changed(), {"prefill": "x"}, "model.served.prefill=none.*mode prefix"),
        (changed(prefill=PrefillForm.prefix), {"prefill": "x", "thinking": Thinking.enabled}, "no thinking can come"),
        (changed(prefill=PrefillForm.prefix, **RESPONSES), {}, "the responses API has no prefill"),
        (changed(temperature_plain=TemperatureRule.refuse), {}, "thinking disabled .*temperature_plain=refuse.*=omit"),
        (
            changed(temperature_thinking=TemperatureRule.refuse),
            {"thinking": Thinking.enabled},
            "thinking enabled .*temperature_thinking=refuse",
        ),
        (
            changed(temperature_thinking=TemperatureRule.omit),
            {"thinking": Thinking.default},
            "takes a temperature in one state of thinking only",
        ),
        (changed(), {"temperature": -1.0}, "temperature=-1.0"),
        (changed(), {"temperature": float("nan")}, "temperature=nan"),
        (changed(), {"max_new_tokens": 0}, "max_new_tokens=0"),
        (changed(extra_body={"temperature": 1}), {}, "model.served.extra_body sets 'temperature'"),
        (changed(extra_body={"max_completion_tokens": 1}), {}, "sets 'max_completion_tokens'"),
        (changed(extra_body={"messages": []}), {}, "sets 'messages'"),
        (changed(extra_body={"n": 2}), {}, "sets 'n'"),
        (changed(extra_body={"stream": True}), {}, "sets 'stream'"),
        (changed(extra_body={"reasoning": {"effort": "low"}}), {}, "sets 'reasoning.effort', which switches thinking"),
        (changed(token_field=TokenField.max_output_tokens), {}, "no field of model.served.api=chat"),
        (changed(api=ServedApi.responses), {}, "no field of model.served.api=responses"),
        (model(""), {}, "model.served.base_url=''"),
        (model("localhost:8000/v1"), {}, "model.served.base_url='localhost:8000/v1'"),
        (changed(prefill_base_url="beta"), {}, "model.served.prefill_base_url='beta'"),
        (changed(concurrency=0), {}, "model.served.concurrency=0"),
        (changed(requests_per_minute=0), {}, "model.served.requests_per_minute=0"),
        (changed(max_retries=-1), {}, "model.served.max_retries=-1"),
        (changed(timeout=0.0), {}, "model.served.timeout=0"),
        (dataclasses.replace(changed(), backend=BackendKind.hf), {}, "model=loopback is not served"),
    ],
)
def test_what_is_refused(cfg: ModelConfig, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        built(cfg, **asked)


def test_a_model_that_cannot_think_is_sent_nothing_to_turn_it_off() -> None:
    assert set(built(NEVER).body()) == {"model", "messages", "max_tokens", "stream", "temperature"}
    assert built(NEVER).key == built(NEVER, Thinking.default).key


def test_default_leaves_the_switch_alone() -> None:
    assert "reasoning" not in built(changed(), Thinking.default).body()


def test_a_temperature_that_is_left_out_is_recorded_and_none_is_not() -> None:
    cfg = changed(temperature_plain=TemperatureRule.omit)
    omitted, unasked = built(cfg, temperature=0.7), built(cfg, temperature=None)
    assert "temperature" not in omitted.body()
    assert (omitted.omitted, unasked.omitted) == ({"temperature": 0.7}, {})
    # What is not sent cannot change a reply.
    assert omitted.key == unasked.key
    refusing = changed(temperature_plain=TemperatureRule.refuse)
    assert "temperature" not in built(refusing, temperature=None).body()


def test_further_fields_stand_beside_those_of_the_switch() -> None:
    cfg = changed(extra_body={"reasoning": {"exclude": False}, "seed": 3})
    body = built(cfg).body()
    assert (body["reasoning"], body["seed"]) == ({"exclude": False, "effort": "none"}, 3)


def test_the_key_is_the_digest_of_what_a_reply_depends_on() -> None:
    request = built(changed())
    text = (
        '{"api":"chat","base_url":"http://localhost:1/v1","body":{"max_tokens":9,"messages":[{"content":"2 + 2?",'
        '"role":"user"}],"model":"some/model","reasoning":{"effort":"none"},"stream":false,"temperature":0.0}}'
    )
    assert request.key == hashlib.sha256(text.encode()).hexdigest()
    others = [
        built(model("http://localhost:2/v1")),
        built(changed(**RESPONSES)),
        built(changed(), Thinking.enabled),
        built(changed(), max_new_tokens=10),
        built(changed(), temperature=0.5),
        built(changed(extra_body={"seed": 1})),
        built(dataclasses.replace(changed(), path="other/model")),
        build_request(changed(), [{"role": "user", "content": "2 + 3?"}], Thinking.disabled, max_new_tokens=9),
    ]
    assert len({request.key, *(other.key for other in others)}) == 9
    # How it is sent, and under which name the model is known here, changes no reply.
    same = built(dataclasses.replace(changed(concurrency=1, timeout=1.0), name="other"))
    assert same.key == request.key == built(model(URL + "/")).key


@pytest.mark.parametrize(
    ("tamper", "message"),
    [
        (lambda body: body.pop("reasoning"), "reasoning.effort='none', but that is 'absent'"),
        (lambda body: body["reasoning"].update(effort="high"), "reasoning.effort='none', but that is 'high'"),
        (lambda body: body.pop("temperature"), "temperature=0.0, but that is 'absent'"),
        (lambda body: body.update(max_tokens=8), "max_tokens=9, but that is 8"),
        (lambda body: body.update(model="other"), "model='some/model'"),
        (lambda body: body.pop("seed"), "seed=3"),
    ],
)
def test_a_request_that_lost_something_is_not_sent(tamper: Any, message: str) -> None:
    request = built(changed(extra_body={"seed": 3}))
    body = request.body()
    check_sent(request, body)
    tamper(body)
    with pytest.raises(ConfigError, match=message):
        check_sent(request, body)


def test_a_request_does_not_change_with_what_it_was_made_of() -> None:
    cfg = changed(extra_body={"provider": {"only": ["a"]}})
    turns = [{"role": "user", "content": "2 + 2?"}]
    request = build_request(cfg, turns, Thinking.disabled, max_new_tokens=9)
    before = json.dumps(request.body())
    cfg.served.extra_body["provider"]["only"].append("b")
    cfg.thinking.disabled["reasoning"]["effort"] = "high"
    turns[0]["content"] = "other"
    request.body()["reasoning"]["effort"] = "low"
    assert json.dumps(request.body()) == before


def test_a_request_that_lost_text_or_gained_a_temperature_is_not_sent() -> None:
    request = built(changed(), temperature=None)
    with pytest.raises(ConfigError, match="temperature that was not asked for"):
        check_sent(request, {**request.body(), "temperature": 1.0})
    for turns in ([], [{"role": "user", "content": "2 + 2? "}], [TURN, TURN]):
        with pytest.raises(PromptError, match="does not hold the texts"):
            check_sent(request, {**request.body(), "messages": turns})


PICTURE = "data:image/png;base64,AAAA"


def test_parts_and_system_turns_in_both_forms() -> None:
    turns = [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is "},
                {"type": "image_url", "image_url": {"url": PICTURE, "detail": "low"}},
                {"type": "text", "text": "?"},
            ],
        },
    ]
    chat = build_request(changed(), turns, Thinking.disabled, max_new_tokens=9)
    assert chat.body()["messages"] == turns
    other = build_request(changed(**RESPONSES), turns, Thinking.disabled, max_new_tokens=9)
    assert other.body()["input"] == [
        turns[0],
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "What is "},
                {"type": "input_image", "image_url": PICTURE, "detail": "low"},
                {"type": "input_text", "text": "?"},
            ],
        },
    ]


@pytest.mark.parametrize(
    ("turns", "message"),
    [
        ([], "must end with the user's turn"),
        ([TURN, {"role": "assistant", "content": "4"}], "must end with the user's turn"),
        ([{"role": "robot", "content": "x"}], "role 'robot'"),
        ([{"role": "user", "content": None}], "user's turn has no content"),
        ([{"role": "user", "content": [{"type": "image"}]}], "type 'image' cannot be sent"),
        ([{"role": "user", "content": [{"type": "image_url"}]}], "type 'image_url' cannot be sent"),
        ([{"role": "user", "content": "half a pair \ud83d"}], "JSON in UTF-8"),
    ],
)
def test_turns_that_cannot_be_sent(turns: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(PromptError, match=message):
        build_request(changed(), turns, Thinking.disabled, max_new_tokens=9)


def test_every_packaged_profile_is_sound() -> None:
    names = ("qwen3_235b_a22b", "deepseek_v4_flash", "gpt_5_4", "gemini_3_flash", "qwen3_32b_vllm")
    for name in names:
        check_profile(composed(f"model={name}").model)
    assert question(changed()).max_new_tokens == 16
