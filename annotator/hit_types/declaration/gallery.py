"""The files that come with Foretell: each in the folder ``gallery`` is a HIT type like any other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from annotator.hit_types.declaration.made import DeclaredHitType
from annotator.hit_types.declaration.problems import DeclarationRefused
from annotator.hit_types.declaration.reading import hit_type_read

GALLERY = Path(__file__).parents[1] / "gallery"


def gallery_types() -> dict[str, Callable[[], DeclaredHitType]]:
    """Name -> what reads its file, sorted by name."""
    return {path.stem: partial(file_read, path) for path in sorted(GALLERY.glob("*.yaml"))}


def file_read(path: Path) -> DeclaredHitType:
    """The type of a file; raises ``ImportError`` that names the file and its problems."""
    try:
        return hit_type_read(path.read_bytes())
    except DeclarationRefused as error:
        raise ImportError(f"{path}: {error}") from None
