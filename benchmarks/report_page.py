"""How long the report page takes for a large run, how large it gets, and how soon a browser can use it.

`python -m benchmarks.report_page [--records 20000] [--layers 30]` makes up a run of that size in a temporary folder,
writes its page, opens it in Chromium where there is one, and prints seconds and megabytes. Loads no model.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from analysis.report.collect import collect
from analysis.report.page import page
from thinkgap.store.atomic import write_parquet, write_text
from thinkgap.store.items import write_items
from thinkgap.store.records import RECORDS_FILE, RecordFacts, to_table, with_facts
from thinkgap.store.side import REPLIES, write_side
from thinkgap.types import Item, Record

K = 4
CONDITIONS = ("direct", "let_me_think")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
LIMIT_MB, LIMIT_SECONDS = 30.0, 60.0
"""What the page promises for 20,000 records of 30 layers."""
_WORDS = ["the", "digit", "number", "green", "left", "upper", "so", "then", "is", "of", "and", "sum", "answer"]


def made_run(folder: Path, n_records: int, n_layers: int, seed: int = 0) -> Path:
    """A run with that many records, all with layers, and replies to a tenth of them."""
    random = np.random.default_rng(seed)
    n_items = n_records // len(CONDITIONS)
    items, records, side = [], [], []
    for number in range(n_items):
        name, gold = f"item/{number:06d}", number % K
        words = " ".join(random.choice(_WORDS, 40))
        choices = tuple(" ".join(random.choice(_WORDS, 5)) + f" {slot}" for slot in range(K))
        items.append(Item(name, name, f"{words}?", choices, gold, "mcq", "test", subject=f"subject {number % 20}"))
        for condition in CONDITIONS:
            records.append(_record(random, name, condition, gold, n_layers))
            if number % 10 == 0:
                side.append(_reply(name, condition, " ".join(random.choice(_WORDS, 120))))
    settings = {"kind": "native", "requests": {"direct": "label", "let_me_think": "rationale"}}
    facts = RecordFacts(CONDITIONS, "made up", "direct", {}, settings)
    write_parquet(folder / RECORDS_FILE, with_facts(to_table(records), facts))
    write_items(folder, {"made_up": items})
    write_side(folder, "replies", side, REPLIES)
    write_text(folder / "manifest.json", json.dumps({"config": {"dataset": {"name": "made_up"}}}))
    return folder


def measured(file: Path) -> dict[str, float] | None:
    """Seconds until the page can be used, to draw the list, to search it and to sort it; None without a browser."""
    names = (os.environ.get("THINKGAP_BROWSER", ""), *BROWSERS)
    program = next((found for name in names if (found := shutil.which(name))), None)
    if program is None:
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program)
        opened = browser.new_page()
        opened.goto(file.as_uri())
        ready = opened.evaluate("performance.getEntriesByName('ready')[0].startTime / 1000")
        found = {"ready": float(ready)}
        for name, address in (
            ("list", "#view=items"),
            ("search", "#view=items&q=green digit"),
            ("sort", "#view=items&sort=question:down"),
            ("compare", "#view=compare"),
        ):
            took = opened.evaluate(
                "address => new Promise(done => { const start = performance.now(); addEventListener('hashchange', () =>"
                " requestAnimationFrame(() => setTimeout(() => done(performance.now() - start))), {once: true});"
                " location.hash = address; })",
                address,
            )
            found[name] = took / 1000
        browser.close()
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints one line per figure; returns 1 if the page is larger or slower than it promises."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report_page", description="Time the report page.")
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--layers", type=int, default=30)
    parser.add_argument("--keep", type=Path, help="also write the page here")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        run = made_run(Path(folder), options.records, options.layers)
        start = time.perf_counter()
        text = page(collect([str(run)]))
        seconds = time.perf_counter() - start
        file = options.keep or Path(folder) / "report.html"
        write_text(file, text)
        size = len(text) / 1e6
        print(f"records {options.records}, layers {options.layers}: {seconds:.1f} s, {size:.1f} MB")
        found = measured(file)
        print("no browser here" if found is None else ", ".join(f"{name} {took:.2f} s" for name, took in found.items()))
    return int(size > LIMIT_MB or seconds > LIMIT_SECONDS)


def _record(random: np.random.Generator, item: str, condition: str, gold: int, n_layers: int) -> Record:
    lens = random.normal(-6, 2, (n_layers, K))
    lens[-1] = np.log(random.dirichlet(np.ones(K)) * 0.9)
    scores = tuple(map(float, lens[-1]))
    slot = int(np.argmax(lens[-1]))
    top = tuple(random.choice(_WORDS, 5).tolist())
    return Record(
        item_id=item,
        presentation="identity",
        condition=condition,
        readout="native",
        group_id=item,
        split="test",
        subject="",
        k=K,
        order=tuple(range(K)),
        labels=tuple("ABCD"),
        gold_slot=gold,
        gold_content=gold,
        pred_slot=slot,
        pred_content=slot,
        correct=slot == gold,
        tied=False,
        label_logprobs=scores,
        label_mass=0.9,
        label_token_ids=((1,), (2,), (3,), (4,)),
        top_token_id=1,
        top_token=top[0],
        top_logprob=-0.1,
        entropy=float(random.random()),
        gold_rank=1,
        reasoning_mass=0.01,
        reasoning_mass_strict=0.01,
        top_ids=(1, 2, 3, 4, 5),
        top_tokens=top,
        top_logprobs=tuple(map(float, -np.sort(random.random(5)))),
        lens_label_logprobs=tuple(tuple(map(float, layer)) for layer in lens),
        lens_label_mass=tuple(map(float, np.exp(lens).sum(1))),
        n_tokens=100,
        n_image_tokens=0,
        prompt_sha256="0" * 64,
    )


def _reply(item: str, condition: str, text: str) -> dict[str, object]:
    told = {"text": f"{text}. The answer is B.", "n_tokens": 100, "finish": "stop", "status": "ok", "rule": "statement"}
    more = {"answer": "B", "permissive": "B", "first_token_id": 1, "first_token": "a", "forced_slot": 0}
    key = {"item_id": item, "presentation": "identity", "condition": condition, "prompt_sha256": "0" * 64}
    return {**key, **told, **more, "forced_difference": 0.0}


if __name__ == "__main__":
    raise SystemExit(main())
