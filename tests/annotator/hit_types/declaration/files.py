"""Files of HIT types that the tests of declarations share."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from annotator.hit_types.declaration.gallery import GALLERY
from annotator.hit_types.declaration.made import DeclaredHitType
from annotator.hit_types.declaration.reading import hit_type_read

TWIN_FILE = Path(__file__).with_name("simulation.yaml")
KINDS_FILE = Path(__file__).with_name("every_kind.yaml")
MORE_FILE = Path(__file__).with_name("more_kinds.yaml")
PICTURES_FILE = Path(__file__).with_name("pictures.yaml")
ARMS_FILE = Path(__file__).with_name("arms.yaml")
RULES_FILE = Path(__file__).with_name("own_rules.yaml")
GALLERY_FILES = sorted(GALLERY.glob("*.yaml"))


@cache
def twin() -> DeclaredHitType:
    """The type ``simulation`` as a file."""
    return hit_type_read(TWIN_FILE.read_bytes())


@cache
def every_kind() -> DeclaredHitType:
    """A type with every kind of column and question."""
    return hit_type_read(KINDS_FILE.read_bytes())


@cache
def more_kinds() -> DeclaredHitType:
    """A type with every kind of question that compares, weighs or marks."""
    return hit_type_read(MORE_FILE.read_bytes())


@cache
def pictures() -> DeclaredHitType:
    """A type whose rows show images."""
    return hit_type_read(PICTURES_FILE.read_bytes())


@cache
def own_rules() -> DeclaredHitType:
    """A type whose questions have messages of their own."""
    return hit_type_read(RULES_FILE.read_bytes())
