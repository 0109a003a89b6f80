"""The files that come with Foretell: each in the folder ``gallery`` is a HIT type like any other.

The readers of YAML and JSON Schema are imported when a file is first read: processes that use none start without them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from annotator.hit_types.contract import HitType

GALLERY = Path(__file__).parents[1] / "gallery"


def gallery_types() -> dict[str, Callable[[], HitType]]:
    """Name -> what reads its file, sorted by name."""
    return {path.stem: partial(file_read, path) for path in sorted(GALLERY.glob("*.yaml"))}


def file_read(path: Path) -> HitType:
    """The type of a file; raises ``ImportError`` that names the file and its problems."""
    from annotator.hit_types.declaration.problems import DeclarationRefused
    from annotator.hit_types.declaration.reading import hit_type_read

    try:
        return hit_type_read(path.read_bytes())
    except DeclarationRefused as error:
        raise ImportError(f"{path}: {error}") from None
