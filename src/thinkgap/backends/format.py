"""How a local model renders and tokenises: its tokenizer or processor, without weights.

What a chat template does (start token, joints, image places, thinking switch) is found by rendering probes, never by
a family's name.
"""

from __future__ import annotations

import datetime
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from thinkgap.backends.image_memo import ImageMemo
from thinkgap.data.images import opened
from thinkgap.errors import ConfigError, ModelError, PromptError
from thinkgap.prompts.build import Encoded
from thinkgap.prompts.render import Message
from thinkgap.schema import ThinkingSwitch
from thinkgap.types import ImageRef, Thinking

_SENTINEL = "qzxsentinelqzx"
_DATE_CALL = re.compile(r"""strftime_now\(\s*(["'])(.*?)\1\s*\)""")


@dataclass
class TextFormat:
    """Tokenizer or processor of one model: rendering and tokenising, no weights."""

    name: str
    processor: Any
    tokenizer: Any
    is_vision: bool
    max_length: int
    switch: ThinkingSwitch
    chat_template: bool = True
    image_token_id: int | None = None
    date: datetime.date = field(default_factory=datetime.date.today)
    """Date that a template which writes one is given."""
    turn_opening: str = field(init=False, default="")
    """White space with a line break that the template writes before a reply but not in its generation prompt."""
    turn_joiner: str = field(init=False, default="")
    """Blanks that the template writes before a reply's first word."""
    keeps_image_order: bool = field(init=False, default=True)
    """Whether the template leaves an image between two texts, found by rendering one."""
    start_ids: list[int] = field(init=False, default_factory=list)
    """Ids that the tokenizer puts before any text of its own accord (a start token), or none."""
    images: ImageMemo | None = field(init=False, default=None)
    """Remembers the last images of an image-text model."""
    _controls: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        added = self.tokenizer.added_tokens_decoder.values()
        # Think tags and the like are often added without being marked special; HTML tags (Gemma) are plain text.
        controls = [str(token) for token in added if token.special or re.match(r"<\||</?\w*think", str(token))]
        # An empty alternation would match everywhere, so a pattern that never matches stands in for "none".
        self._controls = re.compile("|".join(map(re.escape, controls)) or r"(?!)")
        if self.chat_template and not self.template:
            raise ModelError(
                f"{self.name} has no chat template: set prompt.chat_template=false to send plain text (base models)"
            )
        self.start_ids = self._find_start_ids()
        if self.is_vision:
            self.images = ImageMemo(self.processor.image_processor)
        if self.chat_template:
            self._check_switch()
            between = self._find_joiner()
            # What ends in a line break stands before the first word whoever writes it; blanks are part of its token.
            self.turn_joiner = between[len(between.rstrip(" ")) :]
            self.turn_opening = between.removesuffix(self.turn_joiner)
            self.keeps_image_order = not self.is_vision or self._finds_image_in_place()

    @property
    def can_think(self) -> bool:
        """Whether its own thinking can be switched on."""
        return bool(self.switch.enabled)

    @property
    def template(self) -> str:
        """The chat template's source; empty if there is none."""
        return str(getattr(self._template_host, "chat_template", None) or "")

    @property
    def _template_host(self) -> Any:
        return self.processor if getattr(self.processor, "chat_template", None) else self.tokenizer

    def _find_start_ids(self) -> list[int]:
        plain = self.tokenizer("x", add_special_tokens=False).input_ids
        full = self.tokenizer("x", add_special_tokens=True).input_ids
        end = len(full) - len(plain)
        # A tokenizer may also append a token; only what stands before the text is wanted.
        while end > 0 and full[end : end + len(plain)] != plain:
            end -= 1
        return list(full[:end])

    def _find_joiner(self) -> str:
        user: Message = {"role": "user", "content": self._content("q")}
        reply: Message = {"role": "assistant", "content": self._content(_SENTINEL)}
        opened = self.apply_template([user], generation_prompt=True, thinking=Thinking.default)
        whole = self.apply_template([user, reply], generation_prompt=False, thinking=Thinking.default)
        between = whole[len(opened) : whole.find(_SENTINEL)] if whole.startswith(opened) else ""
        return between if between.isspace() else ""

    def _finds_image_in_place(self) -> bool:
        parts = [{"type": "text", "text": "alpha"}, {"type": "image"}, {"type": "text", "text": "omega"}]
        message: Message = {"role": "user", "content": parts}
        text = self.apply_template([message], generation_prompt=True, thinking=Thinking.default)
        return bool(text[text.index("alpha") + 5 : text.index("omega")].strip())

    def apply_template(self, messages: Sequence[Message], *, generation_prompt: bool, thinking: Thinking) -> str:
        """Render messages as text with the thinking switch set as asked.

        Raises:
            ConfigError: thinking is to be enabled and the model has no switch for it.
        """
        arguments: Mapping[str, Any] = {}
        if thinking is Thinking.enabled:
            if not self.switch.enabled:
                raise ConfigError(f"{self.name} has no thinking switch: thinking cannot be enabled for it")
            arguments = self.switch.enabled
        elif thinking is Thinking.disabled:
            arguments = self.switch.disabled
        return self._template_host.apply_chat_template(
            list(messages),
            chat_template=self._dated_template(),
            tokenize=False,
            add_generation_prompt=generation_prompt,
            **arguments,
        )

    def _dated_template(self) -> str | None:
        """The template with the run's date written into it, where it would write today's; else None, its own.

        Llama 3.2's template does: a prompt would change at midnight, and between a run and its resume.
        """
        if "strftime_now" not in self.template:
            return None
        return _DATE_CALL.sub(lambda call: repr(self.date.strftime(call.group(2))), self.template)

    def tokenize(self, text: str) -> list[int]:
        """Ids of a whole rendered text; the start token stands there once, whoever writes it."""
        return self._start(text) + list(self.tokenizer(text, add_special_tokens=False).input_ids)

    def control_token_in(self, text: str) -> str | None:
        """A special token that `text` spells out, or None."""
        match = self._controls.search(text)
        return match.group() if match else None

    def encode(self, text: str, images: Sequence[ImageRef]) -> Encoded:
        """Ids with image tokens expanded, and the processor's tensors; the text is tokenised whole.

        Raises:
            PromptError: the processor shows another number of images than the item has.
        """
        if not self.is_vision:
            return Encoded(tuple(self.tokenize(text)))
        assert self.images is not None
        with self.images.standing_in(self.processor):
            batch = dict(
                self.processor(
                    text=[text],
                    images=self.images.pictures(images, open_image) or None,
                    add_special_tokens=False,
                    return_tensors="pt",
                )
            )
        start = self._start(text)
        ids = torch.cat([torch.tensor([start], dtype=torch.long), batch.pop("input_ids")], dim=1)[0]
        batch.pop("attention_mask", None)
        tensors = {
            key: torch.nn.functional.pad(value, (len(start), 0)) if value.shape == (1, len(ids) - len(start)) else value
            for key, value in batch.items()
        }
        n_image_tokens = int((ids == self.image_token_id).sum())
        if bool(images) != bool(n_image_tokens):
            raise PromptError(f"it has {len(images)} image(s) and its prompt {n_image_tokens} image tokens")
        return Encoded(tuple(ids.tolist()), tensors, n_image_tokens)

    def _start(self, text: str) -> list[int]:
        bos = self.tokenizer.bos_token
        return [] if bos and text.startswith(bos) else self.start_ids

    def _content(self, text: str) -> Any:
        return [{"type": "text", "text": text}] if self.is_vision else text

    def _check_switch(self) -> None:
        """A switch that the template ignores would measure another condition than was asked for."""
        message: Message = {"role": "user", "content": self._content("q")}
        states = [Thinking.default]
        states += [Thinking.enabled] if self.switch.enabled else []
        states += [Thinking.disabled] if self.switch.disabled else []
        rendered = {self.apply_template([message], generation_prompt=True, thinking=state) for state in states}
        if len(states) > 1 and len(rendered) == 1:
            raise ModelError(
                f"{self.name}: {self.switch.enabled} and {self.switch.disabled} render the same prompt as without "
                "them, so its chat template ignores them: correct or empty model.thinking"
            )


