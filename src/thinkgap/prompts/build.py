"""An item's presentation under every condition -> `Prompt`s with their label ids and model inputs.

All conditions of an item are built together: if one of them cannot be scored (too long for the context, say),
the item is excluded as a whole, so that every condition is measured on the same items.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from thinkgap.errors import LabelError, PromptError
from thinkgap.prompts.assemble import Turns, assemble
from thinkgap.prompts.labels import LabelVariant, label_ids, natural_variant
from thinkgap.prompts.render import ChatFormat, image_order, render
from thinkgap.schema import LabelScope
from thinkgap.types import Condition, ImageRef, Placement, Presentation, Prompt

# A label's tokens depend on the end of the text only; tokenizers split at white space long before this.
_TAIL = 64


@dataclass(frozen=True)
class Encoded:
    """Model inputs of one prompt: ids with image tokens expanded, and the processor's other tensors."""

    input_ids: tuple[int, ...]
    tensors: Mapping[str, Any] = field(default_factory=dict)
    n_image_tokens: int = 0


class PromptFormat(ChatFormat, Protocol):
    """A `ChatFormat` that can also turn a rendered text and its images into model inputs."""

    @property
    def max_length(self) -> int:
        """Longest prompt in tokens."""
        ...

    def encode(self, text: str, images: Sequence[ImageRef]) -> Encoded:
        """Process images and tokenise the whole text."""
        ...


@dataclass(frozen=True)
class PreparedPrompt:
    """A `Prompt` with the tensors that a forward pass of it needs."""

    prompt: Prompt
    tensors: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class PromptBuilder:
    """Builds the prompts of one run; the first condition is Direct, whose label ids the others share."""

    fmt: PromptFormat
    conditions: Sequence[Condition]
    variant: LabelVariant = LabelVariant.auto
    scope: LabelScope = LabelScope.shared
    instruction: str = ""
    system: str | None = None
    reads_labels: bool = True
    """Whether prompts carry label ids; without them, labels may be any number of tokens."""
    room: int = 0
    """Tokens of the context that a prompt has to leave for a reply."""
    _ids: dict[tuple[str, tuple[str, ...], LabelVariant], tuple[tuple[int, ...], ...]] = field(default_factory=dict)

    def build(self, presentation: Presentation) -> list[PreparedPrompt]:
        """One prepared prompt per condition, in order.

        Raises:
            PromptError: the item cannot be shown to this model under some condition.
            LabelError: its labels are read, and cannot be as one token each.
        """
        texts = [self.text(presentation, condition) for condition in self.conditions]
        prepared = []
        for condition, (text, turns) in zip(self.conditions, texts, strict=True):
            order = image_order(self.fmt, turns.user, len(presentation.item.images))
            images = tuple(presentation.item.images[number] for number in order)
            encoded = self.fmt.encode(text, images)
            if len(encoded.input_ids) + self.room > self.fmt.max_length:
                reply = f", its reply up to {self.room}," if self.room else ""
                raise PromptError(
                    f"its prompt under '{condition.name}' has {len(encoded.input_ids)} tokens{reply} and "
                    f"{self.fmt.name} takes {self.fmt.max_length} (never truncated; model.max_length sets the bound)",
                    kind="prompt longer than the context",
                )
            own = self.read_ids(presentation, condition, text, texts[0][0]) if self.reads_labels else ()
            prompt = Prompt(
                presentation,
                condition,
                text,
                encoded.input_ids,
                own,
                images,
                encoded.n_image_tokens,
            )
            prepared.append(PreparedPrompt(replace(prompt, sha256=digest(prompt)), encoded.tensors))
        return prepared

    def text(self, presentation: Presentation, condition: Condition) -> tuple[str, Turns]:
        """Rendered text of one condition, and the turns it was made of."""
        turns = assemble(presentation, condition, self.instruction)
        return render(self.fmt, presentation.item, turns, condition, self.system), turns

    def read_ids(
        self, presentation: Presentation, condition: Condition, text: str, direct_text: str
    ) -> tuple[tuple[int, ...], ...]:
        """Ids per slot that are read under `condition`: Direct's, or its own with `label_ids=natural`.

        Args:
            presentation: for its labels.
            condition: the condition that is read.
            text: its rendered prompt.
            direct_text: the same presentation's rendered prompt under Direct.

        Raises:
            LabelError: labels that are not one token each.
        """
        if self.scope is LabelScope.shared:
            condition, text = self.conditions[0], direct_text
        variant = self.natural(condition) if self.variant is LabelVariant.auto else self.variant
        return self._resolved(text, presentation, variant)

    def natural_ids(self, presentation: Presentation, condition: Condition, text: str) -> tuple[tuple[int, ...], ...]:
        """Ids that a fluent continuation of `text` would use; empty for a label that is several tokens there."""
        try:
            return self._resolved(text, presentation, self.natural(condition))
        except LabelError:
            return tuple(() for _ in presentation.labels)

    def ids_after(self, presentation: Presentation, text: str, before: str) -> tuple[tuple[int, ...], ...]:
        """Ids per slot to read after `text`, in the variant natural there unless one is set.

        Args:
            presentation: for its labels.
            text: what stands before the read position; its end is enough.
            before: the part of it that is the same for every item, such as a cue.

        Raises:
            LabelError: labels that are not one token each.
        """
        natural = natural_variant(before, self.fmt.turn_joiner)
        return self._resolved(text, presentation, natural if self.variant is LabelVariant.auto else self.variant)

    def natural(self, condition: Condition) -> LabelVariant:
        """The variant natural at the read position of `condition`, the same for every item."""
        before = condition.prefill
        if condition.kind == "trigger" and condition.placement is not Placement.user:
            before = condition.text
        if not before and (condition.placement is Placement.prompt_end or not self.fmt.chat_template):
            before = condition.text or "x"  # the end of an option, a word
        return natural_variant(before, self.fmt.turn_joiner)

    def _resolved(self, text: str, presentation: Presentation, variant: LabelVariant) -> tuple[tuple[int, ...], ...]:
        labels = presentation.labels
        key = (text[-_TAIL:], labels, variant)
        if key not in self._ids:
            ids = label_ids(self.fmt.tokenize, text, labels, variant, self.fmt.name)
            if presentation.item.answer_space == "bool":
                ids = self._both_cases(text, labels, variant, ids)
            self._ids[key] = ids
        return self._ids[key]

    def _both_cases(
        self, text: str, labels: tuple[str, ...], variant: LabelVariant, ids: tuple[tuple[int, ...], ...]
    ) -> tuple[tuple[int, ...], ...]:
        """A yes/no answer is that answer in either case: `Yes` opens a sentence, `yes` stands inside a box."""
        try:
            lower = label_ids(self.fmt.tokenize, text, tuple(label.lower() for label in labels), variant, self.fmt.name)
        except LabelError:
            return ids
        return tuple(tuple(dict.fromkeys(one + other)) for one, other in zip(ids, lower, strict=True))


def digest(prompt: Prompt) -> str:
    """Content hash of what the model sees: token ids and image contents."""
    content = json.dumps([prompt.input_ids, [image.sha256 for image in prompt.images]], separators=(",", ":"))
    return hashlib.sha256(content.encode()).hexdigest()
