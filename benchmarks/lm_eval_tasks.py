"""The same work for both sides: items as one JSONL file, and an lm-eval task for each condition and permutation.

lm-eval's convention: with a chat template and no `gen_prefix` it leaves `target_delimiter` out, so Direct would read
`A` where the triggers read ` A`. The blank stands in Direct's choices instead, and both sides read ` A` everywhere.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from thinkgap.types import LETTERS, Condition, Item, Presentation

Rows = list[dict[str, object]]


def write_items(file: Path, items: Sequence[Sequence[Presentation]]) -> None:
    """One line per item, with the orders of its options and where the right one stands in each."""
    lines = []
    for presentations in items:
        item = presentations[0].item
        lines.append(
            {
                "id": item.id,
                "context": item.context,
                "question": item.question,
                "choices": item.choices,
                "gold": item.gold,
                "orders": [presentation.order for presentation in presentations],
                "gold_slots": [presentation.gold_slot for presentation in presentations],
                "names": [presentation.name for presentation in presentations],
            }
        )
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


def read_items(file: Path) -> list[list[Presentation]]:
    """What `write_items` wrote."""
    items = []
    for line in file.read_text().splitlines():
        row = json.loads(line)
        choices = tuple(row["choices"])
        item = Item(row["id"], row["id"], row["question"], choices, row["gold"], "mcq", "test", context=row["context"])
        labels = tuple(LETTERS[: len(choices)])
        items.append(
            [
                Presentation(item, tuple(order), labels, name)
                for order, name in zip(row["orders"], row["names"], strict=True)
            ]
        )
    return items


def write_tasks(folder: Path, data: Path, conditions: Sequence[Condition], presentations: Sequence[str]) -> list[str]:
    """A YAML file for each condition and presentation; their names, condition by condition."""
    names = []
    for condition in conditions:
        for number, presentation in enumerate(presentations):
            name = task_name(condition.name, presentation)
            # JSON is YAML, and leaves no doubt about quoting.
            task = _task(name, data, number, condition.text)
            (folder / f"{name}.yaml").write_text(json.dumps(task, indent=2))
            names.append(name)
    return names


def task_name(condition: str, presentation: str) -> str:
    """Name of a task."""
    return f"thinkgap__{condition}__{presentation}"


def _task(name: str, data: Path, number: int, trigger: str) -> dict[str, object]:
    labels = LETTERS[:4]
    options = [f"{label}. {{{{choices[orders[{number}][{slot}]]}}}}" for slot, label in enumerate(labels)]
    task: dict[str, object] = {
        "task": name,
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(data)}},
        "test_split": "test",
        "output_type": "multiple_choice",
        "doc_to_text": "\n".join(["{% if context %}{{context}}\n{% endif %}{{question}}", *options]),
        "doc_to_target": f"{{{{gold_slots[{number}]}}}}",
        "doc_to_choice": list(labels) if trigger else [f" {label}" for label in labels],
        "target_delimiter": " ",
        "num_fewshot": 0,
        "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
    }
    return task | {"gen_prefix": trigger} if trigger else task
