"""What is asked of a served model: a typed request, the JSON body that is sent for it, and the key it is found by.

A request holds what was wished beside what is sent, because a provider may not take all of it. It knows no API key.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from thinkgap.backends.served.profile import check_prefill, check_profile, leaves, sent_temperature, thinking_fields
from thinkgap.errors import ConfigError, PromptError
from thinkgap.prompts.render import Message
from thinkgap.schema import ModelConfig
from thinkgap.types import Thinking

Api = Literal["chat", "responses"]

_PATHS = {"chat": "chat/completions", "responses": "responses"}
_PARTS = {"text": "input_text", "image_url": "input_image"}
"""Kinds of content parts, and what the responses API calls them."""


@dataclass(frozen=True, eq=False)
class ServedRequest:
    """One request; `body()` is exactly what is sent. Two requests are the same if their `key` is."""

    base_url: str
    api: Api
    model: str
    """The provider's model id."""
    messages: tuple[Message, ...]
    """Turns in the chat form, without the prefill."""
    token_field: str
    """Name of the limit on new tokens."""
    max_new_tokens: int
    temperature: float | None
    """As it is sent; None if it is not."""
    thinking: Thinking
    """What is asked of the thinking switch."""
    thinking_fields: Mapping[str, Any] = field(default_factory=dict)
    """The fields that ask for it."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the profile."""
    prefill: str = ""
    """Opening of the assistant turn."""
    prefill_form: str = "none"
    omitted: Mapping[str, Any] = field(default_factory=dict)
    """What was asked for and is not sent, because the profile says so: `{"temperature": 0.0}`."""

    @property
    def url(self) -> str:
        """Address that the body is posted to."""
        return f"{self.base_url}/{_PATHS[self.api]}"

    def body(self) -> dict[str, Any]:
        """The JSON object that is sent."""
        if self.api == "responses":
            turns = {"input": [_as_input(message) for message in self.messages]}
        else:
            turns = {"messages": [dict(message) for message in self.messages] + self._opening()}
        # Some servers stream unless they are told not to.
        own: dict[str, Any] = {"model": self.model, **turns, self.token_field: self.max_new_tokens, "stream": False}
        if self.temperature is not None:
            own["temperature"] = self.temperature
        if self.prefill and self.prefill_form == "continue_final_message":
            own |= {"continue_final_message": True, "add_generation_prompt": False}
        # A copy through and through: what is done to it must not change the request or the configuration.
        return deepcopy(_merged(_merged(self.extra, self.thinking_fields), own))

    def _opening(self) -> list[dict[str, Any]]:
        if not self.prefill:
            return []
        mark = {"prefix": True} if self.prefill_form == "prefix" else {}
        return [{"role": "assistant", "content": self.prefill, **mark}]

    @cached_property
    def key(self) -> str:
        """SHA-256 of everything that a reply depends on: address root, API and body."""
        return _digest({"base_url": self.base_url, "api": self.api, "body": self.body()})

    def record(self) -> dict[str, Any]:
        """JSON data that says what was sent, where, and what was asked for beside it."""
        return {
            "base_url": self.base_url,
            "api": self.api,
            "body": self.body(),
            "thinking": self.thinking.name,
            "omitted": dict(self.omitted),
        }


