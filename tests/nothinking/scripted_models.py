"""Models that follow a rule, answering items in all their presentations, through the real reading and analysis."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd

from tests.items import mcq
from thinkgap.data.present import identity
from thinkgap.data.variants import variants_of
from thinkgap.evaluation.asking import answered_of
from thinkgap.nothinking.analyse import analyse_all
from thinkgap.nothinking.exact import exactly_equal
from thinkgap.nothinking.levels import judgements_table, pairs_of, relevance_table
from thinkgap.nothinking.store import to_table
from thinkgap.presentation_names import NEGATIVE
from thinkgap.schema import VariantsConfig
from thinkgap.types import Condition, Item, Judgement, Presentation, Relevance, Request, Response, Thinking

Says = Callable[[Presentation], str]
STRICT = Condition("strict", "mode", Request.answer_only, thinking=Thinking.disabled)


def numbers(n: int = 6) -> list[Item]:
    """Items whose options are numbers; the right one goes round the slots."""
    return [
        mcq(
            f"q{place}",
            group_id=f"g{place}",
            question=f"What is {place} + 10?",
            choices=tuple(str(place + 10 + step) for step in _around(place % 4)),
            gold=place % 4,
            answer=str(place + 10),
            subject="sums",
        )
        for place in range(n)
    ]


def _around(gold: int) -> list[int]:
    """Steps of four options from the right number, 0 in the slot of the right one."""
    wrong = iter((1, 2, 3))
    return [0 if slot == gold else next(wrong) for slot in range(4)]


def frames(
    items: Sequence[Item], says: Says, asked: VariantsConfig, dataset: str = "d", explicit: str = ""
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Responses, relevance and judgements of a scripted model under one mode, as the files of a run hold them.

    Args:
        items: the items.
        says: the reply to a presentation.
        asked: rewrites and perturbations.
        dataset: its name.
        explicit: words that make a trace explicit reasoning to the made-up judge, and 0.5 close to the made-up encoder.
    """
    shown = [one for item in items for one in (identity(item), *variants_of(item, asked, 0).shown)]
    rows = analyse_all(
        [answered_of(dataset, one, STRICT, Response(says(one), finish_reason="stop")) for one in shown],
        model="m",
        decide=lambda pairs: [exactly_equal(gold, said) for gold, said in pairs],
    )
    pairs = pairs_of(rows)
    relevance = {one: Relevance(0.5, 9, 9, False, 0.5, 0.5) for one in pairs}
    judged = {
        one: Judgement("explicit_reasoning" if explicit and explicit in one.trace else "generic_or_off_topic")
        for one in pairs
    }
    return (
        to_table(rows).to_pandas(),
        relevance_table(rows, {"e": relevance}).to_pandas(),
        judgements_table(rows, {"j": judged}, {"j": "served"}).to_pandas(),
    )


def first_slot(shown: Presentation) -> str:
    """Always the first option; yes to every proposal; 0 where nothing is shown."""
    if shown.item.answer_space == "mcq":
        return rf"\boxed{{{shown.labels[0]}}}"
    return r"\boxed{yes}" if shown.item.answer_space == "bool" else r"\boxed{0}"


def knows(shown: Presentation) -> str:
    """Always right."""
    if shown.item.answer_space == "mcq":
        return rf"\boxed{{{shown.labels[shown.gold_slot]}}}"
    if shown.item.answer_space == "bool":
        return r"\boxed{no}" if shown.name == NEGATIVE else r"\boxed{yes}"
    return rf"\boxed{{{shown.item.answer}}}"
