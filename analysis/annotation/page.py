"""The page on which people label: one HTML file that works without a network, and the same sample as a CSV sheet.

Texts of models stand in the page as escaped JSON and are shown as plain text only; its policy lets no other script run
and nothing be requested. Knows a sample and the rubric, no responses.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
from pathlib import Path

import pandas as pd

from analysis.annotation.rubric import CHOICES, EMPTY_RELEVANCE, RELEVANCE, RULES
from analysis.annotation.sample import Sample
from thinkgap.nothinking.levels import EMPTY
from thinkgap.spreadsheet import guarded

COLUMNS = ("id", "annotator", "label", "relevance", "note", "seconds", "sample")
"""Of an annotator's file, which the page exports and `annotation.read` reads."""

_HERE = Path(__file__).parent
_SCRIPTS = ("page_data.js", "page.js")


def page(sample: Sample) -> str:
    """The page as HTML. It holds ids, problems and traces, and nothing else of a response."""
    style = (_HERE / "page.css").read_text(encoding="utf-8")
    script = "\n".join((_HERE / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    policy = (
        f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'"
    )
    text = (_HERE / "page.html").read_text(encoding="utf-8")
    # The sample comes last: a text of a model that looks like a place of the template must not be filled.
    for name, value in (("policy", policy), ("style", style), ("script", script), ("sample", _data(sample))):
        text = text.replace("{{" + name + "}}", value, 1)
    return text


def sheet_csv(sample: Sample) -> bytes:
    """The sample as a CSV sheet that can be filled in instead of the page, in UTF-8 with the mark that Excel needs."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\r\n")
    writer.writerow([*COLUMNS, "problem", "trace"])
    for row in _shown(sample.rows):
        filled = (EMPTY, EMPTY_RELEVANCE) if not row["trace"] else ("", "")
        writer.writerow([row["id"], "", *filled, "", "", sample.digest, guarded(row["problem"]), guarded(row["trace"])])
    return sink.getvalue().encode("utf-8-sig")


def _data(sample: Sample) -> str:
    """All that the page needs, as JSON that may stand in an HTML file: no `<`, and nothing that is not ASCII."""
    data = {
        "sample": sample.digest,
        "columns": COLUMNS,
        "empty": {"label": EMPTY, "relevance": EMPTY_RELEVANCE},
        "choices": [{"label": one.label, "key": one.key, "title": one.title, "text": one.text} for one in CHOICES],
        "relevance": RELEVANCE,
        "rules": RULES,
        "items": _shown(sample.rows),
    }
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _shown(rows: pd.DataFrame) -> list[dict[str, str]]:
    return [
        {"id": one, "problem": problem, "trace": "" if empty else trace}
        for one, problem, trace, empty in zip(rows["id"], rows["problem"], rows["trace"], rows["empty"], strict=True)
    ]


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"
