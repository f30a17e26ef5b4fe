"""Responses of a served model under answer modes: requests for the items of one or several data sets, and replies.

Replies are stored by request, so that a killed run, or one with a mode more, asks only what is new. A request that
failed is no response. Knows no provider's spelling and no reading of a response.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from thinkgap.backends.served import (
    Answers,
    ResponseStore,
    ServedError,
    ServedRequest,
    ask,
    build_request,
    check_profile,
    estimate,
    estimate_sheet,
)
from thinkgap.backends.served.profile import check_prefill, thinking_fields
from thinkgap.errors import ConfigError, DataError, PromptError
from thinkgap.evaluation.asking import (
    Asked,
    Loaded,
    ShownItems,
    answered_of,
    available_modes,
    describe_datasets,
)
from thinkgap.evaluation.comprehension import exchanged, questions_of
from thinkgap.evaluation.messages import messages_of
from thinkgap.prompts.conditions import mode_conditions
from thinkgap.prompts.wordings import ComprehensionQuestion
from thinkgap.readouts.sheet import Sheet
from thinkgap.schema import EvaluateConfig
from thinkgap.types import Condition, Presentation

log = logging.getLogger(__name__)

_SHOWN = 3
_GREEDY = 0.0


@dataclass(frozen=True)
class _Request:
    """One item under one mode, as it is sent."""

    dataset: str
    presentation: Presentation
    condition: Condition
    sent: ServedRequest


@dataclass(frozen=True)
class _Plan:
    """All that a run would ask."""

    requests: list[_Request]
    conditions: list[Condition]
    notes: list[str]
    excluded: dict[str, dict[str, str]]
    questions: list[ComprehensionQuestion]
    """Of the comprehension check."""
    asked: list[ServedRequest]
    """Its requests, in the same order."""


def served_responses(cfg: EvaluateConfig, folder: Path, loaded: Loaded, shown: ShownItems) -> Asked:
    """Ask every item of every data set under every mode that the model's profile can honour.

    A mode that it cannot honour is left out with a note. Requests without a response are counted in a note and listed
    in `described`.

    Args:
        cfg: the settings.
        folder: of the run; gets replies where `evaluation.reuse=false`.
        loaded: the data sets.
        shown: how their items are shown.

    Raises:
        ThinkgapError: settings or data that cannot be used, or a server that answers nobody any more.
    """
    plan = _plan(cfg, shown)
    with _store(cfg, folder) as store:
        requests = [*(one.sent for one in plan.requests), *plan.asked]
        answers = ask(cfg.model, requests, store, show_progress=cfg.trainer.progress)
    answered = [
        answered_of(one.dataset, one.presentation, one.condition, response)
        for one in plan.requests
        if (response := answers[one.sent].response) is not None
    ]
    failed = [
        {
            "dataset": one.dataset,
            "item": one.presentation.item.id,
            "presentation": one.presentation.name,
            "mode": one.condition.name,
            "error": answers[one.sent].error,
        }
        for one in plan.requests
        if answers[one.sent].response is None
    ]
    if not answered:
        raise ServedError(f"model={cfg.model.name}: none of {len(failed)} requests was answered: {failed[0]['error']}")
    described = {
        "model": {"name": cfg.model.name, "path": cfg.model.path, "served": asdict(cfg.model.served)},
        "datasets": describe_datasets(loaded),
        "excluded": plan.excluded,
        "requests": _counted(plan, answers),
        "failed_requests": failed,
    }
    exchanges, missing = exchanged(cfg.model.name, plan.questions, [answers[one].response for one in plan.asked])
    notes = [*plan.notes, *_failures(failed, len(plan.requests)), *missing]
    return Asked(
        answered,
        tuple(one.name for one in plan.conditions),
        tuple(notes),
        described,
        exchanges=exchanges if cfg.evaluation.comprehension.enabled else None,
    )


def served_estimate(cfg: EvaluateConfig, folder: Path, shown: ShownItems) -> Sheet:
    """What `served_responses` would send, by mode; sends nothing.

    Raises:
        ThinkgapError: settings or data that cannot be used.
    """
    plan = _plan(cfg, shown)
    with _store(cfg, folder) as store:
        found = [
            estimate(mode.name, [one.sent for one in plan.requests if one.condition is mode], store)
            for mode in plan.conditions
        ]
        if plan.asked:
            found.append(estimate("comprehension check", plan.asked, store))
    sheet = estimate_sheet(cfg.model.name, found)
    return Sheet(sheet.name, sheet.title, sheet.columns, sheet.rows, (*plan.notes, *sheet.notes))


def _plan(cfg: EvaluateConfig, shown: ShownItems) -> _Plan:
    check_profile(cfg.model)
    conditions, notes = available_modes(mode_conditions(cfg.mode), lambda one: _reason(cfg, one), cfg.model.name)
    requests: list[_Request] = []
    excluded: dict[str, dict[str, str]] = {name: {} for name in shown}
    for dataset, items in shown.items():
        for item in items:
            try:
                requests += [
                    _Request(dataset, one, mode, _request(cfg, one, mode)) for one in item for mode in conditions
                ]
            except PromptError as error:
                log.warning("item %s of %s is left out: %s", item[0].item.id, dataset, error)
                excluded[dataset][item[0].item.id] = str(error)
    n_excluded = sum(map(len, excluded.values()))
    if not requests:
        first = next(error for found in excluded.values() for error in found.values())
        raise DataError(f"all {n_excluded} items were left out, the first because of {first}")
    if n_excluded:
        notes.append(f"{n_excluded} items cannot be sent to this model; they are in the manifest.")
    omitted = {one.condition.name: one.sent.omitted for one in requests if one.sent.omitted}
    notes += [
        f"{mode}: {', '.join(f'{name} {value:g}' for name, value in fields.items())} was asked for and not sent, as "
        "the model's profile says."
        for mode, fields in omitted.items()
    ]
    questions = questions_of(cfg, conditions, shown)
    asked = [_request(cfg, one.presentation, one.condition) for one in questions]
    return _Plan(requests, conditions, notes, excluded, questions, asked)


def _reason(cfg: EvaluateConfig, condition: Condition) -> str:
    """Why the profile cannot honour a mode; empty if it can."""
    try:
        thinking_fields(cfg.model, condition.thinking)
        if condition.prefill:
            check_prefill(cfg.model, condition.thinking)
    except ConfigError as error:
        return str(error)
    return ""


def _request(cfg: EvaluateConfig, presentation: Presentation, condition: Condition) -> ServedRequest:
    messages, prefill = messages_of(presentation, condition, cfg.prompt.system)
    return build_request(
        cfg.model,
        messages,
        condition.thinking,
        max_new_tokens=cfg.evaluation.generation.max_new_tokens,
        temperature=_GREEDY,
        prefill=prefill,
    )


def _store(cfg: EvaluateConfig, folder: Path) -> ResponseStore:
    kept = Path(cfg.paths.responses_dir) if cfg.evaluation.reuse else folder / "replies"
    return ResponseStore.open(kept, cfg.model.name)


def _counted(plan: _Plan, answers: Answers) -> dict[str, Any]:
    return {"planned": len(plan.requests) + len(plan.asked), **asdict(answers.counts)}


def _failures(failed: list[dict[str, str]], n_requests: int) -> list[str]:
    """A note on requests without a response, which are in no table."""
    if not failed:
        return []
    modes: Mapping[str, int] = Counter(one["mode"] for one in failed)
    said = ", ".join(f"{n} under {mode}" for mode, n in modes.items())
    for one in failed[:_SHOWN]:
        log.warning("no response to item %s of %s under %s: %s", one["item"], one["dataset"], one["mode"], one["error"])
    return [
        f"{len(failed)} of {n_requests} requests failed ({said}) and are in no table, neither as wrong nor as empty; "
        "the manifest lists them, and the same command asks them again."
    ]
