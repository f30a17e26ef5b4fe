"""The report page in a real browser: views, filter, sort, links, comparison, hostile texts. Skipped without one."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis.compare import compare_runs
from analysis.report.__main__ import main
from tests.analysis.browser import Visit, chromium
from tests.analysis.report_runs import RTL, TEXTS, native_folder, probe_folder, response_folder

VIEWS = ("#view=overview", "#view=conditions", "#view=plots", "#view=plots&run=*", "#view=items", "#item=made_up|q003")
VIEWS += ("#view=compare",)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two label readouts, of which the second is wrong on two items more, a no-thinking run and probes."""
    root = tmp_path_factory.mktemp("report")
    folders = [
        native_folder(root / "first", images=True),
        native_folder(root / "second", wrong=(3, 5)),
        response_folder(root / "responses"),
        probe_folder(root / "probes"),
    ]
    out = root / "report.html"
    assert main([*map(str, folders), f"out={out}"]) == 0
    return out


@pytest.fixture
def visit(browser: Any, report: Path) -> Iterator[Callable[..., Visit]]:
    contexts = []

    def go(address: str = "", **options: Any) -> Visit:
        context = browser.new_context(offline=True, **options)
        contexts.append(context)
        return Visit(context.new_page()).open(report, address)

    yield go
    for context in contexts:
        context.close()


def cells(visit: Visit, place: int) -> list[str]:
    """Texts of a column of the rows on screen."""
    return [row.locator("[role=cell]").nth(place).inner_text() for row in visit.page.locator(".v-body .v-row").all()]


def head(visit: Visit) -> list[str]:
    return [one.inner_text().strip(" \u25b2\u25bc\n") for one in visit.page.locator("[role=columnheader]").all()]


def count(visit: Visit) -> str:
    return visit.page.locator("#count").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_every_view_in_both_schemes_and_widths(visit: Callable[..., Visit], scheme: str, width: int) -> None:
    opened = visit(color_scheme=scheme, viewport={"width": width, "height": 800})
    runs = ("first", "responses", "probes")
    more = [f"#view={view}&run={run}" for run in runs for view in ("conditions", "plots")]
    for address in [*VIEWS, *more, "#item=secret_set|q0", "#item=made_up|q0"]:
        opened.page.evaluate("address => { location.hash = address; }", address)
        opened.page.wait_for_timeout(30)
        assert opened.page.locator("h1").count() == 1
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width, address
    # Whoever follows a link is told where they are.
    assert opened.page.title().endswith("thinkgap report")
    ground = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(246, 245, 242)", "dark": "rgb(19, 21, 25)"}[scheme]
    assert opened.complaints == []
    assert {url.split(":")[0] for url in opened.requests} == {"file"}


def test_the_first_screen_says_that_the_trigger_breaks_the_readout(visit: Callable[..., Visit]) -> None:
    opened = visit(viewport={"width": 1280, "height": 720})
    headline = opened.page.locator(".headline")
    assert "The label readout is broken under 2 of 4 conditions" in headline.inner_text()
    assert headline.bounding_box()["y"] < 300
    rows = [" ".join(one.inner_text().split()) for one in opened.page.locator(".verdict summary").all()]
    assert rows[0].startswith("\u2713 direct Readout holds")
    assert rows[1].startswith("\u2717 think Readout is broken")
    opened.page.locator(".verdict summary").nth(1).click()
    assert "right 100.0 points more often" in opened.page.locator(".verdict").nth(1).inner_text()


def test_filter_and_sort(visit: Callable[..., Visit]) -> None:
    opened = visit("#view=items")
    page = opened.page
    # 2 runs of 16 items, 2 conditions, 2 orders and a reply; 15 responses; 3 probes of 8 items.
    assert count(opened) == "231 rows of 231"
    page.get_by_role("combobox", name="run", exact=True).select_option("second")
    page.get_by_role("combobox", name="condition", exact=True).select_option("direct")
    page.get_by_role("combobox", name="readout", exact=True).select_option("native")
    page.get_by_role("combobox", name="presentation", exact=True).select_option("identity")
    page.get_by_role("combobox", name="right", exact=True).select_option("no")
    assert count(opened).startswith("2 rows of 231")
    assert cells(opened, head(opened).index("item")) == ["q003", "q005"]
    # The address holds the filter: a copy of it shows the same.
    again = visit("#" + page.evaluate("location.hash").lstrip("#"))
    assert count(again).startswith("2 rows of 231")
    page.get_by_role("combobox", name="right", exact=True).select_option("")
    page.get_by_role("button", name="item").click()
    page.get_by_role("button", name="item").click()
    assert cells(opened, 0)[:2] == ["q015", "q014"]
    assert page.locator("[aria-sort=descending]").count() == 1
    page.get_by_label("Search").fill("question 7:")
    page.locator("#count", has_text="1 row of 231").wait_for()
    assert page.evaluate("document.activeElement.id") == "search"
    page.get_by_role("link", name="clear filters").click()
    assert count(opened) == "231 rows of 231"
    # Half a pair, which no address can hold as it is.
    search = page.get_by_label("Search")
    search.evaluate("one => { one.value = 'q00\\ud800'; one.dispatchEvent(new Event('input')); }")
    page.locator("#count", has_text="0 rows of 231").wait_for()
    page.get_by_role("link", name="clear filters").click()
    page.locator("#count", has_text="231 rows of 231").wait_for()
    page.get_by_label("Add a filter").select_option("gold_slot")
    page.get_by_label("slot of right answer (from..to)").fill("2..2")
    page.keyboard.press("Enter")
    assert int(count(opened).split()[0]) > 0
    assert opened.complaints == []


