"""User and assistant turns -> the rendered text that ends at the read position.

What a chat template or tokenizer does is asked through `ChatFormat`, which a backend implements; this file
knows where text goes, never which model family it is for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from thinkgap.errors import ConfigError, PromptError
from thinkgap.prompts.assemble import Turns, split_at_images
from thinkgap.types import Condition, Item, Placement, Thinking

Message = Mapping[str, Any]
_SENTINEL = "qzxendofusertextqzx"


class ChatFormat(Protocol):
    """What rendering needs to know of a model."""

    @property
    def name(self) -> str:
        """Model name for messages."""
        ...

    @property
    def is_vision(self) -> bool:
        """Whether it reads images."""
        ...

    @property
    def keeps_image_order(self) -> bool:
        """Whether the template leaves an image between the texts around it, rather than moving it to the front."""
        ...

    @property
    def turn_opening(self) -> str:
        """White space that the template writes before a reply and leaves out of its generation prompt, if it is more
        than blanks: a line break belongs to the turn's opening, and the reply's first word is read after it.
        """
        ...

    @property
    def turn_joiner(self) -> str:
        """Blanks that the template puts before a reply's first word; part of that word's token."""
        ...

    @property
    def can_think(self) -> bool:
        """Whether the model's own thinking can be switched on."""
        ...

    @property
    def chat_template(self) -> bool:
        """Whether prompts are rendered with a chat template; otherwise they are plain text."""
        ...

    def apply_template(self, messages: Sequence[Message], *, generation_prompt: bool, thinking: Thinking) -> str:
        """Render messages as text."""
        ...

    def tokenize(self, text: str) -> list[int]:
        """Token ids of a whole rendered text, image marks unexpanded; the start token is present once."""
        ...

    def control_token_in(self, text: str) -> str | None:
        """A control token spelled out in `text`, or None."""
        ...


def render(fmt: ChatFormat, item: Item, turns: Turns, condition: Condition, system: str | None = None) -> str:
    """The whole prompt as text; the next token after it is the one that is read.

    Raises:
        PromptError: an item's text spells out a control token, or the template hides the end of the user turn.
    """
    for text in (turns.user, turns.prefill):
        control = fmt.control_token_in(text)
        if control is not None:
            raise PromptError(
                f"its text contains {control!r}, a control token of {fmt.name}, which the model would obey",
                kind="control token in the text",
            )
    if not fmt.chat_template:
        return _plain(item, turns, condition, system, fmt)
    messages = user_messages(fmt, item, turns.user, system)
    if condition.placement is Placement.prompt_end:
        return _cut_after_user_text(fmt, messages, condition)
    rendered = fmt.apply_template(messages, generation_prompt=True, thinking=condition.thinking)
    _require_texts(fmt, messages, rendered)
    if condition.thinking is Thinking.disabled and _opens_think_block(rendered):
        raise ConfigError(
            f"the chat template of {fmt.name} opens a think block in every prompt, so its thinking cannot be disabled: "
            "set prompt.thinking=default to read inside the block, and say so"
        )
    rendered += fmt.turn_opening
    return rendered + fmt.turn_joiner + turns.prefill if turns.prefill else rendered


def _require_texts(fmt: ChatFormat, messages: Sequence[Message], rendered: str) -> None:
    """A template may drop or reshape what it does not expect; what was not sent must not be measured."""
    for message in messages:
        content = message["content"]
        texts = [content] if isinstance(content, str) else [part["text"] for part in content if "text" in part]
        for text in texts:
            if text not in rendered:
                trimmed = bool(text.strip()) and text.strip() in rendered
                why = "strips the outer white space of" if trimmed else "does not show"
                raise PromptError(
                    f"the chat template of {fmt.name} {why} the {message['role']}'s text {text[-60:]!r}",
                    kind="text changed by the chat template",
                )


def _opens_think_block(rendered: str) -> bool:
    return rendered.rfind("<think>") > rendered.rfind("</think>")


def user_messages(fmt: ChatFormat, item: Item, text: str, system: str | None) -> list[Message]:
    """Chat messages; an image-text model gets content as parts, a text model as a string."""
    if item.images and not fmt.is_vision:
        raise PromptError(f"it has {len(item.images)} image(s) and {fmt.name} reads text only: set dataset.images=none")
    messages: list[Message] = []
    if system is not None:
        messages.append({"role": "system", "content": [_text_part(system)] if fmt.is_vision else system})
    if not fmt.is_vision:
        return [*messages, {"role": "user", "content": text}]
    pieces = split_at_images(text, len(item.images))
    if not fmt.keeps_image_order:
        # The template shows all images first. The marks stay in the text, so that options which are images
        # can still be told apart.
        pieces = [*range(len(item.images)), text]
    parts = [_text_part(piece) if isinstance(piece, str) else {"type": "image"} for piece in pieces]
    return [*messages, {"role": "user", "content": parts}]


def image_order(fmt: ChatFormat, text: str, n_images: int) -> list[int]:
    """0-based image numbers in the order in which the rendered prompt shows them."""
    if not fmt.keeps_image_order:
        return list(range(n_images))
    return [piece for piece in split_at_images(text, n_images) if isinstance(piece, int)]


def _text_part(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _cut_after_user_text(fmt: ChatFormat, messages: list[Message], condition: Condition) -> str:
    """Render without a generation prompt and cut right after the user's text (`prompt_end`).

    A sentinel after that text marks the place: the text itself may occur more than once, and templates trim.
    """
    *others, user = messages
    content = user["content"]
    marked = content + _SENTINEL if isinstance(content, str) else [*content, _text_part(_SENTINEL)]
    if not isinstance(content, str) and content and "text" in content[-1]:
        marked = [*content[:-1], _text_part(content[-1]["text"] + _SENTINEL)]
    message = {**user, "content": marked}
    rendered = fmt.apply_template([*others, message], generation_prompt=False, thinking=condition.thinking)
    if rendered.count(_SENTINEL) != 1:
        raise PromptError(
            f"the chat template of {fmt.name} changes the end of the user's text, so trigger.placement=prompt_end "
            "cannot be read: use user or assistant",
            kind="text changed by the chat template",
        )
    cut = rendered[: rendered.index(_SENTINEL)]
    _require_texts(fmt, messages, cut)
    return cut


def _plain(item: Item, turns: Turns, condition: Condition, system: str | None, fmt: ChatFormat) -> str:
    """Plain text for base models: no roles, so `user` and `prompt_end` are the same place."""
    if item.images:
        raise PromptError(f"it has images, which {fmt.name} can show only through its chat template")
    text = turns.user if system is None else f"{system}\n{turns.user}"
    return f"{text}\n{turns.prefill}" if turns.prefill else text
