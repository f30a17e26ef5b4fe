"""The notebooks run on the small runs beside them and still say what is stored in them."""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

from analysis.style import Shown
from tests.conftest import ROOT

FOLDER = ROOT / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def code_cells(file: Path) -> list[dict[str, Any]]:
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def stored(cell: dict[str, Any]) -> tuple[str, str]:
    """Printed text, and the value of the last line."""
    printed = "".join("".join(one["text"]) for one in cell["outputs"] if one["output_type"] == "stream")
    value = "".join("".join(one["data"]["text/plain"]) for one in cell["outputs"] if "data" in one)
    return printed, value


def executed(source: str, names: dict[str, Any]) -> tuple[str, Any]:
    """What a cell prints, and its last expression; None without one."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    sink = io.StringIO()
    with contextlib.redirect_stdout(sink):
        exec(compile(tree, "cell", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None
    return sink.getvalue(), value


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_the_cells_give_what_is_stored(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    monkeypatch.delenv("THINKGAP_RUN", raising=False)
    names: dict[str, Any] = {}
    cells = code_cells(file)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    figures = 0
    for cell in cells:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            printed, value = executed("".join(cell["source"]), names)
        assert (printed, "" if value is None else repr(value)) == stored(cell)
        if isinstance(value, Shown):
            figures += 1
            picture = base64.b64decode(cell["outputs"][0]["data"]["image/png"])
            assert picture.startswith(b"\x89PNG")
            assert len(value._repr_png_()) == pytest.approx(len(picture), rel=0.5)
    assert figures


def test_no_notebook_names_a_machine() -> None:
    assert len(NOTEBOOKS) == 2
    for file in [*NOTEBOOKS, *FOLDER.rglob("*.json")]:
        text = file.read_text(encoding="utf-8")
        assert str(Path.home()) not in text.replace("/root-", "")
        assert not re.search(r"(?<![\w.:/])/(?:home|root|tmp|work|Users)/", text)
        assert "Traceback" not in text


@pytest.mark.slow
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_kernel_executes_them(file: Path) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(file, as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(FOLDER)}}).execute()
    assert all(cell["execution_count"] for cell in notebook["cells"] if cell["cell_type"] == "code")
