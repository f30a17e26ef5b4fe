"""Imports go one way: a file may import its own layer and the layers before it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.conftest import ROOT

LAYERS = (
    "thinkgap.errors",
    "thinkgap.printable",
    "thinkgap.spreadsheet",
    "thinkgap.home",
    "thinkgap.hub",
    "thinkgap.licences",
    "thinkgap.cli_several",
    "thinkgap.cli_launchers",
    "thinkgap.cli_targets",
    "thinkgap.cli_mappings",
    "thinkgap.cli",
    "thinkgap.types",
    "thinkgap.presentation_names",
    "thinkgap.schema",
    "thinkgap.parallel",
    "thinkgap.latex",
    "thinkgap.responses",
    "thinkgap.metrics",
    "thinkgap.demo.world",
    "thinkgap.data",
    "thinkgap.importers",
    "thinkgap.prompts",
    "thinkgap.backends",
    "thinkgap.scoring",
    "thinkgap.planning",
    "thinkgap.store",
    "thinkgap.golden",
    "thinkgap.readouts",
    "thinkgap.nothinking",
    "thinkgap.frames",
    "thinkgap.tracking",
    "thinkgap.encoders",
    "thinkgap.backends.served",
    "thinkgap.judging",
    "thinkgap.evaluation",
    "thinkgap.verify",
    "thinkgap.demo",
    "thinkgap.responses.__main__",
    "thinkgap.config_page",
    "probes",
    "analysis",
    "benchmarks",
)
FOLDERS = ("src/thinkgap", "probes", "analysis", "benchmarks")
FILES = sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))


def module_of(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part not in ("src", "__init__"))


def layer_of(module: str) -> int | None:
    # The narrowest layer counts: the command line of a package may use what comes after the package.
    found = [layer for layer in LAYERS if module == layer or module.startswith(layer + ".")]
    return LAYERS.index(max(found, key=len)) if found else None


def imported(file: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


@pytest.mark.parametrize("file", FILES, ids=module_of)
def test_imports_go_one_way(file: Path) -> None:
    module = module_of(file)
    own = layer_of(module)
    if module == "thinkgap":
        assert not [name for name in imported(file) if name.startswith("thinkgap")]
        return
    assert own is not None, f"{module} is in no layer: add it to LAYERS"
    later = {name for name in imported(file) if (layer := layer_of(name)) is not None and layer > own}
    assert not later, f"{module} may not import {later}"


@pytest.mark.parametrize("file", FILES, ids=module_of)
def test_files_say_what_they_are_for_and_stay_short(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), f"{file.name} has no docstring"
    exempt = {"schema.py", "hf.py", "types.py"}
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 250 or file.name in exempt


@pytest.mark.parametrize("entry", ["evaluate.py", "train.py"])
def test_entry_points_are_short(entry: str) -> None:
    assert len((ROOT / entry).read_text(encoding="utf-8").splitlines()) < 100
