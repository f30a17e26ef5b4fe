"""An item as it is shown, as the turns of a conversation with a served model. Knows no provider's spelling."""

from __future__ import annotations

from typing import Any

from thinkgap.data.images import data_uri
from thinkgap.prompts.assemble import assemble, split_at_images
from thinkgap.prompts.render import Message
from thinkgap.types import Condition, ImageRef, Presentation


def messages_of(
    presentation: Presentation, condition: Condition, system: str | None, instruction: str = ""
) -> tuple[list[Message], str]:
    """The turns that ask an item under a condition, and what opens the assistant's.

    Images stand as data where the text names them; those that it does not name come first.

    Args:
        presentation: the item as shown.
        condition: trigger or mode.
        system: text of the system turn; None is none.
        instruction: see `assemble`.

    Raises:
        RowError: an image that cannot be read.
    """
    turns = assemble(presentation, condition, instruction)
    images = presentation.item.images
    content: Any = turns.user
    if images:
        pieces = split_at_images(turns.user, len(images))
        content = [_image(images[one]) if isinstance(one, int) else {"type": "text", "text": one} for one in pieces]
    opening: list[Message] = [] if system is None else [{"role": "system", "content": system}]
    return [*opening, {"role": "user", "content": content}], turns.prefill


def _image(image: ImageRef) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": data_uri(image.load())}}
