"""The report page without a browser: what is collected of runs, what the page holds, and what it refuses."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.report.__main__ import main
from analysis.report.collect import collect
from analysis.report.page import SCRIPTS, page
from tests.analysis.report_runs import TEXTS, TRIGGER, native_folder, probe_folder, response_folder
from thinkgap.errors import StoreError


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("runs")
    return {
        "first": native_folder(root / "a" / "run"),
        "second": native_folder(root / "b" / "run", wrong=(3, 5), revision="r2"),
        "responses": response_folder(root / "responses"),
        "probes": probe_folder(root / "probes"),
    }


def data_of(text: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    return json.loads(found[1])


def texts_of(data: Any, name: str) -> list[str | None]:
    column = data["columns"][name]
    codes = np.frombuffer(base64.b64decode(column["c"]), {1: np.uint8, 2: np.uint16}[column["w"]])
    return [column["d"][code - 1] if code else None for code in codes]


def test_runs_of_every_kind_on_one_page(runs: dict[str, Path]) -> None:
    data = data_of(page(collect([str(one) for one in runs.values()])))
    assert [run["name"] for run in data["runs"]] == ["a/run", "b/run", "responses", "probes"]
    assert [run["kind"] for run in data["runs"]] == ["native", "native", "responses", "probes"]
    # 16 items under 2 conditions in 2 orders, and a reply each; 15 responses; 3 probes on 8 items.
    assert [run["nRows"] for run in data["runs"]] == [96, 96, 15, 24]
    assert data["n"] == 96 + 96 + 15 + 24
    first = {one["condition"]: (one["level"], one["word"]) for one in data["runs"][0]["verdicts"]}
    assert first == {"direct": ("ok", "Readout holds"), TRIGGER: ("bad", "Readout is broken")}
    (bad,) = (one for one in data["runs"][0]["verdicts"] if one["level"] == "bad")
    assert "asks for reasoning first" in bad["text"]
    assert "right 100.0 points more often" in bad["text"]
    (told,) = data["runs"][2]["verdicts"]
    # Of 15 responses 3 are an answer alone; a mode is said to be nothing more than its figures.
    assert (told["level"], told["word"]) == ("warn", "Answer alone in 20.0 %")
    assert told["text"].endswith("although it was asked to be off.")
    assert told["text"].startswith("15 responses (mcq): 20.0 % are an answer and nothing else, 20.0 % have nothing")
    kinds = {chart["kind"] for run in data["runs"] for chart in run["charts"]}
    assert kinds == {"dots", "lines", "bars", "strips", "heat"}
    assert {one["name"] for one in data["runs"][0]["sheets"]} >= {"conditions", "layers", "verdict", "generation"}


def test_two_models_under_one_name_are_told_apart(runs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    found = collect([str(runs["first"]), str(runs["second"])])
    (problem,) = found.problems
    assert problem == (
        "two models under the name tiny: a/run has revision r1; b/run has revision r2. They are kept apart by run."
    )
    assert found.unread == 0


def test_columns_hold_what_the_records_hold(runs: dict[str, Path]) -> None:
    data = data_of(page(collect([str(runs["first"])])))
    columns = data["columns"]
    rows = list(zip(*(texts_of(data, name) for name in ("condition", "readout", "predicted")), strict=True))
    assert rows[:6] == [
        ("direct", "native", "B"),
        ("direct", "native", "A"),
        ("direct", "generation", "B"),
        (TRIGGER, "native", "A"),
        (TRIGGER, "native", "A"),
        (TRIGGER, "generation", "B"),
    ]
    # softmax of (-1.25, -0.1, -7.5, -pi) at slot 1: e^-0.1 / (e^-1.25 + e^-0.1 + e^-7.5 + e^-pi) = 0.7326.
    p = np.frombuffer(base64.b64decode(columns["p_gold"]["v"]), "<f4")
    assert p[0] == pytest.approx(0.7326, abs=1e-4)
    assert np.isnan(p[2])
    assert columns["lens"]["n"]
    spans = columns["span"]["d"]
    reply = columns["reply"]["d"][0]
    # The page marks the answer where the run found it; the text is the normalised one.
    start, end = spans[0]
    assert reply[start:end] == "B"


def test_items_hold_texts_as_they_are(runs: dict[str, Path]) -> None:
    text = page(collect([str(runs["first"]), str(runs["second"])]))
    data = data_of(text)
    questions = [item["question"] for item in data["items"]]
    assert questions == [f"Question {number}: {TEXTS[number % len(TEXTS)]}" for number in range(16)]
    # Both runs asked the same; it stands there once, and both refer to it.
    assert len(data["itemOf"]) == 32
    assert text.isascii()
    assert "window.hacked" not in re.sub(r"\\u003c.*?hacked", "", text.split('id="data">')[0])
    assert "<img" not in text
    assert text.count("<script") == 2


def test_the_policy_names_the_scripts_by_hash(runs: dict[str, Path]) -> None:
    text = page(collect([str(runs["first"])]))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    script = text[text.rindex("<script>") + 8 : text.rindex("</script>")]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy[1]
    assert policy[1].startswith("default-src 'none'")
    assert "unsafe" not in policy[1]
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", script)
    assert set(re.findall(r"https?://[^\"]*", script)) == {"http://www.w3.org/2000/svg"}


def test_one_item_in_two_files_of_other_words_stays_two(runs: dict[str, Path], tmp_path: Path) -> None:
    other = native_folder(tmp_path / "other", n=3)
    (other / "items.parquet").unlink()
    found = collect([str(runs["first"]), str(other)])
    data = data_of(page(found))
    assert {run for run, *_ in data["itemOf"]} == {"run"}
    assert "keeps no items.parquet" in data["runs"][1]["notes"][0]


def test_a_part_of_the_items(runs: dict[str, Path]) -> None:
    found = collect([str(runs["first"])], items=4)
    data = data_of(page(found))
    assert sorted({str(name) for name in texts_of(data, "item")}) == ["q000", "q004", "q008", "q012"]
    assert data["runs"][0]["nRows"] == 96
    assert "lists 4 of 16 items" in data["runs"][0]["notes"][-1]


def test_pictures_that_cannot_be_had_are_said(tmp_path: Path) -> None:
    run = native_folder(tmp_path / "run", n=2, images=True)
    (note,) = collect([str(run)]).runs[0].notes
    assert note.startswith("images not available")
    assert collect([str(run)], images=False).runs[0].notes == ()


def test_pictures_are_drawn_anew() -> None:
    import io

    from PIL import Image

    from analysis.report.images import SIDE, picture

    sink = io.BytesIO()
    Image.new("RGB", (2 * SIDE, SIDE), "red").save(sink, "PNG", pnginfo=None)
    found = picture(sink.getvalue() + b"<script>")
    assert (found.width, found.height) == (SIDE, SIDE // 2)
    data = base64.b64decode(found.url.partition("base64,")[2])
    assert b"script" not in data
    with pytest.raises(OSError, match="identify"):
        picture(b"<svg onload=alert(1)>")


def broken_folders(root: Path) -> dict[str, tuple[Path, str]]:
    half = native_folder(root / "half", n=2)
    (half / "shards").mkdir()
    (half / "records.parquet").rename(half / "shards" / "part-r000-000000.parquet")
    begun = root / "begun"
    begun.mkdir()
    (begun / "fingerprint.json").write_text("{}", encoding="utf-8")
    damaged = native_folder(root / "damaged", n=2)
    (damaged / "records.parquet").write_bytes(b"PAR1 and no more")
    text = native_folder(root / "text", n=2)
    (text / "manifest.json").write_text("{", encoding="utf-8")
    older = native_folder(root / "older", n=2)
    import pyarrow.parquet as pq

    pq.write_table(pq.read_table(older / "records.parquet").drop_columns(["entropy"]), older / "records.parquet")
    nothing = root / "nothing"
    nothing.mkdir()
    return {
        "half": (half, "unfinished run"),
        "begun": (begun, "unfinished run"),
        "damaged": (damaged, "is damaged"),
        "text": (text, "manifest.json is damaged"),
        "older": (older, "another version"),
        "nothing": (nothing, "holds no run"),
        "absent": (root / "absent", "is no folder"),
    }


@pytest.mark.parametrize("name", ["half", "begun", "damaged", "text", "older", "nothing", "absent"])
def test_a_run_that_cannot_be_read_is_named(name: str, runs: dict[str, Path], tmp_path: Path) -> None:
    folder, reason = broken_folders(tmp_path)[name]
    with pytest.raises(StoreError, match=reason):
        collect([str(folder)])
    found = collect([str(runs["first"]), str(folder)])
    assert len(found.runs) == found.unread == 1
    (problem,) = found.problems
    assert str(folder) in problem
    assert reason in problem
    assert data_of(page(found))["problems"] == [problem]


def test_a_run_without_a_manifest(tmp_path: Path) -> None:
    run = native_folder(tmp_path / "run", n=3)
    (run / "manifest.json").unlink()
    (found,) = collect([str(run)]).runs
    assert (found.model, found.datasets) == ("unknown model", ("unknown data set",))


def test_patterns(runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root, out = runs["first"].parents[1], tmp_path / "page.html"
    assert main([f"runs={root}/*/run,{runs['first']}", f"out={out}"]) == 0
    assert f"{out}: 2 runs" in capsys.readouterr().out
    assert main([f"runs={root}/x*", f"out={out}"]) == 1
    assert "no folder of a run matches" in capsys.readouterr().err
    assert main(["runs=", f"out={out}"]) == 1
    assert "no folder was given" in capsys.readouterr().err


def test_the_command(runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "page.html"
    assert main([f"runs={runs['first']},{runs['responses']}", f"out={out}", "title=A <b>title</b>"]) == 0
    assert "2 runs, 111 rows" in capsys.readouterr().out
    assert data_of(out.read_text(encoding="ascii"))["title"] == "A <b>title</b>"
    assert [one.name for one in tmp_path.iterdir()] == ["page.html"]
    assert main([str(runs["probes"]), str(tmp_path / "absent"), f"out={out}"]) == 1
    assert "absent is no folder" in capsys.readouterr().err
    assert len(data_of(out.read_text(encoding="ascii"))["runs"]) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run=a"], "run=a: no such setting"),
        (["--fast", "a"], "--fast: no such option"),
        (["a", "items=0"], "items=0: a number of 1 or more"),
        (["a", "images=maybe"], "true or false"),
        (["runs="], "no folder was given"),
    ],
)
def test_settings_that_cannot_be(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 1
    assert message in capsys.readouterr().err


def test_scripts_are_short_and_all_used() -> None:
    import analysis.report

    assets = Path(analysis.report.__file__).parent / "assets"
    assert {one.name for one in assets.glob("*.js")} == set(SCRIPTS)
    for one in [*assets.glob("*.js"), *assets.glob("*.css")]:
        assert len(one.read_text(encoding="utf-8").splitlines()) <= 250, one.name
