"""`docs/configuration.md`, made from the schema: `python -m thinkgap.config_page > docs/configuration.md`.

Reads the source of `thinkgap.schema` for the string under each field; a test requires that the page is up to date.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Iterator
from enum import Enum
from typing import Any, get_origin, get_type_hints

from thinkgap import schema

_INTRO = """# Configuration

Every setting of `evaluate.py`, as `KEY=VALUE` on the command line or in a file under `conf/`. Types are checked while
the configuration is composed: a typo or a wrong type stops the run before anything is loaded.

Made from `src/thinkgap/schema.py` by `python -m thinkgap.config_page > docs/configuration.md`.
"""
_TRAIN = """# Training heads

Settings of `train.py`; it also takes `model`, `dataset`, `trigger`, `prompt`, `trainer`, `logger`, `paths` and the
settings of labels as above.
"""
_DEMO = """# Training the demo model

Settings of `python -m thinkgap.demo.train`; it also takes `trainer`, `logger` and `paths` as above.
"""


def page() -> str:
    """The whole page as Markdown."""
    told: set[Any] = set()
    parts = [(_INTRO, schema.EvaluateConfig), (_TRAIN, schema.TrainConfig), (_DEMO, schema.DemoTrainConfig)]
    return "\n".join(text for intro, root in parts for text in (intro, *_sections(root, told)))


def _sections(root: Any, told: set[Any]) -> list[str]:
    """One section for each dataclass of a tree, of what is not in `told` yet; it is put there."""
    sections = []
    nodes = [(prefix, node) for prefix, node in _nodes(root) if node not in told]
    told |= {node for _, node in nodes}
    for prefix, node in nodes:
        rows = [f"| `{key}` | {kind} | {default} | {text} |" for key, kind, default, text in _settings(prefix, node)]
        # Two commands may take the same setting.
        rows = [row for row in rows if row not in told]
        told |= set(rows)
        if rows:
            title = f"`{prefix}`" if prefix else "Top level"
            about = (inspect.getdoc(node) or "").splitlines()[0]
            sections.append(f"## {title}\n\n{about}\n\n| key | type | default | meaning |\n|---|---|---|---|")
            sections[-1] += "\n" + "\n".join(rows) + "\n"
    return sections


def _nodes(root: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every dataclass in the tree with its dotted prefix, in reading order."""
    yield prefix, root
    for name, kind in get_type_hints(root).items():
        for inner in (kind, *getattr(kind, "__args__", ())):
            if dataclasses.is_dataclass(inner):
                place = f"{prefix}.{name}" if prefix else name
                below = "N" if get_origin(kind) is list else "NAME"
                yield from _nodes(inner, place if inner is kind else f"{place}.{below}")


def _settings(prefix: str, node: Any) -> Iterator[tuple[str, str, str, str]]:
    texts = _field_texts(node)
    for field in dataclasses.fields(node):
        kind = get_type_hints(node)[field.name]
        if dataclasses.is_dataclass(kind):
            continue
        key = f"{prefix}.{field.name}" if prefix else field.name
        yield key, _type_name(kind), _default(field), texts.get(field.name, "").replace("|", r"\|")


def _field_texts(node: Any) -> dict[str, str]:
    """The string literal under each field of a dataclass."""
    (tree,) = ast.parse(inspect.getsource(node)).body
    assert isinstance(tree, ast.ClassDef)
    texts: dict[str, str] = {}
    for field, after in zip(tree.body, tree.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            texts[field.target.id] = " ".join(str(after.value.value).split())
    return texts


def _type_name(kind: Any) -> str:
    if isinstance(kind, type) and issubclass(kind, Enum):
        return " \\| ".join(f"`{member.name}`" for member in kind)
    return str(getattr(kind, "__name__", kind) if isinstance(kind, type) else kind).replace("typing.", "")


def _default(field: Any) -> str:
    if field.default_factory is not dataclasses.MISSING:
        return f"`{field.default_factory()}`"
    if field.default is None:
        return "null"
    if isinstance(field.default, Enum):
        return f"`{field.default.name}`"
    if isinstance(field.default, bool):
        return str(field.default).lower()
    return "required" if field.default == "???" else f"`{field.default!r}`"


if __name__ == "__main__":
    print(page(), end="")
