"""The page as a file: what models wrote can only be text, and nothing is requested."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import get_args

import pytest

from analysis.annotation.page import COLUMNS, page
from analysis.annotation.rubric import CHOICES, RELEVANCE
from analysis.annotation.sample import draw, read_pool
from tests.analysis.annotation_runs import HOSTILE, ordinary_run
from tests.conftest import ROOT
from thinkgap.spreadsheet import guarded, unguarded
from thinkgap.types import TraceLabel


class Elements(HTMLParser):
    """Elements of a page with their attributes, and the text of each script and style."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {"script": [], "style": []}
        self._within = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._within = tag
        if tag in self.texts:
            self.texts[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        self._within = ""

    def handle_data(self, data: str) -> None:
        if self._within in self.texts:
            self.texts[self._within][-1] += data


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    return page(draw(read_pool([ordinary_run(tmp_path_factory.mktemp("page") / "run")]), 15, 0))


def test_hostile_texts_come_back_as_they_were(text: str) -> None:
    elements = Elements(text)
    assert len(elements.texts["script"]) == 2
    data = json.loads(elements.texts["script"][0])
    # Traces are normalised before they are stored, problems are shown as they came.
    assert {item["problem"] for item in data["items"]} >= set(HOSTILE)
    assert {item["trace"] for item in data["items"]} >= {HOSTILE[0], HOSTILE[1], HOSTILE[3], ""}
    assert {tuple(item) for item in data["items"]} == {("id", "problem", "trace")}
    assert not {"img", "b", "iframe", "link", "object"} & {tag for tag, _ in elements.found}


def test_the_sample_is_harmless_wherever_it_stands(text: str) -> None:
    block = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert block is not None
    assert block[1].isascii()
    assert not set("<>&\n") & set(block[1])
    assert block[1].endswith("}")


def test_only_its_own_script_and_style_may_run(text: str) -> None:
    elements = Elements(text)
    policy = next(one["content"] for tag, one in elements.found if one.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None

    def source(part: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()}'"

    rules = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert rules == {
        "default-src": "'none'",
        "script-src": source(elements.texts["script"][1]),
        "style-src": source(elements.texts["style"][0]),
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
    }


def test_it_stands_alone(text: str) -> None:
    for tag, attributes in Elements(text).found:
        assert not {"src", "action", "style", "srcset"} & set(attributes), tag
        assert not [name for name in attributes if name.startswith("on")], tag
        assert (attributes.get("href") or "#").startswith("#"), tag
    assert "http://" not in text
    assert "https://" not in text
    for name in ("page.js", "page_data.js"):
        script = (ROOT / "analysis" / "annotation" / name).read_text(encoding="utf-8")
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|fetch\(|XMLHttp|import\(", script
        )
    assert "{{" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)


def test_every_label_and_degree_is_offered_under_its_own_key() -> None:
    assert tuple(one.label for one in CHOICES) == get_args(TraceLabel)
    keys = [one.key for one in CHOICES]
    assert len({*keys, "u", "n", "z", "?", "1", "2", "3", "4", "5"}) == len(keys) + 9
    assert len(RELEVANCE) == 5
    assert COLUMNS == ("id", "annotator", "label", "relevance", "note", "seconds", "sample")


@pytest.mark.parametrize(
    ("plain", "kept"), [("=1+1", "'=1+1"), ("-", "'-"), ("@x", "'@x"), ("it's", "it's"), ("'x", "'x"), ("", "")]
)
def test_no_formula_for_spreadsheets(plain: str, kept: str) -> None:
    assert guarded(plain) == kept
    assert unguarded(kept) == plain
