"""`python -m thinkgap.licences > docs/licences.md`: the licence of every pinned package, as its own metadata says.

Copyleft is told by name; what that means for a use of thinkgap is for its user to judge. No licence text is read.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageMetadata, PackageNotFoundError, metadata
from pathlib import Path

CONSTRAINTS = Path(__file__).resolve().parents[2] / "constraints.txt"
_COPYLEFT = re.compile(
    r"\b(?:[AL]?GPL|[AL]?GPLv\d|GNU (?:Affero |Lesser |Library )?General Public|MPL|Mozilla Public|EPL|Eclipse Public|"
    r"EUPL|CDDL|CeCILL|OSL|CC[- ]BY[- ]SA)",
    re.IGNORECASE,
)
_LONGEST = 90
"""Some packages put the whole text where the name belongs."""
_CLASSIFIER = "License :: OSI Approved :: "


@dataclass(frozen=True)
class Licence:
    """What one package says."""

    package: str
    version: str
    name: str
    """Empty where it says nothing."""

    @property
    def is_copyleft(self) -> bool:
        """Whether the name is that of a licence that asks for the same licence, of the file or of the whole."""
        return _COPYLEFT.search(self.name) is not None


def licences(constraints: Path = CONSTRAINTS) -> Iterator[Licence]:
    """Licences of the pinned packages in the order of their names; one that is not installed has none.

    Args:
        constraints: file of `NAME==VERSION` lines.
    """
    for line in sorted(constraints.read_text(encoding="utf-8").splitlines(), key=str.lower):
        name, _, version = line.partition("#")[0].strip().partition("==")
        if not version:
            continue
        try:
            said = metadata(name)
        except PackageNotFoundError:
            yield Licence(name, version.partition(";")[0].strip(), "not installed here")
        else:
            yield Licence(name, said["Version"], licence_of(said))


def licence_of(said: PackageMetadata) -> str:
    """The expression, else the classifiers, else the first line of the old field."""
    if "License-Expression" in said:
        return said["License-Expression"]
    found = [one.removeprefix(_CLASSIFIER) for one in said.get_all("Classifier") or [] if one.startswith(_CLASSIFIER)]
    if found:
        return ", ".join(found)
    first = (said.get_all("License") or [""])[0].strip().split("\n")[0]
    return first if len(first) <= _LONGEST else first[:_LONGEST] + "..."


def page(constraints: Path = CONSTRAINTS) -> str:
    """The list as Markdown, copyleft first and marked."""
    found = list(licences(constraints))
    marked = [one for one in found if one.is_copyleft]
    lines = [
        "# Licences of the pinned packages",
        "",
        "Made by `python -m thinkgap.licences` from what the packages of `constraints.txt` say of themselves. thinkgap",
        "itself is Apache-2.0. Models and data sets have licences of their own and are not listed.",
        "",
        f"Copyleft, or with a part that is: {', '.join(one.package for one in marked) or 'none'}.",
        "They are used as they are and nothing of them is copied here.",
        "",
        "| package | version | licence | copyleft |",
        "|:--|:--|:--|:--|",
    ]
    for one in found:
        name = one.name.replace("|", "\\|") or "not said"
        lines.append(f"| {one.package} | {one.version} | {name} | {'yes' if one.is_copyleft else ''} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
