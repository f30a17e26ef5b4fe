"""One Weights & Biases run around one job.

W&B mirrors what is on disk. No failure of it may stop a job or change its result: each call is guarded, the first
failure is logged with its reason, and the job goes on. Knows no records and no metrics; it gets plain rows.
"""

from __future__ import annotations

import contextlib
import logging
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from thinkgap.schema import LoggerConfig
from thinkgap.store.redact import plain
from thinkgap.tracking.figures import Curve
from thinkgap.tracking.wandb_columns import uniform_columns
from thinkgap.tracking.wandb_mode import resolve_mode

log = logging.getLogger(__name__)

INIT_TIMEOUT = 15
"""Seconds that W&B may take to start."""
FINISH_TIMEOUT = 120
"""Seconds that it may take to upload at the end; what is then left can be synced from disk."""

_TAG_LENGTH = 64


class WandbTracker:
    """What a job logs to; does nothing when W&B is off or could not start."""

    def __init__(self, run: Any = None) -> None:
        self._run = run
        self._warned = False

    @property
    def active(self) -> bool:
        """Whether anything is logged at all."""
        return self._run is not None

    def summary(self, values: Mapping[str, Any]) -> None:
        """Set summary figures of the run; None and NaN are left out, so that an absent figure is absent there too."""
        if self._run is not None:
            with self._guard("summary"):
                known = plain(values)
                self._run.summary.update({n: v for n, v in known.items() if v is not None and v == v})

    def log(self, values: Mapping[str, Any], step: int) -> None:
        """Log a point of the curves at `step`; steps only go up."""
        if self._run is not None:
            with self._guard("log"):
                self._run.log(plain(values), step=step)

    def table(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Log `rows` as the table `name`; columns are the union of their keys, in order of appearance."""
        if self._run is not None and rows:
            with self._guard(f"table {name}"):
                import wandb

                columns, data = uniform_columns(rows)
                self._run.log({name: wandb.Table(columns=[*columns], data=[*data])})

    def chart(
        self,
        name: str,
        title: str,
        kind: str,
        axes: tuple[str, str, str],
        rows: Sequence[tuple[float | str, float, str]],
    ) -> None:
        """Log a chart of `rows` (x, y, series) with the table that it is drawn from.

        Args:
            name: Key of the chart.
            title: Heading.
            kind: `line`, one line per series; else bars, one per x and series.
            axes: Names of x, y and series.
            rows: Points in order.
        """
        if self._run is not None and rows:
            with self._guard(f"chart {name}"):
                import wandb

                data: list[Any] = [[str(x) if kind != "line" else x, y, series] for x, y, series in rows]
                if kind == "line":
                    table = wandb.Table(columns=[*axes], data=data)
                    drawn = wandb.plot.line(table, axes[0], axes[1], stroke=axes[2], title=title)
                else:
                    # The stock bar chart has no series: each bar is named by both.
                    named: list[Any] = [[f"{x}: {series}", y] for x, y, series in data]
                    table = wandb.Table(columns=["bar", axes[1]], data=named)
                    drawn = wandb.plot.bar(table, "bar", axes[1], title=title)
                self._run.log({f"charts/{name}": drawn})

    def curve(self, curve: Curve) -> None:
        """Log the points of a curve as history over its own axis, which line plots of several runs can share."""
        if self._run is not None and curve.points:
            with self._guard(f"curve {curve.name}"):
                self._run.define_metric(curve.axis, hidden=True)
                for series in curve.series:
                    self._run.define_metric(curve.key(series), step_metric=curve.axis)
                for x, values in curve.points.items():
                    self._run.log({curve.axis: x} | {curve.key(series): y for series, y in values.items()})

    def image(self, name: str, path: Path) -> None:
        """Log the picture in the file `path`."""
        if self._run is not None:
            with self._guard(f"image {name}"):
                import wandb

                self._run.log({f"images/{name}": wandb.Image(str(path))})

    def lightning_logger(self) -> Any:
        """Lightning's logger on this very run; None if nothing is logged."""
        if self._run is None:
            return None
        from pytorch_lightning.loggers import WandbLogger

        return WandbLogger(experiment=self._run)

    def finish(self, exit_code: int) -> None:
        """End the run; later calls do nothing."""
        run, self._run = self._run, None
        if run is not None:
            with self._guard("finish"):
                run.finish(exit_code=exit_code)

    @contextlib.contextmanager
    def _guard(self, what: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if not self._warned:
                log.warning("W&B %s failed, the job goes on without it: %s: %s", what, type(error).__name__, error)
            self._warned = True


@contextlib.contextmanager
def wandb_run(
    cfg: LoggerConfig,
    *,
    config: Mapping[str, Any],
    name: str,
    group: str | None,
    job_type: str,
    tags: Sequence[str],
    folder: Path,
) -> Iterator[WandbTracker]:
    """A W&B run of its own around the block, finished with exit code 1 if an exception passes through, else 0.

    Online only with a key, else offline; never prompts. The lesser of `cfg.mode` and `WANDB_MODE` counts. If W&B does
    not start online it is started offline, and failing that the block runs without it.

    Args:
        cfg: Logger settings.
        config: Settings to show beside the run; secrets are dropped (`store.redact.plain`).
        name: Display name.
        group: Group of the run (a sweep's jobs share one); `cfg.group` goes before it.
        job_type: `evaluate`, `cache` or `probe`.
        tags: Tags, beside `cfg.tags`.
        folder: Folder under which all of W&B's files go.

    Yields:
        The tracker to log to.
    """
    mode = resolve_mode(cfg)
    tracker = WandbTracker()
    with contextlib.ExitStack() as stack:
        if mode != "disabled":
            # W&B stages tables in the home folder otherwise, which a compute node may not keep.
            stack.enter_context(_environment("WANDB_DATA_DIR", str(folder / "wandb" / "data")))
            arguments = {
                "project": cfg.project,
                "entity": cfg.entity,
                "dir": str(folder),
                "config": config,
                "name": name,
                "group": cfg.group or group,
                "job_type": job_type,
                "tags": list(dict.fromkeys(tag[:_TAG_LENGTH] for tag in [*tags, *cfg.tags] if tag)),
            }
            tracker = WandbTracker(_start(mode, folder, arguments))
        exit_code = 1
        try:
            yield tracker
            exit_code = 0
        except SystemExit as error:
            exit_code = 0 if error.code in (None, 0) else 1
            raise
        finally:
            tracker.finish(exit_code)


def _start(mode: str, folder: Path, arguments: Mapping[str, Any]) -> Any:
    """A started run, or None; tries offline when online fails."""
    for attempt in dict.fromkeys((mode, "offline")):
        try:
            import wandb

            folder.mkdir(parents=True, exist_ok=True)
            settings = wandb.Settings(
                console="off",
                disable_code=True,
                disable_git=True,
                save_code=False,
                symlink=False,
                silent=True,
                init_timeout=INIT_TIMEOUT,
                login_timeout=INIT_TIMEOUT,
                finish_timeout=FINISH_TIMEOUT,
            )
            # A fresh id for each job, and no run left open by an earlier job is taken up (trap 47).
            init: Any = wandb.init
            arguments = {**arguments, "config": plain(arguments["config"])}
            run = init(mode=attempt, id=uuid.uuid4().hex[:12], reinit="finish_previous", settings=settings, **arguments)
            if attempt == "offline":
                log.info("W&B keeps this run offline; upload it with: wandb sync %s", Path(run.dir).parent)
            return run
        except Exception as error:
            then = "offline instead" if attempt == "online" else "the job goes on without it"
            log.warning("W&B did not start %s, %s: %s: %s", attempt, then, type(error).__name__, error)
    return None


@contextlib.contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    """Set a variable inside the block, unless the user has set it."""
    if name in os.environ:
        yield
        return
    os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name, None)
