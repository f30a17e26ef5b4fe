"""`python -m analysis.dashboard` on real offline runs; W&B itself is a loopback stand-in where something is sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from analysis.dashboard.__main__ import main
from analysis.dashboard.figures import logged_run, names_of
from analysis.dashboard.panels import sections_of
from analysis.dashboard.send import NotSent, saved
from tests.evaluation.no_thinking_runs import items_file, settings
from tests.test_config import composed
from tests.tracking.wandb_file import read
from thinkgap.evaluation.native import run_native
from thinkgap.evaluation.no_thinking import run_no_thinking

DAY = "2026-01-01T00:00:00"
WANDB = ("logger=wandb", "logger.mode=offline", "logger.project=gap-tests")


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test sends anything unless it says so."""
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "no-netrc"))
    monkeypatch.delenv("WANDB_MODE", raising=False)


@pytest.fixture(scope="module")
def runs(tiny_model: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run of label readouts with layers and orders, and a no-thinking run, both kept offline in W&B."""
    folder = tmp_path_factory.mktemp("dashboard")
    patch = pytest.MonkeyPatch()
    patch.delenv("WANDB_API_KEY", raising=False)
    patch.setenv("NETRC", str(folder / "no-netrc"))
    patch.delenv("WANDB_MODE", raising=False)
    model = ("model=local", f"model.path={tiny_model('llama')}", "model.name=tiny")
    cells = f"paths.cells_dir={folder / 'cells'}"
    native = ("dataset=toy_facts", "dataset.limit=12", "trigger=let_me_think", "evaluation.lens=true")
    kind = ("evaluation=prefix_study", "evaluation.permutations=3", "evaluation.generation.max_new_tokens=2")
    run_native(composed(*model, *kind, *native, *WANDB, cells), folder / "native")
    items = items_file(folder / "items.jsonl")
    run_no_thinking(
        settings(*model, *WANDB, cells, "judge=rules", items=items, mode="mode=[strict,soft]"), folder / "modes"
    )
    patch.undo()
    return folder / "native", folder / "modes"


def specification(folder: Path, *arguments: str) -> dict[str, Any]:
    assert main([*arguments, f"out={folder / 'dash.json'}"]) == 0
    return json.loads((folder / "dash.json").read_text(encoding="utf-8"))


def panels_of(spec: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    sections = spec["workspace"]["section"]["panelBankConfig"]["sections"]
    return {one["name"]: one["panels"] for one in sections}


def test_every_panel_names_what_the_runs_logged(runs: tuple[Path, Path], tmp_path: Path) -> None:
    spec = specification(tmp_path, f"runs={runs[0]},{runs[1]}")
    native, modes = read(runs[0]), read(runs[1])
    summary, history = {*native["summary"], *modes["summary"]}, {*native["history"], *modes["history"]}
    shown = panels_of(spec)
    assert list(shown) == ["Triggers by model", "Layers", "Permutations", "Modes", "Settings"]
    for name, panels in shown.items():
        for panel in panels:
            config = panel["config"]
            for metric in config.get("metrics", []):
                assert metric in (history if name == "Layers" else summary), metric
            if name == "Layers":
                assert config["xAxis"] in history
    titles = {panel["config"].get("chartTitle") for panels in shown.values() for panel in panels}
    assert {
        "accuracy, let_me_think",
        "first slot predicted, let_me_think",
        "layers accuracy, direct",
        "right in every order, let_me_think",
        "answer only (ETR), strict",
        "explicit inference (EIR) by rules, strict",
    } <= titles
    (etr,) = [one["config"] for one in shown["Modes"] if one["config"]["chartTitle"] == "answer only (ETR), strict"]
    assert etr["metrics"] == ["strict/bool/etr_prefix", "strict/mcq/etr_prefix", "strict/open/etr_prefix"]


def test_panels_do_not_overlap(runs: tuple[Path, Path]) -> None:
    for part in sections_of(names_of(map(logged_run, runs))):
        places = {(one.layout.x, one.layout.y) for one in part.panels}
        assert len(places) == len(part.panels)
        assert all(one.layout.x + one.layout.w <= 24 for one in part.panels)


def test_the_report_has_the_same_panels(runs: tuple[Path, Path], tmp_path: Path) -> None:
    spec = specification(tmp_path, f"runs={runs[0]}", "group=sweep-1", "name=Two models")
    grids = [one for one in spec["report"]["blocks"] if one["type"] == "panel-grid"]
    assert len(grids) == len(panels_of(spec)) == 4
    assert "sweep-1" in json.dumps(spec["workspace"]["section"]["runSets"])
    assert "sweep-1" in json.dumps(grids)
    assert (spec["project"], spec["name"]) == ("gap-tests", "Two models")


def test_offline_it_says_how_to_go_on(
    runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    specification(tmp_path, f"runs={runs[0]}", "project=us/gap-tests")
    said = capsys.readouterr().out
    (offline,) = (runs[0] / "wandb").glob("offline-run-*")
    assert f"wandb sync {offline}" in said
    assert "python -m analysis.dashboard" in said
    assert "project=us/gap-tests" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["runs=nowhere"], "nowhere"),
        (["run=a"], "run=a: no such setting"),
        (["runs={native}", "upload=maybe"], "upload=maybe"),
    ],
)
def test_what_cannot_be_used_is_named(
    runs: tuple[Path, Path], arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([one.format(native=runs[0]) for one in arguments]) == 1
    assert message in capsys.readouterr().err


def test_a_run_without_wandb_is_left_out_by_name(
    runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import shutil

    copy = shutil.copytree(runs[0], tmp_path / "copy", ignore=shutil.ignore_patterns("wandb"))
    specification(tmp_path, f"runs={runs[1]},{copy}")
    assert f"{copy} was logged to no W&B run" in capsys.readouterr().err
    assert main([f"runs={copy}"]) == 1
    assert "no finished run with a W&B run" in capsys.readouterr().err


@pytest.fixture
def hosted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """A stand-in for W&B's GraphQL that takes any view; what it was sent."""
    sent: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent_text = self.rfile.read(int(self.headers["Content-Length"]))
            body = json.loads(sent_text) if self.path == "/graphql" else {}
            sent.append(body)
            view = {"id": "Vmlldzox", "name": "abc", "spec": "{}", "displayName": "x", "type": "runs"}
            view |= {
                "project": {"name": "gap-tests", "entityName": "us"},
                "user": None,
                "createdAt": DAY,
                "updatedAt": DAY,
            }
            edges = {"edges": [], "pageInfo": {"endCursor": None, "hasNextPage": False}}
            data = {
                "upsertView": {"view": view, "inserted": True},
                "models": edges,
                "upsertModel": {"model": {"name": "x"}},
            }
            data["viewer"] = {"id": "1", "entity": "us", "username": "us", "flags": "{}", "teams": {"edges": []}}
            data["serverInfo"] = {"cliVersionInfo": "{}", "latestLocalVersionInfo": None}
            text = json.dumps({"data": data}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: Any) -> None:
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("WANDB_BASE_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("WANDB_API_KEY", "k" * 40)
    yield sent
    server.shutdown()
    server.server_close()


def test_a_workspace_is_sent_as_it_was_written(
    runs: tuple[Path, Path], tmp_path: Path, hosted: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    code = main([f"runs={runs[0]}", "project=us/gap-tests", f"out={tmp_path / 'dash.json'}"])
    said = capsys.readouterr()
    sent = [one["variables"] for one in hosted if "spec" in one.get("variables", {})]
    written = json.loads((tmp_path / "dash.json").read_text(encoding="utf-8"))
    assert sent, said.err
    assert {one["projectName"] for one in sent} == {"gap-tests"}
    assert json.loads(sent[0]["spec"]) == written["workspace"]
    assert "k" * 40 not in said.out + said.err
    assert code == 0, said.err
    assert len(sent) == 2


def test_what_is_not_taken_in_time_is_said() -> None:
    class Slow:
        def save(self) -> Any:
            threading.Event().wait(30)

    class Broken:
        def save(self) -> Any:
            raise SystemExit("no login")

    with pytest.raises(NotSent, match=r"no answer within 0\.2 s"):
        saved(Slow(), seconds=0.2)
    with pytest.raises(NotSent, match="SystemExit: no login"):
        saved(Broken())
