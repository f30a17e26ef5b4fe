"""The list of licences: what a package says, and what is told as copyleft."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT
from thinkgap.licences import Licence, licences, page


@pytest.mark.parametrize(
    ("name", "is_copyleft"),
    [
        ("GPL-3.0-or-later", True),
        ("MPL-2.0 AND MIT", True),
        ("GNU Lesser General Public License v3 (LGPLv3)", True),
        ("Mozilla Public License 2.0 (MPL 2.0)", True),
        ("Apache-2.0", False),
        ("MIT", False),
        ("Python Software Foundation License", False),
        ("", False),
    ],
)
def test_copyleft_is_told_by_name(name: str, is_copyleft: bool) -> None:
    assert Licence("p", "1", name).is_copyleft is is_copyleft


def test_what_packages_say(tmp_path: Path) -> None:
    file = tmp_path / "constraints.txt"
    file.write_text("# pins\npytest==0\nno-such-package==1.2 ; sys_platform == 'x'\nhypothesis==0\n", encoding="utf-8")
    found = {one.package: one for one in licences(file)}
    assert list(found) == ["hypothesis", "no-such-package", "pytest"]
    assert found["pytest"].name == "MIT"
    assert (found["no-such-package"].version, found["no-such-package"].name) == ("1.2", "not installed here")
    assert "Copyleft, or with a part that is: hypothesis." in page(file)


def test_the_page_lists_what_is_needed() -> None:
    text = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    for name in ("torch", "transformers", "hydra-core", "krippendorff"):
        assert f"| {name} |" in text
