"""The page as one HTML text: template, style, scripts, and the runs' data as escaped JSON.

Its policy lets only its own script and style in, by their hashes, and nothing be requested. Texts of models stand in
the data alone; the scripts put them into the page as text.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.report.collect import Collected
from analysis.report.encode import FIELDS, columns, escaped
from analysis.report.pairs import MOST, compared_pairs
from analysis.report.shapes import Plain, RunData

_ASSETS = Path(__file__).parent / "assets"
SCRIPTS = (
    *("base.js", "data.js", "words.js", "charts.js", "charts_more.js", "overview.js", "tables.js", "plots.js"),
    *("filter.js", "list.js", "text.js", "item.js", "item_parts.js", "compare.js", "main.js"),
)
STYLES = ("page.css", "views.css")
_KINDS = {
    "native": "label readout",
    "responses": "no-thinking study",
    "probes": "linear probes",
}


def page(found: Collected, title: str = "") -> str:
    """The page as HTML, all of it ASCII but for what the template holds.

    Args:
        found: the runs.
        title: of the page; empty makes one of the models and data sets.
    """
    style = "\n".join((_ASSETS / name).read_text(encoding="utf-8") for name in STYLES)
    parts = [(_ASSETS / name).read_text(encoding="utf-8") for name in SCRIPTS]
    script = '"use strict";\n(() => {\n' + "\n".join(parts) + "\n})();\n"
    policy = (
        f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    text = (_ASSETS / "page.html").read_text(encoding="utf-8")
    # The data comes last: a text of a model that looks like a place of the template must not be filled.
    filled = {"policy": policy, "style": style, "script": script, "data": escaped(data(found, title))}
    for name, value in filled.items():
        text = text.replace("{{" + name + "}}", value, 1)
    return text


def data(found: Collected, title: str = "") -> Plain:
    """All that the page shows, as JSON data."""
    runs = found.runs
    rows = pd.concat([run.rows.assign(run=run.name) for run in runs], ignore_index=True)
    places: dict[tuple[str, str, str], int] = {}
    items: list[Plain] = []
    by_content: dict[str, int] = {}
    for run in runs:
        for (dataset, item), own in run.items.items():
            told = {"dataset": dataset, "id": item, **own}
            key = repr(told)
            if key not in by_content:
                by_content[key] = len(items)
                items.append(told)
            places[run.name, dataset, item] = by_content[key]
    images = {digest: asdict(image) for run in runs for digest, image in run.images.items()}
    return {
        "form": 1,
        "title": title or _title(runs),
        "problems": list(found.problems),
        "fields": {name: form for name, form in FIELDS.items() if name in rows.columns},
        "n": len(rows),
        "runs": [_run(run) for run in runs],
        "pairs": compared_pairs(runs),
        "mostPairs": MOST,
        "columns": columns(rows),
        "items": items,
        "itemOf": [[run, dataset, item, place] for (run, dataset, item), place in places.items()],
        "images": images,
    }


def _run(run: RunData) -> Plain:
    return {
        "name": run.name,
        "kind": run.kind,
        "kindName": _KINDS[run.kind],
        "model": run.model,
        "datasets": list(run.datasets),
        "title": run.title,
        "conditions": list(run.conditions),
        "nItems": run.n_items,
        "nRows": run.n_rows,
        "facts": [list(fact) for fact in run.facts],
        "said": run.said,
        "verdicts": [asdict(one) for one in run.verdicts],
        "sheets": list(run.sheets),
        "charts": list(run.charts),
        "notes": list(run.notes),
    }


def _title(runs: tuple[RunData, ...]) -> str:
    models = list(dict.fromkeys(run.model for run in runs))
    datasets = list(dict.fromkeys(one for run in runs for one in run.datasets))
    return f"{_few(models)} on {_few(datasets)}"


def _few(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{', '.join(names[:2])} and {len(names) - 2} more"


def _source(text: str) -> Any:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"
