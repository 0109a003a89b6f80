"""A study whose people took a given time."""

from __future__ import annotations

from annotator.models import Judgment, Study
from tests.factories import make_participation, make_study


def worked(seconds: list[float], *, floor: str = "9.00") -> Study:
    """A study in which each person did one task for 0.10 in this many seconds."""
    study = make_study(items=1, launched=True, pay_per_item="0.10")
    Study.objects.filter(pk=study.pk).update(
        pay_floor_per_hour=floor
    )  # people turned out slower than planned
    study.refresh_from_db()
    for one in seconds:
        Judgment.objects.create(
            study=study, item=study.items.get(), rater=make_participation(study).rater, snapshot=study.snapshot, response={},
            digest="d", source="web", standing="surplus", seconds=one,
        )  # fmt: skip
    return study
