"""Documentation in step with the code: the configuration page, links, commands that README and docs name."""

from __future__ import annotations

import re
import shlex

import pytest

from tests.conftest import ROOT
from thinkgap.cli import prepare_arguments
from thinkgap.config_page import page
from thinkgap.schema import DemoTrainConfig, EvaluateConfig, TrainConfig

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
LINES = [
    line.strip().split("  ")[0]
    for file in [*PAGES, *(ROOT / "conf").glob("*.yaml")]
    for line in file.read_text(encoding="utf-8").splitlines()
]
COMMANDS = sorted({line for line in LINES if line.startswith("python evaluate.py")})
TRAIN_COMMANDS = sorted({line for line in LINES if line.startswith("python train.py")})
DEMO_COMMANDS = sorted({line for line in LINES if line.startswith("python -m thinkgap.demo.train")})


def test_the_configuration_page_is_up_to_date() -> None:
    current = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert current == page(), "run: python -m thinkgap.config_page > docs/configuration.md"


def test_every_setting_is_explained() -> None:
    rows = [line for line in page().splitlines() if line.startswith("| `")]
    assert len(rows) > 50
    assert len(set(rows)) == len(rows)
    assert any(row.startswith("| `demo.phases.N.lessons`") for row in rows)
    for row in rows:
        assert row.rstrip("| ").count("|") >= 4, f"no text under this field: {row}"


@pytest.mark.parametrize("file", PAGES, ids=lambda file: file.name)
def test_links_lead_somewhere(file) -> None:
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", file.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (file.parent / target).exists(), f"{file.name} links to {target}"


@pytest.mark.parametrize("command", DEMO_COMMANDS)
def test_commands_of_the_demo_training_are_accepted(command: str) -> None:
    prepare_arguments(shlex.split(command.split("#")[0])[3:], DemoTrainConfig)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_in_the_documentation_are_accepted(command: str) -> None:
    prepare_arguments(shlex.split(command.split("#")[0])[2:], EvaluateConfig)


@pytest.mark.parametrize("command", TRAIN_COMMANDS)
def test_commands_of_the_training_of_heads_are_accepted(command: str) -> None:
    prepare_arguments(shlex.split(command.split("#")[0])[2:], TrainConfig)
