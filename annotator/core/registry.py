"""Registries: everything that comes in kinds (HIT types, panels, providers, steps) is found by the name of its file.

A member is one module that defines one class of the contract. Adding the file adds the member; no list names it. An
installed package adds one through an entry point of the registry's group.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from inspect import isabstract
from pathlib import Path
from types import ModuleType
from typing import Generic, TypeVar

Member = TypeVar("Member")


class UnknownMember(KeyError):
    """No member has that name; the message lists those that exist."""

    def __str__(self) -> str:
        return str(self.args[0])


class Registry(Generic[Member]):
    """The members of one contract, by name. Names need no import; a member's module is imported when it's first used.

    ``package`` holds a module for each member: ``email.py``, or a folder with a ``module`` of that name, such as
    ``simulation/hit_type.py``. Modules whose name begins with an underscore are no members. The member is the
    module's only concrete class derived from ``contract``, made without arguments; its ``name`` is the module's.
    ``group`` names the entry points at which installed packages offer further classes. ``more`` finds members that are no
    modules: a function for each name that makes the member.

    >>> from annotator.hit_types.registry import HIT_TYPES
    >>> "simulation" in HIT_TYPES.names()
    True
    """

    def __init__(
        self,
        contract: type[Member],
        *,
        noun: str,
        package: str,
        group: str,
        module: str = "",
        more: Callable[[], Mapping[str, Callable[[], Member]]] = dict,
    ):
        self.contract = contract
        self.noun = noun
        self.package = package
        self.group = group
        self.module = module
        self.more = more
        self._made: dict[str, Member] = {}

    @cached_property
    def _places(self) -> dict[str, str | EntryPoint | Callable[[], Member]]:
        """Where each member is defined: a module's name, an entry point, or a function that makes it."""
        # The package's path, not one folder: a member may also be outside the product's own tree.
        root = importlib.import_module(self.package)
        files = [path for folder in root.__path__ for path in Path(folder).iterdir()]
        places: dict[str, str | EntryPoint | Callable[[], Member]] = {}
        for name, module in sorted(filter(None, map(self._module_of, files))):
            if name in places:
                raise ImportError(f"{self.package}: there are two members named {name!r}")
            places[name] = module
        for point in sorted(entry_points(group=self.group), key=lambda point: point.name):
            if point.name in places:
                raise ImportError(f"{point.value}: there is already a {self.noun} named {point.name!r}")
            places[point.name] = point
        for name, make in self.more().items():
            if name in places:
                raise ImportError(f"there are two {self.noun}s named {name!r}")
            places[name] = make
        return places

    def _module_of(self, path: Path) -> tuple[str, str] | None:
        if path.name.startswith(("_", ".")):
            return None
        if self.module:
            held = (path / f"{self.module}.py").is_file()
            return (path.name, f"{self.package}.{path.name}.{self.module}") if held else None
        return (path.stem, f"{self.package}.{path.stem}") if path.suffix == ".py" else None

    def names(self) -> list[str]:
        """The names of all members, sorted."""
        return sorted(self._places)

    def get(self, name: str) -> Member:
        """The member with that name; raises ``UnknownMember``, a ``KeyError`` that lists the known names."""
        if name in self._made:
            return self._made[name]
        if name not in self._places:
            raise UnknownMember(f"no {self.noun} {name!r}; expected one of: {', '.join(self.names())}")
        place = self._places[name]
        if not isinstance(place, str | EntryPoint):
            member = place()
            if (own := getattr(member, "name", name)) != name:
                raise ImportError(f"the {self.noun} {own!r} must be named {name!r}, as its file is")
            return self._made.setdefault(name, member)
        kind = self._class_in(importlib.import_module(place)) if isinstance(place, str) else place.load()
        own = getattr(kind, "name", name)
        if own != name:
            file = sys.modules[kind.__module__].__file__
            raise ImportError(f"{file}: the {self.noun} {own!r} must be named {name!r}")
        return self._made.setdefault(name, kind())

    def _class_in(self, module: ModuleType) -> type[Member]:
        kinds = [
            value
            for value in vars(module).values()
            if isinstance(value, type)
            and issubclass(value, self.contract)
            and value.__module__ == module.__name__
            and not isabstract(value)
        ]
        if len(kinds) != 1:
            names = ", ".join(kind.__name__ for kind in kinds) or "none"
            raise ImportError(
                f"{module.__file__}: expected exactly one {self.contract.__name__}, found {names}"
            )
        return kinds[0]

    def all(self) -> dict[str, Member]:
        """All members by name, sorted by name. Imports every one."""
        return {name: self.get(name) for name in self.names()}

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[Member]:
        return iter(self.all().values())

    @contextmanager
    def including(self, member: Member) -> Iterator[Member]:
        """Add a member that no file defines, for as long as the block runs. For tests."""
        name = member.name  # type: ignore[attr-defined]
        if name in self:
            raise ValueError(f"there is already a {self.noun} named {name!r}")
        self._places[name] = self.package
        self._made[name] = member
        try:
            yield member
        finally:
            del self._places[name], self._made[name]

    def forget(self) -> None:
        """Look for members again at the next use. For tests that add one."""
        self.__dict__.pop("_places", None)
        self._made.clear()
