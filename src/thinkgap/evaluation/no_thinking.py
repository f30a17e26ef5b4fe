"""`evaluation=no_thinking`: ask under answer modes, keep what comes back, and say of each response what it was.

Responses come from a local or served model or from a file; their analysis is `nothinking`'s. Orchestration only.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from thinkgap.errors import ConfigError
from thinkgap.evaluation.asking import Asked, Loaded, ShownItems, items_digest, load_datasets, shown_of, tell_bad
from thinkgap.evaluation.describe import code_digest
from thinkgap.evaluation.levels import add_levels, asks_served_judge, check_levels, estimate_levels
from thinkgap.evaluation.predict import quiet_libraries
from thinkgap.evaluation.stored import Stored, stored_runs
from thinkgap.importers import load_responses
from thinkgap.nothinking.analyse import Analysed, analyse_all
from thinkgap.nothinking.by_fields import check_response_fields
from thinkgap.nothinking.comprehension import COMPREHENSION_FILE, read_exchanges, to_dict, write_exchanges
from thinkgap.nothinking.equality import MathEquality
from thinkgap.nothinking.run_sheets import nothinking_sheets, nothinking_text
from thinkgap.nothinking.store import RESPONSES_FILE, read_responses, write_responses
from thinkgap.readouts.sheet import Sheet, sheet_dicts, sheet_markdown
from thinkgap.readouts.table_text import to_csv
from thinkgap.schema import BackendKind, EvaluateConfig
from thinkgap.store.atomic import write_parquet, write_text
from thinkgap.store.fingerprint import check_fingerprint
from thinkgap.store.items import ITEMS_FILE, items_of_runs, write_items
from thinkgap.store.manifest import collect_manifest, write_manifest
from thinkgap.store.redact import plain
from thinkgap.store.run_folder import RunFolder
from thinkgap.tracking.console import setup_logging
from thinkgap.tracking.figures import response_figures
from thinkgap.tracking.wandb_run import WandbTracker, wandb_run

_TABLE_ROWS = 10_000
"""Responses in the W&B table."""


def run_no_thinking(cfg: EvaluateConfig, folder: Path, group: str | None = None) -> list[Sheet]:
    """Ask or read, analyse, print; leave `responses.parquet`, the tables and a manifest in `folder`.

    Args:
        cfg: the settings.
        folder: of the run; an unfinished run of the same settings is resumed.
        group: W&B group.

    Returns:
        All tables; with `evaluation.estimate` that of what would be asked, and nothing is asked or left.

    Raises:
        ThinkgapError: settings, data, a model, a server or a file that cannot be used.
    """
    setup_logging()
    quiet_libraries()
    _check(cfg)
    if cfg.evaluation.estimate:
        return _estimate(cfg, folder)
    started = datetime.now(UTC)
    of = [cfg.model.name, *(cfg.datasets or [cfg.dataset.name])]
    if cfg.responses is not None:
        of = [Path(cfg.responses).stem]
    with wandb_run(
        cfg.logger,
        config=plain(asdict(cfg)),
        name=f"{of[0]}-no_thinking-{folder.name}",
        group=group,
        job_type="evaluate",
        tags=[*of, "no_thinking", *([] if cfg.responses is not None else cfg.mode.conditions)],
        folder=folder,
    ) as tracker:
        with RunFolder(folder).held():
            done = folder / RESPONSES_FILE
            stored = None if cfg.responses is None else stored_runs(cfg.responses)
            items = None if stored is None else items_of_runs([file.parent for file in stored.files])
            loaded = {} if cfg.responses is not None else load_datasets(cfg)
            shown = shown_of(cfg, loaded)
            check_fingerprint(folder, _fingerprint(cfg, shown, stored), done.exists())
            if stored is not None:
                found, rows = _of_runs(stored), stored.rows
            else:
                found = _read(cfg.responses) if cfg.responses is not None else _asked(cfg, folder, loaded, shown)
                rows = _analysed(cfg, found)
            if not loaded:
                check_response_fields(cfg.evaluation.by, items, rows)
            (folder / COMPREHENSION_FILE).unlink(missing_ok=True)  # of a run that never ended, with other settings
            if found.exchanges is not None:
                write_exchanges(folder / COMPREHENSION_FILE, found.exchanges)
            write_responses(done, rows)
            if loaded:
                write_items(folder, {name: one.items for name, one in loaded.items()})
            elif items is not None:
                write_parquet(folder / ITEMS_FILE, items)
            levels = add_levels(cfg, folder, rows)
            facts = {"config": asdict(cfg), "modes": found.modes, "notes": list(found.notes), **found.described}
            facts["levels"] = levels
            write_manifest(folder, collect_manifest(facts, started=started, finished=datetime.now(UTC)))
            sheets = _report(folder)
        _mirror(tracker, folder, sheets)
    return sheets


def _check(cfg: EvaluateConfig) -> None:
    served = cfg.model.backend is BackendKind.api
    check_levels(cfg)
    if cfg.evaluation.estimate and not (served if cfg.responses is None else asks_served_judge(cfg)):
        what = "a served model" if cfg.responses is None else "a served judge"
        raise ConfigError(f"evaluation.estimate counts the calls of {what}: choose one, or leave it out")
    if cfg.responses is not None:
        if cfg.evaluation.comprehension.enabled:
            raise ConfigError(
                "evaluation.comprehension asks a model, which responses=FILE has not: leave one of them out"
            )
        return
    if not cfg.mode.conditions:
        raise ConfigError("evaluation=no_thinking asks under answer modes: give mode=paper, or mode=[strict,prefix]")
    # Servers and vLLM fill their batches themselves.
    batched = cfg.model.backend is BackendKind.hf
    for name in ("max_new_tokens", "batch_size") if batched else ("max_new_tokens",):
        if (value := getattr(cfg.evaluation.generation, name)) < 1:
            raise ConfigError(f"evaluation.generation.{name}={value}: must be at least 1")


def _asked(cfg: EvaluateConfig, folder: Path, loaded: Loaded, shown: ShownItems) -> Asked:
    # A served model needs none of the libraries of a local one, and the other way round.
    if cfg.model.backend is BackendKind.api:
        from thinkgap.evaluation.responses_served import served_responses

        return served_responses(cfg, folder, loaded, shown)
    if cfg.model.backend is BackendKind.vllm:
        from thinkgap.evaluation.responses_vllm import vllm_responses

        return vllm_responses(cfg, folder, loaded, shown)
    from thinkgap.evaluation.responses_local import local_responses

    return local_responses(cfg, folder, loaded, shown)


def _estimate(cfg: EvaluateConfig, folder: Path) -> list[Sheet]:
    """What would be asked: of the model, or of judges where the responses are there."""
    if cfg.responses is None:
        from thinkgap.evaluation.responses_served import served_estimate

        sheets = [served_estimate(cfg, folder, shown_of(cfg, load_datasets(cfg)))]
    else:
        stored = stored_runs(cfg.responses)
        rows = stored.rows if stored is not None else _analysed(cfg, _read(cfg.responses))
        sheets = estimate_levels(cfg, folder, rows)
    for sheet in sheets:
        print(sheet_markdown(sheet))
    return sheets


def _analysed(cfg: EvaluateConfig, found: Asked) -> list[Analysed]:
    model = "" if cfg.responses is not None else cfg.model.name
    with MathEquality(seconds=cfg.evaluation.math_seconds) as equality:
        return analyse_all(found.answered, model=model, decide=equality.many, count_tokens=found.count_tokens)


def _of_runs(stored: Stored) -> Asked:
    """Responses of earlier runs, which were read then."""
    runs = [{"file": str(file), "sha256": _sha256(file)} for file in stored.files]
    note = "Responses are those of earlier runs, as they were read then; the manifest names their files."
    return Asked([row.answered for row in stored.rows], stored.modes, (note,), {"runs": runs})


def _read(path: str) -> Asked:
    imported = load_responses(path)
    tell_bad(imported.bad)
    notes = [*imported.notes]
    if imported.bad:
        notes.append(f"{len(imported.bad)} rows of {Path(path).name} could not be used; the manifest lists them.")
    described = {
        "responses": {"file": Path(path).name, "sha256": _sha256(Path(path)), "format": imported.format},
        "bad_rows": [{"id": bad.id, "reason": bad.reason} for bad in imported.bad],
    }
    modes = tuple(dict.fromkeys(one.mode for one in imported.answered))
    # Tables by data set need a name.
    answered = [
        one if one.question.dataset else replace(one, question=replace(one.question, dataset=Path(path).stem))
        for one in imported.answered
    ]
    return Asked(answered, modes, tuple(notes), described)


def _fingerprint(cfg: EvaluateConfig, shown: ShownItems, stored: Stored | None) -> dict[str, Any]:
    """Everything that the responses and their tables depend on, as JSON data."""
    kept = plain(asdict(cfg))
    common = {"math_seconds": cfg.evaluation.math_seconds, "code": code_digest()}
    common |= {name: kept[name] for name in ("encoder", "encoders", "judge", "judges")}
    if stored is not None:
        return {"responses": [_sha256(file) for file in stored.files], **common}
    if cfg.responses is not None:
        return {"responses": _sha256(Path(cfg.responses)), **common}
    return {
        **{name: kept[name] for name in ("model", "dataset", "datasets", "mode", "prompt")},
        "items": items_digest(shown),
        "comprehension": kept["evaluation"]["comprehension"],
        "generation": {name: kept["evaluation"]["generation"][name] for name in ("max_new_tokens", "batch_size")},
        **common,
    }


def _sha256(path: Path) -> str:
    try:
        return hashlib.sha256(path.expanduser().read_bytes()).hexdigest()
    except OSError as error:
        raise ConfigError(f"responses={path}: {error.strerror or error}; give a file of responses") from error


def _report(folder: Path) -> list[Sheet]:
    """Print the tables, made again from what is on disk."""
    sheets = nothinking_sheets(folder)
    for sheet in sheets:
        write_text(folder / f"{sheet.name}.csv", to_csv(sheet_dicts(sheet)))
    write_text(folder / "no_thinking.md", nothinking_text(folder, sheets, None))
    print(nothinking_text(folder, sheets))
    print(f"all {len(sheets)} tables: {folder / 'no_thinking.md'}; responses and manifest: {folder}")
    return sheets


def _mirror(tracker: WandbTracker, folder: Path, sheets: Sequence[Sheet]) -> None:
    if not tracker.active:
        return
    for sheet in sheets:
        tracker.table(sheet.name, sheet_dicts(sheet))
    tracker.summary(response_figures(sheets))
    rows = read_responses(folder / RESPONSES_FILE).slice(0, _TABLE_ROWS).to_pylist()
    tracker.table("responses", [{name: _cell(value) for name, value in row.items()} for row in rows])
    if (file := folder / COMPREHENSION_FILE).exists():
        exchanges = [to_dict(one) for one in read_exchanges(file)]
        tracker.table("comprehension", [{name: _cell(value) for name, value in row.items()} for row in exchanges])


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
