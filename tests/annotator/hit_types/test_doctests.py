"""The examples in the docstrings of HIT types run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import annotator.hit_types

MODULES = [
    found.name for found in pkgutil.walk_packages(annotator.hit_types.__path__, "annotator.hit_types.")
]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
