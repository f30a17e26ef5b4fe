"""The page in a real browser: labelling by keyboard, keeping, exporting, reading back. Skipped where there is none."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis.annotate import main
from analysis.annotation.sample import read_key
from tests.analysis.annotation_runs import HOSTILE, ordinary_run
from tests.analysis.browser import Visit, chromium

LABELS = {
    "e": "explicit_reasoning",
    "p": "paraphrase_only",
    "r": "relevant_non_inferential",
    "g": "generic_or_off_topic",
    "x": "unclear",
}


class Opened(Visit):
    """The page of an annotator."""

    def text(self, name: str) -> str:
        return str(self.page.locator(f"#{name}").inner_text())

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def start(self, name: str = "Ann") -> None:
        self.page.get_by_label("Your name or initials").fill(name)
        self.press("Enter")

    def chosen(self) -> list[str]:
        return [one.get_attribute("data-value") for one in self.page.locator("[aria-pressed=true]").all()]

    def export(self, path: Path) -> Path:
        with self.page.expect_download() as download:
            self.page.get_by_role("button", name="Export").click()
        download.value.save_as(path)
        return path

    def bring(self, path: Path) -> str:
        self.page.locator("#status").evaluate("status => { status.textContent = ''; }")
        self.page.locator("#file").set_input_files(path)
        self.page.locator("#status:not(:empty)").wait_for()
        return self.text("status")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sample of 12 written texts and 3 empty ones."""
    root = tmp_path_factory.mktemp("sample")
    assert main(["make", str(ordinary_run(root / "run")), "--out", str(root / "out")]) == 0
    return root / "out"


@pytest.fixture
def visit(browser: Any, out: Path) -> Iterator[Callable[..., Opened]]:
    """`visit(**options of the context)` opens the page as on a machine that has never seen it."""
    contexts = []

    def go(script: str = "", **options: Any) -> Opened:
        context = browser.new_context(offline=True, **options)
        contexts.append(context)
        if script:
            context.add_init_script(script)
        opened = Opened(context.new_page())
        opened.open(out / "annotate.html")
        return opened

    yield go
    for context in contexts:
        context.close()


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))


def written(out: Path) -> list[str]:
    """Ids of the texts that are not empty, in the order of the page."""
    key = read_key(out).rows
    return list(key.loc[~key["empty"], "id"])


