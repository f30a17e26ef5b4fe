"""Made-up items of any size, the same on every machine, and the study's triggers to show them under.

No text is anyone else's: short inventories with one question about them, and pictures of coloured blocks.
"""

from __future__ import annotations

import hashlib
import io
import random
from collections.abc import Sequence

import numpy as np
from omegaconf import OmegaConf
from PIL import Image

from benchmarks.harness import ROOT
from thinkgap.data.present import permutations
from thinkgap.prompts.conditions import trigger_conditions
from thinkgap.schema import PromptConfig, TriggerConfig, TriggerSpec
from thinkgap.types import Condition, ImageRef, Item, Placement, Presentation, Request

N_PERMUTATIONS = 5
SEED = 0

_NAMES = ("Mira", "Tobias", "Ana", "Kofi", "Lena", "Yusuf", "Clara", "Pavel", "Ines", "Omar", "Freya", "Dario")
_THINGS = ("brass keys", "wool blankets", "tin cups", "paper maps", "oil lamps", "clay pots", "glass beads", "ropes")
_PLACES = ("north storeroom", "harbour shed", "school cellar", "old mill", "station loft", "market hall")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")


def inventory(number: int, sentences: int = 6, options: int = 4, images: tuple[ImageRef, ...] = ()) -> Item:
    """An item about an inventory of so many sentences, some 20 tokens each."""
    draw = random.Random(f"inventory {number}")
    lines, counts = [], []
    for line in range(sentences):
        name, thing, place, day = (draw.choice(words) for words in (_NAMES, _THINGS, _PLACES, _DAYS))
        counts.append((draw.randrange(10, 100), thing))
        lines.append(f"On {day} {name} counted {counts[-1][0]} {thing} in the {place}, shelf {line + 1}.")
    asked = draw.randrange(sentences)
    right, thing = counts[asked]
    others = draw.sample([value for value in range(10, 100) if value != right], options - 1)
    values = [right, *others]
    draw.shuffle(values)
    return Item(
        id=f"inventory_{number}",
        group_id=f"inventory_{number}",
        question=f"How many {thing} were counted on shelf {asked + 1}?",
        choices=tuple(f"{value} {thing}" for value in values),
        gold=values.index(right),
        answer_space="mcq",
        split="test",
        context=" ".join(lines),
        images=images,
    )


def blocks(number: int, width: int, height: int, block: int = 28) -> ImageRef:
    """A picture of coloured blocks, as a PNG."""
    colours = np.random.default_rng(number).integers(0, 255, (height // block, width // block, 3), dtype=np.uint8)
    sink = io.BytesIO()
    Image.fromarray(colours.repeat(block, 0).repeat(block, 1)).save(sink, "PNG")
    data = sink.getvalue()
    return ImageRef(hashlib.sha256(data).hexdigest(), lambda: data)


def presented(items: Sequence[Item], n_permutations: int = N_PERMUTATIONS) -> list[list[Presentation]]:
    """Per item the orders in which it is shown."""
    return [permutations(item, n_permutations, SEED) for item in items]


def conditions(placement: Placement = Placement.user, preset: str = "paper") -> list[Condition]:
    """Direct and the triggers of `conf/trigger/{preset}.yaml`, by default the study's five."""
    return trigger_conditions(TriggerConfig(placement, _specs(preset)), PromptConfig())


def _specs(preset: str) -> dict[str, TriggerSpec]:
    config = OmegaConf.to_object(OmegaConf.load(ROOT / "conf" / "trigger" / f"{preset}.yaml"))
    assert isinstance(config, dict)
    specs: dict[str, TriggerSpec] = {}
    for name in config.get("defaults", ()):
        specs |= _specs(str(name))
    for name, spec in config.get("conditions", {}).items():
        specs[str(name)] = TriggerSpec(spec["text"], Request(spec["requests"]))
    return specs
