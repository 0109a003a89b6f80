"""Sliders and models' scores have a thousand distinct numbers: neither the command's statistics nor a report need gigabytes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from django.core.management import call_command

from annotator.models import Study
from evaluation.agreement import Ratings, summarize
from tests.evaluation.agreement.tables import LEVELS
from tests.evaluation.reports.studies import cells_of, computed

NUMBERS = 1_000
#: A table of labels by labels has 8 MB; one of labels by labels by labels would have 8 GB.
MOST_MEGABYTES = 150


@contextmanager
def at_most(megabytes: float) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()
    assert peak < megabytes


def rows() -> list[tuple[str, str, str]]:
    """Two raters; the first gives every number once, the second one that is near to it."""
    rng = np.random.default_rng(1)
    near = np.clip(np.arange(NUMBERS) + rng.integers(-30, 31, NUMBERS), 0, NUMBERS - 1)
    return [
        (rater, f"u{u}", str(v))
        for rater, given in (("a", range(NUMBERS)), ("b", near))
        for u, v in enumerate(given)
    ]


@pytest.mark.parametrize("level", LEVELS)
def test_agreement_on_a_thousand_numbers(level: str) -> None:
    labels = [str(number) for number in range(NUMBERS)]
    table = Ratings.from_rows(rows(), labels=labels, level=level)  # type: ignore[arg-type]
    with at_most(MOST_MEGABYTES):
        found = summarize(table, rng=np.random.default_rng(0), replicates=20)
    assert found.everyone.krippendorff_alpha.n == 2 * NUMBERS
    assert ("quadratic" in found.kappa) == (level != "nominal")


@pytest.mark.django_db
def test_a_report_on_a_thousand_numbers(tmp_path: Path) -> None:
    file = tmp_path / "scores.csv"
    file.write_text("\n".join(["rater,item,score", *map(",".join, rows())]))
    call_command(
        "import_judgments", "scores", str(file), "--create", "--hit-type", "external_labels",
        "--item", "item", "--rater", "rater", "--value", "score", "--level", "score=interval",
    )  # fmt: skip
    study = Study.objects.get(slug="scores")
    with at_most(MOST_MEGABYTES):
        content = computed(study, replicates=100).content
    found = cells_of(content, "agreement-score")[
        "Cohen’s κ with quadratic weights, imported raters with each other", "All labels Value"
    ]
    assert found["value"] == pytest.approx(1.0, abs=0.01)
