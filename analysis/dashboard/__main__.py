"""Panels in W&B that compare runs: `python -m analysis.dashboard runs=A,B project=ENTITY/NAME`.

Works offline up to the upload: what would be sent is left in a file, and what to run later is said. Loads no model.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from analysis.dashboard.build import as_sent, report, workspace
from analysis.dashboard.figures import Logged, logged_run, names_of, project_of
from analysis.dashboard.panels import sections_of
from analysis.dashboard.send import NotSent, saved
from thinkgap.errors import ConfigError, StoreError, ThinkgapError, nearest
from thinkgap.frames.folders import folders_of
from thinkgap.schema import LoggerConfig
from thinkgap.store.atomic import write_text
from thinkgap.tracking.wandb_mode import resolve_mode

USAGE = """python -m analysis.dashboard runs=A,B [project=ENTITY/NAME] [out=dashboard.json]

  runs=A,B          folders of finished runs, or patterns in quotes: 'runs=outputs/sweeps/*/*'; may be given again
  project=E/NAME    W&B entity and project (else those that the runs were logged to)
  group=NAME        only runs of this W&B group, such as a sweep's
  name=TEXT         heading of the workspace and the report (thinkgap)
  out=FILE          where the specification goes (dashboard.json)
  upload=false      write the specification and send nothing
"""
_SETTINGS = ("runs", "project", "group", "name", "out", "upload")


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the panels and send them; returns 1 if there are none or they could not be sent though asked for."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or {"-h", "--help"} & set(given):
        print(USAGE, end="", file=sys.stdout if given else sys.stderr)
        return 0 if given else 1
    try:
        return _run(given)
    except ThinkgapError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _run(given: Sequence[str]) -> int:
    patterns, settings = _parsed(given)
    runs = _readable(folders_of(patterns))
    entity, project = project_of(runs, settings.get("project", ""))
    parts = sections_of(names_of(runs))
    name, group = settings.get("name", "thinkgap"), settings.get("group", "")
    view, page = workspace(entity, project, name, group, parts), report(entity, project, name, group, parts)
    out = Path(settings.get("out", "dashboard.json"))
    write_text(out, as_sent(view, page))
    for part in parts:
        print(f"{part.name}: {len(part.panels)} panels")
    print(f"specification: {out}")
    if settings.get("upload", "true") == "false":
        return 0
    again = f"python -m analysis.dashboard {shlex.join(given)}"
    if resolve_mode(LoggerConfig()) != "online":
        print(f"\nnothing was sent: W&B is offline, or no API key was found. {_how_to_sync(runs)}then\n  {again}")
        return 0
    if not entity:
        raise ConfigError("no W&B entity is known: give project=ENTITY/NAME")
    if offline := [run for run in runs if run.offline]:
        print(f"{len(offline)} of {len(runs)} runs were kept offline and show in no panel until they are uploaded.")
        print(_how_to_sync(runs).removeprefix("Upload the runs with\n"), end="")
    try:
        for address in saved(view, page):
            print(address)
    except NotSent as error:
        print(f"error: W&B did not take the dashboard ({error}); it is in {out}. Later:\n  {again}", file=sys.stderr)
        return 1
    return 0


def _how_to_sync(runs: Sequence[Logged]) -> str:
    folders = [folder for run in runs for folder in run.offline]
    if not folders:
        return "Log in with `wandb login` or WANDB_API_KEY, "
    return "Upload the runs with\n" + "".join(f"  wandb sync {shlex.quote(str(one))}\n" for one in folders)


def _readable(folders: Sequence[Path]) -> list[Logged]:
    """The runs that W&B followed; others are named on stderr.

    Raises:
        StoreError: there is none.
    """
    found = []
    for folder in folders:
        try:
            run = logged_run(folder)
        except ThinkgapError as error:
            print(f"warning: {folder} is left out: {error}", file=sys.stderr)
            continue
        if not run.has_wandb:
            print(f"warning: {folder} was logged to no W&B run (logger=none), so no panel shows it", file=sys.stderr)
            continue
        found.append(run)
    if not found:
        raise StoreError("no finished run with a W&B run among these folders: run with logger=wandb, its default")
    return found


def _parsed(given: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    patterns: list[str] = []
    settings: dict[str, str] = {}
    for argument in given:
        key, equals, value = argument.partition("=")
        if not equals or key not in _SETTINGS:
            raise ConfigError(f"{argument}: no such setting{nearest(key, _SETTINGS)}; see --help")
        if key == "runs":
            patterns += [one.strip() for one in value.strip("[]").split(",") if one.strip()]
        else:
            settings[key] = value
    if settings.get("upload", "true") not in ("true", "false"):
        raise ConfigError(f"upload={settings['upload']}: true or false")
    return patterns, settings


if __name__ == "__main__":
    sys.exit(main())
