"""What the product installs: each library is used, and the lock files match `pyproject.toml`."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCKS = ("requirements.lock", "requirements-dev.lock", "requirements-sentry.lock")


def named(requirement: str) -> str:
    """The name of a requirement, as package indexes compare names."""
    name = re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(lock: str) -> dict[str, str]:
    pins = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;]+)", (ROOT / lock).read_text(), re.M)
    return {named(name): version for name, version in pins}


def nodes_of(folder: str) -> Iterator[ast.AST]:
    for file in (ROOT / folder).rglob("*.py"):
        yield from ast.walk(ast.parse(file.read_text(encoding="utf-8")))


def imports_in(folder: str) -> Iterator[str]:
    for node in nodes_of(folder):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]


def modules_used() -> Iterator[str]:
    """The modules that the product imports, and those that its settings and commands name as text."""
    for folder in ("annotator", "evaluation", "foretell"):
        yield from imports_in(folder)
    for node in nodes_of("foretell"):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value.split(".")[0]


def test_the_product_uses_every_library_that_it_installs() -> None:
    modules: dict[str, set[str]] = {}
    for module, distributions in packages_distributions().items():
        for distribution in distributions:
            modules.setdefault(named(distribution), set()).add(module)
    used = set(modules_used())
    # Redis's binaries have no wheel for some machines.
    required = [named(one) for one in PROJECT["dependencies"] if named(one) in modules]
    assert len(required) > 25
    assert [name for name in required if not modules[name] & used] == []


def test_what_is_imported_is_declared() -> None:
    """What only another library requires may be gone with that library's next version. Libraries that aren't installed here are
    extras, which the product does without."""
    distributions = packages_distributions()
    product = {named(one) for one in PROJECT["dependencies"]}
    dev = product | {named(one) for one in PROJECT["optional-dependencies"]["dev"]}
    for folders, declared in ((("annotator", "evaluation", "foretell"), product), (("tests", "docs"), dev)):
        modules = {module for folder in folders for module in imports_in(folder)} & set(distributions)
        assert len(modules) > 10
        owners = {module: {named(one) for one in distributions[module]} for module in modules}
        assert {module for module, names in owners.items() if not names & declared} == set()


def test_lock_files_pin_what_the_project_requires() -> None:
    extras = PROJECT["optional-dependencies"]
    product, dev, sentry = map(locked, LOCKS)
    assert {named(one) for one in PROJECT["dependencies"]} <= set(product)
    assert {named(one) for one in extras["dev"]} <= set(dev)
    assert {named(one) for one in extras["sentry"]} <= set(sentry)


def test_development_and_production_install_the_same_versions() -> None:
    product, dev, sentry = map(locked, LOCKS)
    assert {name: dev.get(name) for name in product} == product
    assert {name: sentry.get(name, version) for name, version in product.items()} == product


def reached(requirements: list[str]) -> set[str]:
    """The names of the requirements, and of all that these require on any platform."""
    found: set[str] = set()
    waiting = [(Requirement(one), frozenset({""})) for one in requirements]
    seen = set()
    while waiting:
        one, extras = waiting.pop()
        if (
            one.marker
            and "extra" in str(one.marker)
            and not any(one.marker.evaluate({"extra": e}) for e in extras)
        ):
            continue
        found.add(named(one.name))
        if (one.name, wanted := frozenset({"", *one.extras})) in seen:
            continue
        seen.add((one.name, wanted))
        with suppress(PackageNotFoundError):  # not for this platform
            waiting += [(Requirement(text), wanted) for text in requires(one.name) or []]
    return found


def test_production_installs_only_what_the_product_requires() -> None:
    assert set(locked("requirements.lock")) - reached(PROJECT["dependencies"]) == set()
