"""Which image tokens, and which rows of the processor's tensors, belong to which image of a prompt.

Processors concatenate the images of a prompt; sharing an image between prompts needs them apart, and encoding it once
needs them in the order of their tokens again. Knows tensor shapes, no model family by name.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from thinkgap.errors import PromptError

_KIND = "images cannot be told apart"


def image_runs(ids: Sequence[int], image_token_id: int | None, n_images: int, tensors: Mapping[str, Any]) -> list[Any]:
    """`(start, length)` of each image's tokens, in order.

    Args:
        ids: token ids of a prompt, image tokens expanded.
        image_token_id: the id that stands for images.
        n_images: how many images it shows.
        tensors: the processor's; grids tell apart images of unequal size that stand side by side.

    Raises:
        PromptError: the image tokens cannot be divided among the images.
    """
    if n_images == 0:
        return []
    places = [index for index, token in enumerate(ids) if token == image_token_id]
    breaks = [place for place in range(1, len(places)) if places[place] != places[place - 1] + 1]
    edges = [0, *breaks, len(places)]
    if len(edges) - 1 != n_images:
        grids = tensors.get("image_grid_thw")
        shares = [1] * n_images if grids is None else grids.prod(-1).tolist()
        each, left_over = divmod(len(places), sum(shares))
        if left_over or len(shares) != n_images:
            raise PromptError(f"its {len(places)} image tokens are not those of {n_images} images", kind=_KIND)
        edges = [0]
        for share in shares:
            edges.append(edges[-1] + share * each)
        if any(places[edge] - places[start] != edge - start for start, edge in _inner(edges)):
            raise PromptError("the tokens of one image do not stand together", kind=_KIND)
    return [(places[start], end - start) for start, end in itertools.pairwise(edges)]


def image_parts(tensors: Mapping[str, Any], n_images: int) -> list[dict[str, Any]]:
    """The processor's tensors of each image alone; tensors that follow the tokens are left out.

    Raises:
        PromptError: a tensor of pixels that is not divided by images.
    """
    if n_images == 0:
        return []
    grids = tensors.get("image_grid_thw")
    parts: list[dict[str, Any]] = [{} for _ in range(n_images)]
    for key, value in tensors.items():
        if not isinstance(value, torch.Tensor) or key.endswith("token_type_ids"):
            continue
        if key == "pixel_values" and grids is not None:
            pieces = value.split(grids.prod(-1).tolist())
        elif len(value) == n_images:
            pieces = value.split(1)
        else:
            raise PromptError(f"{key} has {len(value)} rows for {n_images} images", kind=_KIND)
        for part, piece in zip(parts, pieces, strict=True):
            part[key] = piece
    return parts


def image_inputs(model: Any, distinct: Sequence[Mapping[str, Any]], order: Sequence[int]) -> dict[str, Any]:
    """What a forward pass takes for the images of its tokens, each distinct image encoded once.

    Args:
        model: an image-text model.
        distinct: the processor's tensors of each distinct image, on the model's device.
        order: for each image of the pass, in the order of its tokens, its index in `distinct`.
    """
    if len(distinct) == len(order) or "mm_encoder_outputs" not in inspect.signature(type(model).forward).parameters:
        return _together([distinct[index] for index in order])
    features = model.get_image_features(**_together(distinct), return_dict=True)
    features.pooler_output = _picked(features.pooler_output, order)
    layers = getattr(features, "deepstack_features", None)
    if layers is not None:
        features.deepstack_features = [_picked(layer, order) for layer in layers]
    return {"mm_encoder_outputs": {"image": features}}


def _together(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {key: torch.cat([part[key] for part in parts]) for key in (parts[0] if parts else ())}


def _picked(features: Any, order: Sequence[int]) -> Any:
    """Per image: a tensor `[n, ...]`, or one entry an image."""
    if isinstance(features, torch.Tensor):
        return features[list(order)]
    return [features[index] for index in order]


def _inner(edges: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs of first and last token number of each run."""
    return [(start, end - 1) for start, end in itertools.pairwise(edges)]