def test_only_rows_on_screen_are_in_the_page(visit: Callable[..., Visit]) -> None:
    opened = visit("#view=items", viewport={"width": 1280, "height": 600})
    table = opened.page.locator(".v-table")
    assert table.get_attribute("aria-rowcount") == "232"
    assert opened.page.locator(".v-body .v-row").count() < 40
    table.evaluate("one => { one.scrollTop = one.scrollHeight; }")
    opened.page.wait_for_timeout(100)
    assert opened.page.locator(".v-body .v-row").last.get_attribute("aria-rowindex") == "232"


def test_an_item_by_click_and_by_link(visit: Callable[..., Visit]) -> None:
    opened = visit("#view=items&run=first&q=question 6:")
    opened.page.locator(".v-body a").first.click()
    assert opened.page.locator("h1").inner_text() == "q006"
    address = opened.page.evaluate("location.hash")
    assert address.startswith("#item=made_up%7Cq006")
    again = visit(address)
    assert again.page.locator("h1").inner_text() == "q006"
    text = again.page.locator("main").inner_text()
    assert "image not available" in text
    assert "Layers" in text
    again.page.get_by_label("Presentation").select_option("permutation_1")
    # The other order shows the same options elsewhere: the right one now first.
    assert again.page.locator(".options li").first.get_attribute("class") == "gold"
    again.page.go_back()
    opened.page.get_by_role("link", name="All items").click()
    assert count(opened).startswith("6 rows of 231")
    assert visit("#item=made_up|nowhere").page.locator("h1").inner_text() == "No such item"
    assert opened.complaints == again.complaints == []


def test_the_answer_is_marked_where_it_stands(visit: Callable[..., Visit]) -> None:
    opened = visit("#item=made_up|q001&run=first&presentation=identity")
    marks = opened.page.locator(".reply mark")
    assert [one.inner_text() for one in marks.all()] == ["B", "B"]
    before = opened.page.locator(".reply .before").first.inner_text()
    assert before.endswith("The answer is ")
    judged = visit("#item=secret_set|q0").page.locator("main").inner_text()
    assert "Reasoning channel" in judged


def test_what_models_wrote_is_text(visit: Callable[..., Visit]) -> None:
    opened = visit("#view=items")
    for number, text in enumerate(TEXTS):
        opened.page.evaluate("address => { location.hash = address; }", f"#item=made_up|q{number:03d}&run=first")
        opened.page.locator("h1", has_text=f"q{number:03d}").wait_for()
        question = opened.page.locator(".question")
        assert question.evaluate("one => one.textContent") == f"Question {number}: {text}"
        assert opened.page.locator(".question *, blockquote *").count() == 0
        assert opened.page.locator("main script, main img, main b > b").count() == 0
    assert opened.page.evaluate("typeof window.hacked") == "undefined"
    opened.page.evaluate(
        "() => { const one = document.createElement('script'); try { one.textContent = 'window.hacked = 1'; } "
        "catch {} document.body.append(one); }"
    )
    assert opened.page.evaluate("typeof window.hacked") == "undefined"
    assert {url.split(":")[0] for url in opened.requests} == {"file"}
    # Marks of direction end with the text that holds them.
    own = opened.page.locator(".question").evaluate("one => getComputedStyle(one).unicodeBidi")
    assert own in ("isolate", "plaintext", "isolate-override")
    assert RTL in TEXTS


