"""Finds the HIT types: every folder of this package that contains a ``hit_type.py``."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path

import annotator.hit_types
from annotator.hit_types.base import HitType


@cache
def hit_types() -> dict[str, HitType]:
    """All HIT types by name, sorted by name.

    >>> "simulation" in hit_types()
    True
    """
    found: dict[str, HitType] = {}
    # The package's path, not this file's folder: a type may also be outside the product's own tree.
    folders = [folder for root in annotator.hit_types.__path__ for folder in Path(root).iterdir()]
    for folder in sorted(folders, key=lambda folder: folder.name):
        if not (folder / "hit_type.py").is_file():
            continue
        module = importlib.import_module(f"annotator.hit_types.{folder.name}.hit_type")
        types = [
            value
            for value in vars(module).values()
            if isinstance(value, type) and issubclass(value, HitType) and value.__module__ == module.__name__
        ]
        if len(types) != 1:
            raise ImportError(f"{folder / 'hit_type.py'} must define exactly one HitType, found {len(types)}")
        kind = types[0]
        if kind.__dict__.get("name") in found:
            raise ImportError(f"{folder / 'hit_type.py'}: there are two HIT types named {kind.name!r}")
        kind.folder = folder
        if kind.name != folder.name:
            raise ImportError(
                f"{folder / 'hit_type.py'}: name {kind.name!r} differs from its folder {folder.name!r}"
            )
        found[kind.name] = kind()
    return found


def hit_type_get(name: str) -> HitType:
    """The HIT type with that name; raises ``KeyError`` that lists the known names."""
    try:
        return hit_types()[name]
    except KeyError:
        raise KeyError(f"no HIT type {name!r}; expected one of: {', '.join(hit_types())}") from None
