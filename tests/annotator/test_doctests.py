"""Examples in the docstrings of this room are run; the HIT types' have a test of their own."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import annotator

SKIPPED = ("annotator.hit_types", "annotator.migrations", "annotator.management.commands")
MODULES = [
    module.name
    for module in pkgutil.walk_packages(annotator.__path__, "annotator.")
    if not module.name.startswith(SKIPPED)
]


def test_examples_run() -> None:
    ran = {name: doctest.testmod(importlib.import_module(name)) for name in MODULES}
    assert not {name: result for name, result in ran.items() if result.failed}
    assert sum(result.attempted for result in ran.values()) > 20
