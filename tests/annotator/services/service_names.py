"""The names of all services."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import annotator.services
import evaluation.services


def services() -> Iterator[str]:
    """Every public function that a module of services defines."""
    for package in (annotator.services, evaluation.services):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(found.name)
            for name, function in inspect.getmembers(module, inspect.isfunction):
                if function.__module__ == module.__name__ and not name.startswith("_"):
                    yield name
