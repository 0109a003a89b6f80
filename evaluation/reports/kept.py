"""Figures of large studies that go through all ratings: a job counts them, and pages and the API read what it stored.

Of a small study they are computed in the request. Without NumPy until one is asked for, because few web processes need it.
"""

from __future__ import annotations

import json
from typing import Any

from annotator.core.kept_figures import StudyCount, figures_kept
from annotator.models import Rater, Study
from annotator.selectors.study import study_hit_type, study_is_large


def _sources_count(study_pk: int, variable: str, simulator: str, rehearsal: bool) -> list[tuple[Any, ...]]:
    from evaluation.reports.disagreement import disagreement_sources

    found = disagreement_sources(
        study=Study.objects.get(pk=study_pk), variable=variable, simulator=simulator, rehearsal=rehearsal
    )
    return [(json.dumps(found.to_dict()),)]


_SOURCES = StudyCount("where disagreement comes from", count=_sources_count)


def disagreement_kept(
    *, study: Study, variable: str = "", simulator: str = "", rehearsal: bool = False
) -> tuple[bool, dict[str, Any] | None, str]:
    """(ready, ``disagreement_sources(...).to_dict()`` or None, why there is none); of a large study, not ready until a job has computed it."""
    known = {one.name for one in study_hit_type(study).variables}
    simulators = Rater.objects.filter(kind=Rater.Kind.SIMULATOR, name=simulator)
    # An unknown name means the default one, and mustn't have a job of its own.
    chosen = variable if variable in known else ""
    beside = simulator if simulator and simulators.exists() else ""
    rows = _rows(_SOURCES, study, [study.pk, chosen, beside, rehearsal])
    if rows is None:
        return False, None, ""
    found = json.loads(rows[0][0])
    return (True, None, found["none_because"]) if "none_because" in found else (True, found, "")


def _rows(counted: StudyCount, study: Study, values: list[Any]) -> list[tuple[Any, ...]] | None:
    if not study_is_large(study):
        return counted.rows(values)
    with figures_kept(study.pk):
        return counted.rows_by_job(values)