def build_request(
    cfg: ModelConfig,
    messages: Sequence[Message],
    thinking: Thinking,
    *,
    max_new_tokens: int,
    temperature: float | None = 0.0,
    prefill: str = "",
) -> ServedRequest:
    """The request that asks `messages` of a served model.

    Args:
        cfg: the model with its profile.
        messages: turns in the chat form; a content is a text, or parts `{"type": "text", "text": ...}` and
            `{"type": "image_url", "image_url": {"url": ...}}`.
        thinking: what is asked of its thinking switch.
        max_new_tokens: limit on new tokens, reasoning included.
        temperature: None leaves it to the provider.
        prefill: opening of the assistant turn; empty for none.

    Raises:
        ConfigError: the profile is wrong or cannot honour what is asked.
        PromptError: messages that cannot be sent.
    """
    check_profile(cfg)
    if max_new_tokens < 1:
        raise ConfigError(f"max_new_tokens={max_new_tokens}: must be at least 1")
    if prefill:
        check_prefill(cfg, thinking)
    served = cfg.served
    sent = sent_temperature(cfg, thinking, temperature)
    request = ServedRequest(
        base_url=((served.prefill_base_url if prefill else "") or served.base_url).rstrip("/"),
        api=served.api.value,
        model=cfg.path,
        messages=tuple(deepcopy(_checked(message)) for message in messages),
        token_field=served.token_field.value,
        max_new_tokens=max_new_tokens,
        temperature=sent,
        thinking=thinking,
        thinking_fields=deepcopy(thinking_fields(cfg, thinking)),
        extra=deepcopy(served.extra_body),
        prefill=prefill,
        prefill_form=served.prefill.value if prefill else "none",
        omitted={} if sent == temperature else {"temperature": temperature},
    )
    if not messages or messages[-1].get("role") == "assistant":
        raise PromptError("a request must end with the user's turn; what opens the assistant's is its prefill")
    check_sent(request, request.body())
    return request


def check_sent(request: ServedRequest, body: Mapping[str, Any]) -> None:
    """Require that `body` contains what `request` asks, so that no field was lost or overwritten on the way.

    Raises:
        ConfigError: a field that is missing, has another value, or is there although it must not be.
        PromptError: a text that is missing, or that cannot be written as JSON in UTF-8.
    """
    there = dict(leaves(body))
    wanted: dict[str, Any] = {"model": request.model, request.token_field: request.max_new_tokens, "stream": False}
    if request.temperature is not None:
        wanted["temperature"] = request.temperature
    elif "temperature" in body:
        raise ConfigError("the request holds a temperature that was not asked for")
    for fields in (wanted, request.thinking_fields, request.extra):
        for path, value in leaves(fields):
            if path not in there or there[path] != value:
                found = there.get(path, "absent")
                raise ConfigError(f"the request should hold {'.'.join(path)}={value!r}, but that is {found!r}")
    turns = body["input" if request.api == "responses" else "messages"]
    asked = [text for message in request.messages for text in message_texts(message["content"])]
    asked += [request.prefill] if request.prefill else []
    if [text for turn in turns for text in message_texts(turn["content"])] != asked:
        raise PromptError("the request does not hold the texts of its turns as they were given")
    try:
        json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except (TypeError, ValueError) as error:
        raise PromptError(f"the request cannot be written as JSON in UTF-8: {error}", kind="not valid text") from None


def message_texts(content: str | Sequence[Mapping[str, Any]]) -> list[str]:
    """The texts of a turn's content in their order."""
    return [content] if isinstance(content, str) else [part["text"] for part in content if "text" in part]


def _checked(message: Message) -> Message:
    if message.get("role") not in ("system", "developer", "user", "assistant"):
        raise PromptError(f"a turn has the role {message.get('role')!r}, which served models do not take")
    content = message.get("content")
    if isinstance(content, str):
        return message
    if not isinstance(content, Sequence):
        raise PromptError(f"the {message['role']}'s turn has no content")
    for part in content:
        kind = part.get("type")
        if kind not in _PARTS or kind not in part:
            raise PromptError(f"a content part of type {kind!r} cannot be sent: give text, or image_url with its data")
    return message


def _as_input(message: Message) -> dict[str, Any]:
    """A turn as the responses API takes it, which has other names for parts and a plain text for an image's address."""
    if isinstance(message["content"], str):
        return dict(message)
    parts: list[dict[str, Any]] = []
    for part in message["content"]:
        inner = {"text": part["text"]} if part["type"] == "text" else dict(part["image_url"])
        if part["type"] == "image_url":
            inner["image_url"] = inner.pop("url")
        parts.append({"type": _PARTS[part["type"]], **inner})
    return {**message, "content": parts}


def _merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Both mappings in one, nested ones too; `second` wins, and `check_sent` notices if that loses anything."""
    merged = dict(first)
    for key, value in second.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _merged(merged[key], value) if both else value
    return merged


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()
