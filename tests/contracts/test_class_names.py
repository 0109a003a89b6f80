"""A class name means one thing in the whole product."""

from __future__ import annotations

import ast
from collections import defaultdict

from foretell import env

#: Names that may be used more than once, with the reason.
SHARED = {
    "Command": "Django looks for a class of this name in every management command.",
}


def class_files() -> dict[str, list[str]]:
    """The files that define each class name at the top level."""
    found: dict[str, list[str]] = defaultdict(list)
    for application in ("annotator", "evaluation", "foretell"):
        for path in sorted((env.ROOT / application).rglob("*.py")):
            if "migrations" not in path.parts:
                for node in ast.parse(path.read_text()).body:
                    if isinstance(node, ast.ClassDef):
                        found[node.name].append(str(path.relative_to(env.ROOT)))
    return found


def test_every_class_name_is_used_once() -> None:
    found = class_files()
    assert len(found) > 300
    assert {name: files for name, files in found.items() if len(files) > 1 and name not in SHARED} == {}


def test_every_shared_name_is_still_shared() -> None:
    found = class_files()
    assert [name for name in SHARED if len(found[name]) < 2] == []