def describe_format(fmt: TextFormat) -> dict[str, Any]:
    """What the manifest records of tokenizer, template and image processor."""
    described: dict[str, Any] = {
        "tokenizer": type(fmt.tokenizer).__name__,
        "chat_template_sha256": hashlib.sha256(fmt.template.encode()).hexdigest(),
        "turn_opening": fmt.turn_opening,
        "turn_joiner": fmt.turn_joiner,
        "thinking_switch": {"enabled": fmt.switch.enabled, "disabled": fmt.switch.disabled},
    }
    if "strftime_now" in fmt.template:
        described["template_date"] = fmt.date.isoformat()
    if fmt.is_vision:
        image_processor = fmt.processor.image_processor
        described["keeps_image_order"] = fmt.keeps_image_order
        described["image_processor"] = {"class": type(image_processor).__name__} | {
            key: value for key, value in image_processor.to_dict().items() if _plain(value)
        }
    return described


def open_image(image: ImageRef) -> Any:
    """The decoded picture, RGB, for a processor."""
    from PIL import ImageOps

    with opened(image.load()) as picture:
        upright = ImageOps.exif_transpose(picture)
        if upright.mode.startswith("I"):
            # 16-bit greys: PIL clips instead of scaling.
            upright = upright.convert("I").point(lambda grey: grey / 256).convert("L")
        return upright.convert("RGB")


def _plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool | list | tuple | dict | type(None))
