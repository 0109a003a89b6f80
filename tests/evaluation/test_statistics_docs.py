"""The reference of public statistics: every name is documented, and the pages in docs/statistics match the docstrings.

``make test`` runs the examples themselves, with ``--doctest-modules``.
"""

import doctest
import importlib
import importlib.util
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("evaluation.agreement", "evaluation.metrics")
MODULES = [
    "evaluation.core.estimate",
    "evaluation.core.ratings_table",
    "evaluation.planning.synthetic",
    "evaluation.planning.sample_size",
] + [
    f"{package}.{found.name}"
    for package in PACKAGES
    for found in pkgutil.iter_modules(importlib.import_module(package).__path__)
]


def builder():
    spec = importlib.util.spec_from_file_location("build_statistics", ROOT / "docs" / "build_statistics.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_are_examples_to_run():
    counts = [
        len(t.examples) for n in MODULES for t in doctest.DocTestFinder().find(importlib.import_module(n))
    ]
    assert sum(counts) > 60


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_documented_and_exists(package):
    module = importlib.import_module(package)
    for name in module.__all__:
        found = getattr(module, name)
        if inspect.isfunction(found) or inspect.isclass(found):
            text = found.__doc__ or ""
            assert len(text) >= 20, name
            assert not text.startswith(f"{name}("), f"{name} has no docstring of its own"


def test_the_reference_is_built_from_the_docstrings():
    """Each public function and class is on one page, and no page is left over."""
    folder = ROOT / "docs" / "statistics"
    built = builder().build()
    assert {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")} == built, (
        "docs/statistics is out of date: run python docs/build_statistics.py"
    )
    pages = [text for name, text in built.items() if name != "index.md"]
    headings = [line for text in pages for line in text.splitlines() if line.startswith("## ")]
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            found = getattr(module, name)
            if inspect.isfunction(found) or inspect.isclass(found):
                assert headings.count(f"## {name}") == 1, name


def test_signatures_have_their_defaults_and_no_quotes_around_types():
    assert "cluster: str = ''," in builder().build()["files.md"]


def test_the_page_on_metrics_says_how_intervals_are_made() -> None:
    """With the code's numbers, and every kind of interval that the code writes."""
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert page == builder().with_intervals(page), "run python docs/build_statistics.py"
    kinds = set()
    for package in ("core", "agreement", "metrics"):
        for path in (ROOT / "evaluation" / package).glob("*.py"):
            kinds |= set(
                re.findall(r'"(95 % [A-Za-z][\w -]*?)(?=,| over|"| \{)', path.read_text(encoding="utf-8"))
            )
    assert len(kinds) >= 5
    assert not [kind for kind in kinds if kind not in page]


def test_the_statistics_need_neither_django_nor_celery_nor_heavy_libraries_to_import():
    code = (
        "import sys, evaluation.agreement, evaluation.metrics, evaluation.planning.synthetic, evaluation.planning.sample_size; "
        "print(*sorted({'django', 'celery', 'pandas', 'sklearn', 'statsmodels', 'sacrebleu'} & set(sys.modules)))"
    )
    environment = {k: v for k, v in os.environ.items() if k != "DJANGO_SETTINGS_MODULE"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


def test_prose_keeps_stars_and_code_keeps_none_of_it():
    prose = builder().prose
    assert prose("|C*| / |C| and `a * b`") == "|C\\*| / |C| and `a * b`"
    assert prose("single:<rater>") == "single:\\<rater>"
