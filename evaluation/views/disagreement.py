"""Where disagreement comes from: a page beside the contested items, and the same as CSV."""

from __future__ import annotations

import csv
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotator.core.csv_cells import cell_neutral
from annotator.models import Study
from annotator.selectors.study import study_get_for
from annotator.services.audit import people_viewed
from evaluation.reports.words import number

#: Rows of each table on the page; the CSV has all.
SHOWN = 25
COLUMNS = (
    "by", "name", "ratings", "share_of_disagreement", "share_of_ratings", "relative", "contribution", "without", "reason",
)  # fmt: skip


@login_required
@never_cache
@require_safe
def disagreement(request: HttpRequest, study_pk: int, format: str = "") -> HttpResponse:
    """What items, systems, kinds of follow-up and raters contribute to a low coefficient. ``variable``, ``with`` (a simulator) and
    ``count`` (rehearsal) choose what is looked at."""
    study = study_get_for(user=request.user, pk=study_pk)
    people_viewed(by=request.user, page="disagreement", studies=[study])
    # Here, because it loads NumPy, which few web processes need.
    from evaluation.reports.disagreement import BY, NOBODY, NoSources, disagreement_sources

    asked = {
        name: request.GET.get(name, "").replace("\x00", "")[:200] for name in ("variable", "with", "count")
    }
    made = disagreement_sources(
        study=study,
        variable=asked["variable"],
        simulator=asked["with"],
        rehearsal=asked["count"] == "rehearsal",
    )
    found, why = (None, made.reason) if isinstance(made, NoSources) else (made, "")
    if format == "csv":
        return _csv(study, found)
    tables = [
        {
            "title": BY[by],
            "head": BY[by].removesuffix(" of follow-up").removesuffix("s"),
            "rows": [_row(study, one) for one in sources[:SHOWN]],
            "more": max(0, len(sources) - SHOWN),
        }
        for by, sources in (found.tables.items() if found else ())
    ]
    context = {
        "study": study, "study_tab": "review", "found": found, "tables": tables, "asked": asked, "says": _says(found), "why": why,
        "nobody": why == NOBODY,
        "query": urlencode({name: value for name, value in asked.items() if value}),
    }  # fmt: skip
    return render(request, "evaluation/disagreement.html", context)


def _says(found: Any) -> str:
    """The coefficient in a sentence."""
    if found is None:
        return ""
    who = "rehearsal raters" if found.rehearsal else "people"
    among = f"of {who} with {found.simulator}" if found.simulator else f"among {who}"
    value = found.coefficient
    if not value.defined:
        return f"{found.title} {among} is not defined: {value.reason}."
    counted = f"{value.n:,} {'pairs of labels' if found.simulator else 'ratings that can be compared'}"
    said = f"{found.title} {among} is {number(value.value)} ({counted})."
    return f"{said} It has no shares: {found.undivided}." if found.undivided else said


def _row(study: Study, one: Any) -> dict[str, Any]:
    if one.item is not None:
        url = reverse("admin:study_item", args=[study.pk, one.item])
    else:
        url = f"{reverse('admin:study_contested', args=[study.pk])}?{one.query}"
    without = one.found.without
    return {
        "name": one.name,
        "url": url,
        "n": one.found.n,
        "part": _known(one.found.part, number(one.found.part, "percent")),
        "size": number(one.found.size, "percent"),
        "excess": _known(one.found.excess, f"{one.found.excess:.2f}"),
        "without": number(without.value) if without.defined else f"not defined: {without.reason}",
    }


def _known(value: float, shown: str) -> str:
    """What is shown of a value; a dash where it is undefined, whose reason is in the sentence above the tables."""
    return shown if value == value else "–"


def _csv(study: Study, found: Any) -> HttpResponse:
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-disagreement.csv"'
    writer = csv.writer(response, lineterminator="\n")
    writer.writerow(COLUMNS)
    for by, sources in found.tables.items() if found else ():
        for one in sources:
            group = one.found
            shares = (group.part, group.size, group.excess, group.lost, group.without.value)
            part, size, excess, lost, without = ("" if value != value else value for value in shares)
            reason = group.reason or group.without.reason
            writer.writerow([by, cell_neutral(one.name), group.n, part, size, excess, lost, without, reason])
    return response
