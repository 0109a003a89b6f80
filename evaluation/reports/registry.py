"""Finds the sections of a report: every module in ``sections``, ``tables``, ``figures`` and ``across``.

Each table and figure of a paper is one function in its own file, named after its number (``tables/p1_table3.py``) and
marked with ``@section``, so that adding one changes no list.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from evaluation.reports.content import Section

if TYPE_CHECKING:
    from annotator.hit_types.base import HitType
    from evaluation.reports.across_studies import Across
    from evaluation.reports.context import Context

PACKAGES = ("sections", "tables", "figures", "across")
Build = Callable[["Context"], Section | None]
BuildAcross = Callable[["Across"], Section | None]


@dataclass(frozen=True)
class Part:
    """A registered section. ``measure``: only for HIT types that declare it; empty: for every type."""

    name: str
    order: int
    title: str
    measure: str
    build: Build

    def serves(self, hit_type: HitType) -> bool:
        return not self.measure or self.measure in hit_type.measures


_parts: dict[str, Part] = {}


def section(*, order: int, title: str, measure: str = "") -> Callable[[Build], Build]:
    """Register a function that builds a section, or returns None if the study has nothing for it.

    Sections appear by ``order``. ``measure`` is what a HIT type must measure (``HitType.measures``) to have the
    section. ``title`` is shown as progress while it is computed.
    """

    def register(build: Build) -> Build:
        name = build.__module__.rpartition(".")[2]
        if name in _parts and _parts[name].build.__module__ != build.__module__:
            raise ValueError(f"two report sections are named {name}")
        _parts[name] = Part(name, order, title, measure, build)
        return build

    return register


@dataclass(frozen=True)
class PartAcross:
    """A registered section of reports across studies; if it exists, the section ``replaces`` is not merged."""

    name: str
    order: int
    title: str
    build: BuildAcross
    replaces: str = ""


_across: dict[str, PartAcross] = {}


def section_across(*, order: int, title: str, replaces: str = "") -> Callable[[BuildAcross], BuildAcross]:
    """Register a function that builds a section from several studies, or returns None if they have nothing for it."""

    def register(build: BuildAcross) -> BuildAcross:
        name = build.__module__.rpartition(".")[2]
        _across[name] = PartAcross(name, order, title, build, replaces)
        return build

    return register


def parts_across() -> tuple[PartAcross, ...]:
    """All sections that need several studies, in order."""
    parts()
    return tuple(sorted(_across.values(), key=lambda part: (part.order, part.name)))


@cache
def parts() -> tuple[Part, ...]:
    """All sections, in order."""
    import evaluation.reports as root

    for package in PACKAGES:
        base = importlib.import_module(f"{root.__name__}.{package}")
        for module in pkgutil.iter_modules(base.__path__):
            importlib.import_module(f"{base.__name__}.{module.name}")
    return tuple(sorted(_parts.values(), key=lambda part: (part.order, part.name)))