def test_compare_two_runs(visit: Callable[..., Visit]) -> None:
    opened = visit("#view=compare")
    text = opened.page.locator("main").inner_text()
    assert "2 (12.5 %) of 16 pairs flip between right and wrong" in text
    assert cells(opened, 0)[:3] == ["q003", "q005", "q000"]
    assert cells(opened, 1)[:3] == ["right, then wrong", "right, then wrong", "right both times"]
    second = opened.page.get_by_role("group", name="Second")
    second.get_by_label("Condition").select_option("think")
    assert "16 (100.0 %) of 16 pairs flip" in opened.page.locator("main").inner_text()
    opened.page.get_by_label("Show").select_option("4")
    assert opened.page.locator(".v-body .v-row").count() == 0
    assert opened.complaints == []


def test_differences_with_intervals_are_those_of_the_command(visit: Callable[..., Visit], report: Path) -> None:
    opened = visit("#view=compare&a.run=second&b.run=first")
    part = opened.page.get_by_role("region", name="All figures that both runs have")
    assert "A is first, B is second; differences are B minus A" in part.inner_text()
    rows = part.locator("tbody tr").all_inner_texts()
    (row,) = [one for one in rows if one.split()[:2] == ["accuracy", "direct"]]
    found = compare_runs(report.parent / "first", report.parent / "second").compared
    (own,) = [one for one in found if (one.figure, one.place) == ("accuracy", "direct")]
    assert own.difference.value == -2 / 16
    told = [100 * one for one in (own.difference.value, own.difference.low, own.difference.high)]
    assert "{:+.1f} [{:+.1f}, {:+.1f}]".format(*told) in " ".join(row.split())
    opened.page.get_by_role("group", name="Second").get_by_label("Run").select_option("responses")
    assert "no figure with common items" in opened.page.locator("main").inner_text()
    assert opened.complaints == []


def test_runs_side_by_side(visit: Callable[..., Visit]) -> None:
    opened = visit("#view=plots&run=*")
    assert opened.page.get_by_label("Run").input_value() == "*"
    text = opened.page.locator("main").inner_text()
    assert "direct \u00b7 first" in text
    assert "direct \u00b7 second" in text
    assert "by layer (lens): direct" in text
    figure = opened.page.locator("figure").filter(has_text="by layer (lens): direct").first
    assert figure.locator(".legend li").all_inner_texts() == ["first", "second"]
    # The grey bars behind slots are one run's right answers, so no plot of several runs has them.
    assert "Which slot is read" not in text
    assert opened.complaints == []


def test_by_keyboard(visit: Callable[..., Visit]) -> None:
    opened = visit()
    opened.page.keyboard.press("Tab")
    assert opened.page.evaluate("document.activeElement.id") == "skip"
    opened.page.keyboard.press("Tab")
    opened.page.keyboard.press("Enter")
    assert opened.page.evaluate("document.documentElement.dataset.theme") == "light"
    for _ in range(3):
        opened.page.keyboard.press("Tab")
    opened.page.keyboard.press("Enter")
    assert opened.page.locator("h1").inner_text() == "Plots"
    assert opened.page.evaluate("document.activeElement.tagName") == "H1"
    assert opened.page.locator("[aria-current=page]").inner_text() == "Plots"


def test_every_control_has_a_name(visit: Callable[..., Visit]) -> None:
    opened = visit()
    for address in VIEWS:
        opened.page.evaluate("address => { location.hash = address; }", address)
        opened.page.wait_for_timeout(50)
        unnamed = opened.page.evaluate(
            "() => [...document.querySelectorAll('button, select, input, summary, [role=img]')].filter(one => "
            "!(one.textContent.trim() && one.localName !== 'select' || one.getAttribute('aria-label')"
            " || one.labels?.[0]?.textContent)).map(one => one.outerHTML.slice(0, 200))"
        )
        assert unnamed == [], address
    assert opened.page.locator("select").count() >= 6


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser: Any, report: Path, scheme: str) -> None:
    """With axe-core where somebody has it: THINKGAP_AXE names its axe.min.js."""
    script = os.environ.get("THINKGAP_AXE", "")
    if not script:
        pytest.skip("set THINKGAP_AXE to axe.min.js of the npm package axe-core")
    context = browser.new_context(offline=True, color_scheme=scheme, bypass_csp=True)
    for address in (*VIEWS, "#item=secret_set|q0", "#view=plots&run=probes"):
        page = Visit(context.new_page()).open(report, address).page
        page.evaluate("document.querySelectorAll('details.verdict').forEach(one => { one.open = true; })")
        page.evaluate(Path(script).read_text(encoding="utf-8"))
        found = page.evaluate("axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'best-practice']})")
        assert [(one["id"], re.sub(r"\s+", " ", one["nodes"][0]["html"])[:200]) for one in found["violations"]] == []
    context.close()