def test_ten_texts_by_keyboard_and_back(
    visit: Callable[..., Opened], out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = visit()
    opened.start("Ann Example")
    assert opened.text("count") == "0 of 12 labelled (3 more are empty)"
    given = [(key, 1 + place % 5) for place, key in enumerate("epgrxepgrx")]
    # The first text may be an empty one; `u` goes to the next that is to be labelled, wherever it is.
    if opened.page.locator("#is-empty").is_visible():
        opened.press("u")
    for key, relevance in given:
        opened.press(key, str(relevance), "Enter")
    assert opened.text("count") == "10 of 12 labelled (3 more are empty)"
    assert opened.text("unexported") == "Changed since the last export"

    at = opened.text("heading")
    opened.page.reload()
    opened.page.get_by_role("button", name="Go on as Ann Example (10 of 12)").click()
    assert opened.text("heading") == at
    assert opened.text("count") == "10 of 12 labelled (3 more are empty)"
    opened.press("n")
    opened.page.keyboard.type('=see "3", äß')
    path = opened.export(tmp_path / "ann.csv")
    assert opened.text("unexported") == ""

    rows = {row["id"]: row for row in rows_of(path)}
    first_ten = written(out)[:10]
    assert {one: (rows[one]["label"], rows[one]["relevance"]) for one in first_ten} == {
        one: (LABELS[key], str(relevance)) for one, (key, relevance) in zip(first_ten, given, strict=True)
    }
    # Ten, the noted one, and the three empty ones.
    assert len(rows) == 14
    assert [row["note"] for row in rows.values() if row["note"]] == ['\'=see "3", äß']
    assert {(row["annotator"], row["sample"]) for row in rows.values()} == {("Ann Example", read_key(out).digest)}

    capsys.readouterr()
    assert main(["read", str(out), str(path)]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    row = next(line for line in shown.out.splitlines() if line.startswith("| Ann Example"))
    assert [cell.strip() for cell in row.split("|")[2:5]] == ["10", "10", "12"]
    labels = {row["item"]: row["label"] for row in rows_of(out / "agreement" / "annotations.csv")}
    assert len(labels) == 13
    assert [labels[one] for one in first_ten] == [LABELS[key] for key, _ in given]
    # Two of the ten are explicit reasoning, and none of the three empty ones: 2 of 13.
    (rate,) = (row for row in rows_of(out / "agreement" / "people_rates.csv") if row["rater"] == "Ann Example")
    assert float(rate["mcq"]) == 2 / 13
    assert opened.complaints == []
    assert {url.split(":")[0] for url in opened.requests} <= {"file", "blob"}


def test_what_models_wrote_is_text(visit: Callable[..., Opened], out: Path) -> None:
    opened = visit()
    opened.start()
    shown = []
    for _ in range(15):
        shown.append((opened.page.locator("#problem").evaluate("one => one.textContent"), opened.text("trace")))
        assert opened.page.locator("#problem *, #trace *").count() == 0
        opened.press("ArrowRight")
    assert opened.text("status") == "This is the last text."
    assert {problem for problem, _ in shown} >= set(HOSTILE)
    assert [trace for _, trace in shown].count("(empty)") == 3
    assert opened.page.evaluate("typeof window.hacked") == "undefined"
    # The policy holds even for a script that got in by some other way.
    opened.page.evaluate(
        "() => { const one = document.createElement('script'); try { one.textContent = 'window.hacked = 1'; } "
        "catch {} document.body.append(one); }"
    )
    assert opened.page.evaluate("typeof window.hacked") == "undefined"
    assert {url.split(":")[0] for url in opened.requests} == {"file"}


def test_keys(visit: Callable[..., Opened]) -> None:
    opened = visit()
    opened.start()
    opened.press("u", "u")
    while opened.page.locator("#is-empty").is_visible():
        opened.press("ArrowRight")
    opened.press("E", "4", "p")
    assert opened.chosen() == ["paraphrase_only", "4"]
    opened.press("z")
    assert opened.chosen() == ["explicit_reasoning", "4"]
    opened.press("Control+z", "z")
    assert opened.chosen() == []
    opened.press("z", "z")
    assert opened.text("status") == "Nothing to undo."
    # Letters in a note are letters; what was noted can be undone as a whole.
    opened.press("n")
    opened.page.keyboard.type("peg 1 z")
    opened.press("Escape")
    assert opened.chosen() == []
    assert opened.page.locator("#note").input_value() == "peg 1 z"
    opened.press("z")
    assert opened.page.locator("#note").input_value() == ""
    # A key with Alt or Control belongs to the browser.
    opened.press("Alt+e", "Control+e")
    assert opened.chosen() == []
    # Enter chooses the button with the focus, and goes on from one that is chosen.
    here = opened.text("heading")
    opened.page.locator("#labels button").nth(1).focus()
    opened.press("Enter")
    assert (opened.chosen(), opened.text("heading")) == (["paraphrase_only"], here)
    opened.press("Enter")
    assert opened.text("heading") != here
    opened.press("Shift+Enter")
    assert (opened.chosen(), opened.text("heading")) == (["paraphrase_only"], here)
    # While the help is open, keys choose nothing.
    opened.press("?", "g")
    assert opened.page.locator("#help").is_visible()
    opened.press("Escape")
    assert not opened.page.locator("#help").is_visible()
    assert opened.chosen() == ["paraphrase_only"]
    assert opened.complaints == []


def test_empty_texts_are_set_and_cannot_be_changed(visit: Callable[..., Opened], out: Path, tmp_path: Path) -> None:
    opened = visit()
    opened.start()
    for place in list(read_key(out).rows["empty"]):
        if place:
            assert opened.page.locator("#is-empty").is_visible()
            assert not opened.page.locator("#asked").is_visible()
            opened.press("e", "5", "n")
        opened.press("ArrowRight")
    # Enter passes them over, in both directions.
    opened.press(*["Shift+Enter"] * 20)
    seen = set()
    for _ in range(12):
        assert not opened.page.locator("#is-empty").is_visible()
        seen.add(opened.text("heading"))
        opened.press("Enter")
    assert len(seen) == 12
    rows = rows_of(opened.export(tmp_path / "a.csv"))
    assert [(row["label"], row["relevance"], row["note"]) for row in rows] == [("empty", "1", "")] * 3


def test_going_on_on_another_machine(visit: Callable[..., Opened], out: Path, tmp_path: Path) -> None:
    first = visit()
    first.start()
    first.press("u", "u", "e", "5", "u", "g", "1", "u", "p")
    path = first.export(tmp_path / "a.csv")
    done = {row["id"]: row for row in rows_of(path) if row["label"] != "empty"}
    assert len(done) == 3

    second = visit()
    second.start("Bob")
    assert second.bring(path) == "That file is by Ann, not by Bob. Nothing was imported."
    second.page.get_by_role("button", name="Change").click()
    second.start("Ann")
    # One text was labelled otherwise here; spreadsheets save with semicolons.
    mine = next(iter(done))
    while second.text("heading") != f"Text {int(mine[1:])} of 15":
        second.press("ArrowRight")
    second.press("x", "2")
    saved = tmp_path / "saved.csv"
    saved.write_text("sep=;\n" + path.read_text(encoding="utf-8-sig").replace(",", ";") + "t001;half", encoding="utf-8")
    assert second.bring(saved) == (
        "2 texts imported. 1 differ from what is here, which was kept. 1 rows could not be read."
    )
    again = {row["id"]: row["label"] for row in rows_of(second.export(tmp_path / "b.csv")) if row["label"] != "empty"}
    assert again == {one: "unclear" if one == mine else row["label"] for one, row in done.items()}
    second.press("z")
    assert second.text("count") == "1 of 12 labelled (3 more are empty)"

    other = tmp_path / "other.csv"
    other.write_text(path.read_text(encoding="utf-8").replace(read_key(out).digest, "s0"), encoding="utf-8")
    assert second.bring(other) == "That file belongs to another sample. Nothing was imported."
    other.write_text("a,b\n1,2\n", encoding="utf-8")
    assert second.bring(other) == "That file holds no annotations of this page."
    assert second.complaints == []


def test_a_browser_that_keeps_nothing_says_so(visit: Callable[..., Opened], out: Path, tmp_path: Path) -> None:
    refusing = "Object.defineProperty(window, 'localStorage', {get() { throw new Error('storage is off'); }})"
    opened = visit(refusing)
    opened.start()
    assert opened.text("warning") == (
        "This browser does not keep your work (storage is off). Export the CSV before you close the page."
    )
    opened.press("u", "u", "e", "3")
    assert len(rows_of(opened.export(tmp_path / "a.csv"))) == 4
    kept = visit()
    kept.start()
    assert not kept.page.locator("#warning").is_visible()


def test_pace(visit: Callable[..., Opened]) -> None:
    opened = visit()
    opened.page.clock.install()
    opened.page.reload()
    opened.start()
    for _ in range(3):
        opened.press("u")
        opened.page.clock.run_for(20_000)
        opened.press("e", "3")
    # 3 of 12 in 20 s each: 9 * 20 s = 3 min are left.
    assert opened.text("pace") == "20 s a text, about 3 min left"
    opened.press("u")
    # Nobody is there for ten minutes: of these the first counts.
    opened.page.clock.run_for(600_000)
    opened.press("e", "3")
    # (3 * 20 + 60) / 4 = 30 s; 8 * 30 s = 4 min.
    assert opened.text("pace") == "30 s a text, about 4 min left"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_small_screen(visit: Callable[..., Opened], scheme: str) -> None:
    opened = visit(viewport={"width": 360, "height": 740}, color_scheme=scheme)
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 360
    opened.start("A" * 40)
    for _ in range(15):
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 360
        opened.press("ArrowRight")
    nav = opened.page.locator("nav").bounding_box()
    assert nav["y"] + nav["height"] == pytest.approx(740, abs=1)
    assert nav["height"] < 80
    dark = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert dark == {"light": "rgb(246, 245, 242)", "dark": "rgb(19, 21, 25)"}[scheme]


def test_every_control_has_a_name(visit: Callable[..., Opened]) -> None:
    opened = visit()
    opened.start()
    opened.press("u")
    controls = opened.page.locator("button:visible, textarea:visible, progress:visible")
    # Change, undo, import, export, help; five labels; five degrees; three ways to go; the note; the progress.
    assert controls.count() == 5 + 5 + 5 + 3 + 1 + 1
    for control in controls.all():
        name = control.evaluate(
            "one => one.innerText?.trim() || one.labels?.[0]?.innerText"
            " || document.getElementById(one.getAttribute('aria-labelledby'))?.innerText"
        )
        assert name, control
