"""The HIT types: every folder of this package that contains a ``hit_type.py``, every file of ``gallery``, and those of installed
packages."""

from __future__ import annotations

from annotator.core.registry import Registry
from annotator.hit_types.base import HitType
from annotator.hit_types.declaration.gallery import gallery_types

HIT_TYPES: Registry[HitType] = Registry(
    HitType,
    noun="HIT type",
    package="annotator.hit_types",
    module="hit_type",
    group="foretell.hit_types",
    more=gallery_types,
)


def hit_types() -> dict[str, HitType]:
    """All HIT types by name, sorted by name.

    >>> "simulation" in hit_types()
    True
    """
    return HIT_TYPES.all()


def hit_type_get(name: str) -> HitType:
    """The HIT type with that name; raises ``KeyError`` that lists the known names."""
    return HIT_TYPES.get(name)
