"""SIGKILL at random moments of every kind of run, until it is done: the same files as those of an undisturbed run.

`THINKGAP_KILLS` says how many kills there are of each kind (default 13, so that four kinds have more than fifty).
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
import pytest

from tests.commands import Command, user_environment
from tests.evaluation.no_thinking_runs import items_file

pytestmark = pytest.mark.scale

KILLS = int(os.environ.get("THINKGAP_KILLS", "13"))
LONGEST = 600.0
"""Seconds that one start may take."""
MODEL = "model=demo_vlm"
SCORED = (MODEL, "trigger=paper", "dataset.limit=80", "evaluation.permutations=2", "evaluation.capture.enabled=true",
          "evaluation.lens=true", "evaluation.batch_tokens=256")  # fmt: skip
GENERATED = (MODEL, "evaluation=generation", "trigger=let_me_think", "dataset.limit=60",
             "evaluation.generation.batch_size=4", "evaluation.generation.max_new_tokens=24")  # fmt: skip
PROBED = (MODEL, "trigger=let_me_think", "dataset.limit=60", "probe.examples=200", "probe.epochs=6",
          "probe.conditions=[direct,let_me_think]")  # fmt: skip


class Runs:
    """Starts of one command over one folder, in an environment of its own."""

    def __init__(self, script: str, arguments: Sequence[str], folder: Path) -> None:
        self.folder, self.home = folder / "run", folder
        places = [f"paths.{name}={folder / name}" for name in ("cells_dir", "captures_dir")]
        self.given = ["tests.scale.often", script, *arguments, *places, f"hydra.run.dir={self.folder}", "logger=none"]

    def start(self) -> Command:
        environment = user_environment(OMP_NUM_THREADS="1", THINKGAP_CACHE=str(self.home / "cache"))
        return Command(*self.given, cwd=self.home, environment=environment)

    def whole(self) -> float:
        """Run to the end; its seconds."""
        before = time.monotonic()
        done = self.start().finished(LONGEST)
        assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:]
        return time.monotonic() - before

    def killed(self, seconds: float, rng: random.Random, files: Sequence[str], wanted: Mapping[str, str]) -> int:
        """Start and kill at random moments until `KILLS` starts were killed, then run to the end.

        A start that comes to its end before its kill has to end as wanted, and the next one begins from nothing.

        Returns:
            How often the run came to its end.
        """
        kills, ends = 0, 0
        while kills < KILLS:
            assert ends <= 4 * KILLS, "nearly every start ends before it is killed"
            command = self.start()
            time.sleep(rng.uniform(0.02, 0.9) * seconds)
            if command.runs:
                command.send_signal(signal.SIGKILL)
                command.finished()
                kills += 1
                continue
            assert command.finished().returncode == 0
            self.ended(files, wanted)
            ends += 1
        self.whole()
        self.ended(files, wanted)
        return ends + 1

    def ended(self, files: Sequence[str], wanted: Mapping[str, str]) -> None:
        """Compare, and leave nothing that the next start could go on from."""
        assert digests(self.folder, files) == wanted
        for one in self.home.iterdir():
            shutil.rmtree(one)


def digests(folder: Path, names: Sequence[str]) -> dict[str, str]:
    found = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    if "replies.parquet" in found:
        # How far a reply's logits were from those of one pass over it is rounding, which depends on the replies that
        # were written beside it; after a kill those are others.
        frame = pd.read_parquet(folder / "replies.parquet").drop(columns="forced_difference")
        found["replies.parquet"] = hashlib.sha256(str(frame.to_json(orient="records")).encode()).hexdigest()
    return found


@pytest.mark.parametrize(
    ("kind", "script", "arguments", "files"),
    [
        ("scoring and capture", "evaluate.py", SCORED, ["records.parquet", "items.parquet", "table.md"]),
        ("generation", "evaluate.py", GENERATED, ["records.parquet", "replies.parquet", "table.md"]),
        ("probing", "train.py", PROBED, ["predictions.parquet", "linear_probes.md", "probe_layers.csv"]),
    ],
)
def test_a_run_that_is_killed_again_and_again_ends_the_same(
    kind: str, script: str, arguments: Sequence[str], files: Sequence[str], tmp_path: Path
) -> None:
    assert_same(kind, script, arguments, files, tmp_path)


def test_replies_and_judgements_too(tmp_path: Path) -> None:
    # From 1, as 0 + 0 would make two options alike.
    items = [
        {"id": f"q{place}", "question": f"Which is {place} + {place}?", "choices": [str(2 * place), str(place), "none"],
         "answer": "A"}
        for place in range(1, 25)
    ]  # fmt: skip
    file = items_file(tmp_path / "items.jsonl", items)
    arguments = [
        *("model=smollm2", "evaluation=no_thinking", "mode=[strict,soft]", "dataset=jsonl", f"dataset.path={file}"),
        *("encoder=minilm", "judge=rules", "evaluation.generation.max_new_tokens=12"),
        "evaluation.generation.batch_size=4",
    ]
    files = ["responses.parquet", "relevance.parquet", "judgements.parquet", "no_thinking.md"]
    assert_same("replies, relevance, judgements", "evaluate.py", arguments, files, tmp_path)


def assert_same(kind: str, script: str, arguments: Sequence[str], files: Sequence[str], folder: Path) -> None:
    rng = random.Random(kind)
    undisturbed, disturbed = (Runs(script, arguments, folder / name) for name in ("undisturbed", "disturbed"))
    for one in (undisturbed, disturbed):
        one.home.mkdir()
    undisturbed.whole()
    wanted = digests(undisturbed.folder, files)
    for one in undisturbed.home.iterdir():
        shutil.rmtree(one)
    seconds = undisturbed.whole()  # now the fork server is there
    assert digests(undisturbed.folder, files) == wanted
    ends = disturbed.killed(seconds, rng, files, wanted)
    print(f"{kind}: {KILLS} kills, {ends} runs came to their end, all as the undisturbed one ({seconds:.1f} s)")
