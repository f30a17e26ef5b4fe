"""Simple facts with two to five options, made from a seed: for tests, tutorials and toy models, without any download.

A fact (its kind and what it is about) belongs to one split by its digest, whatever the seed, so that no fact is ever
in two splits. Which facts are drawn, their wrong options and the order of options come from the seed.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from thinkgap.data.adapter import Adapter, Draft, Row, text_key
from thinkgap.errors import ConfigError, nearest
from thinkgap.types import LETTERS

SPLITS = ("train", "validation", "test")
SIZE = 300
SIZES = (2, 3, 4, 5)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# No word stands in two pairs and no two words are near in meaning, so that an opposite is never a matter of taste.
OPPOSITES = """hot-cold left-right open-closed wet-dry fast-slow early-late full-empty heavy-light loud-quiet
    rich-poor true-false happy-sad strong-weak tall-short wide-narrow deep-shallow day-night win-lose buy-sell
    push-pull give-take love-hate float-sink north-south east-west inside-outside first-last always-never more-less
    sharp-blunt clean-dirty polite-rude arrive-depart accept-refuse remember-forget asleep-awake summer-winter
    sweet-sour ancient-modern friend-enemy""".split()  # noqa: SIM905
_WORDS = """banana letter summer pepper coffee address committee balloon cherry elephant difference eleven mississippi
    parallel bookkeeper referee tattoo assess cinnamon volcano tomato potato kangaroo avocado umbrella calendar
    carpenter december engineer festival giraffe hospital""".split()  # noqa: SIM905


@dataclass(frozen=True)
class Fact:
    """A question, what identifies it, its right option and at least four wrong ones."""

    about: str
    question: str
    right: str
    wrong: Sequence[str]


def _largest(rng: random.Random, k: int) -> Fact:
    numbers = sorted(rng.sample(range(1, 1000), k))
    texts = [str(number) for number in numbers]
    return Fact(" ".join(texts), "Which of these numbers is the largest?", texts[-1], texts[:-1])


def _letter_order(rng: random.Random, k: int) -> Fact:
    letters = sorted(rng.sample(LETTERS, k))
    return Fact(" ".join(letters), "Which of these letters comes first in the alphabet?", letters[0], letters[1:])


def _days(rng: random.Random, k: int) -> Fact:
    start, steps = rng.randrange(7), rng.randrange(1, 31)
    after = rng.random() < 0.5
    right = _DAYS[(start + (steps if after else -steps)) % 7]
    unit, side = "day" if steps == 1 else "days", "after" if after else "before"
    question = f"Which day of the week is {steps} {unit} {side} a {_DAYS[start]}?"
    return Fact(question, question, right, [day for day in _DAYS if day != right])


def _opposites(rng: random.Random, k: int) -> Fact:
    pair = rng.choice(OPPOSITES)
    word, right = rng.sample(pair.split("-"), 2)
    wrong = [rng.choice(other.split("-")) for other in OPPOSITES if other != pair]
    return Fact(pair, f"Which word means the opposite of '{word}'?", right, wrong)


def _sums(rng: random.Random, k: int) -> Fact:
    first, second = rng.randrange(2, 60), rng.randrange(2, 60)
    total = first + second
    wrong = [str(total + off) for off in (-10, -3, -2, -1, 1, 2, 3, 10) if total + off > 0]
    about = f"{min(first, second)} {max(first, second)}"
    return Fact(about, f"What is {first} + {second}?", str(total), wrong)


def _counting(rng: random.Random, k: int) -> Fact:
    word = rng.choice(_WORDS)
    letter = rng.choice(sorted(set(word)))
    count = word.count(letter)
    wrong = [str(number) for number in range(7) if number != count]
    return Fact(f"{word} {letter}", f"How many times does the letter '{letter}' stand in '{word}'?", str(count), wrong)


KINDS: dict[str, Callable[[random.Random, int], Fact]] = {
    "largest number": _largest,
    "letter order": _letter_order,
    "days": _days,
    "opposites": _opposites,
    "sums": _sums,
    "counting letters": _counting,
}


def split_of(kind: str, about: str) -> str:
    """The one split that a fact belongs to."""
    return SPLITS[int(hashlib.sha256(f"{kind}|{about}".encode()).hexdigest(), 16) % len(SPLITS)]


def generate(split: str, seed: int) -> list[dict[str, object]]:
    """`SIZE` rows: kinds and numbers of options in turn, and each slot equally often the right one."""
    if split not in SPLITS:
        raise ConfigError(f"toy_facts has no split {split!r}{nearest(split, SPLITS)}")
    rng = random.Random(f"toy_facts {split} {seed}")
    slots: dict[int, list[int]] = {k: [] for k in SIZES}
    seen: set[tuple[str, frozenset[str]]] = set()
    rows: list[dict[str, object]] = []
    while len(rows) < SIZE:
        kind = tuple(KINDS)[len(rows) % len(KINDS)]
        k = SIZES[len(rows) // len(KINDS) % len(SIZES)]
        fact = KINDS[kind](rng, k)
        wrong = rng.sample(list(fact.wrong), k - 1)
        shown = (fact.question, frozenset((fact.right, *wrong)))
        if split_of(kind, fact.about) != split or shown in seen:
            continue
        seen.add(shown)
        # A shuffled round of all slots at a time keeps the right option's slot uniform in every data set.
        slots[k] = slots[k] or rng.sample(range(k), k)
        gold = slots[k].pop()
        choices = [*wrong[:gold], fact.right, *wrong[gold:]]
        rows.append({"kind": kind, "about": fact.about, "question": fact.question, "choices": choices, "answer": gold})
    return rows


def parse(row: Row) -> Draft:
    """An item by kind; items about one fact are one group."""
    return Draft(
        question=row.text("question"),
        choices=row.texts("choices"),
        gold=row.integer("answer"),
        subject=row.text("kind"),
        group_keys=(text_key("fact", row.text("kind"), row.text("about")),),
    )


ADAPTER = Adapter(
    name="toy_facts",
    parse=parse,
    columns={"question": "text", "choices": "texts", "answer": "integer", "kind": "text", "about": "text"},
    published=dict.fromkeys(SPLITS, SIZE),
    subjects=tuple(KINDS),
    generate=lambda cfg: generate(cfg.split, cfg.seed),
)
