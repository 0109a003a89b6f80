"""Where disagreement comes from: a page beside the contested items, and the same as CSV."""

from __future__ import annotations

import csv
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotator.core.csv_cells import cell_neutral
from annotator.models import Study
from annotator.selectors.study import study_get_for
from annotator.services.audit import people_viewed
from evaluation.reports.kept import disagreement_kept
from evaluation.reports.words import NOBODY, number

#: Rows of each table on the page; the CSV has all that are kept.
SHOWN = 25
#: What the tables are about, and their headings.
BY = {"system": "Systems", "kind": "Kinds of follow-up", "rater": "Raters", "item": "Items"}
COLUMNS = (
    "by", "name", "ratings", "share_of_disagreement", "share_of_ratings", "relative", "contribution", "without", "reason",
)  # fmt: skip


@login_required
@never_cache
@require_safe
def disagreement(request: HttpRequest, study_pk: int, format: str = "") -> HttpResponse:
    """What items, systems, kinds of follow-up and raters contribute to a low coefficient. ``variable``, ``with`` (a simulator) and
    ``count`` (rehearsal) choose what is looked at."""
    study = study_get_for(user=request.user, pk=study_pk, sized=True)
    people_viewed(by=request.user, page="disagreement", studies=[study])
    asked = {
        name: request.GET.get(name, "").replace("\x00", "")[:200] for name in ("variable", "with", "count")
    }
    ready, found, why = disagreement_kept(
        study=study,
        variable=asked["variable"],
        simulator=asked["with"],
        rehearsal=asked["count"] == "rehearsal",
    )
    query = urlencode({name: value for name, value in asked.items() if value})
    if format == "csv" and not ready:  # the page says that it's being computed
        return redirect(f"{reverse('evaluation:disagreement', args=[study.pk])}?{query}")
    if format == "csv":
        return _csv(study, found)
    tables = [
        {
            "title": BY[by],
            "head": BY[by].removesuffix(" of follow-up").removesuffix("s"),
            "rows": [_row(study, row) for row in table["rows"][:SHOWN]],
            "more": max(0, table["all"] - SHOWN),
            "left": max(0, table["all"] - len(table["rows"])),
        }
        for by, table in (found["tables"].items() if found else ())
    ]
    context = {
        "study": study, "study_tab": "review", "ready": ready, "found": found, "tables": tables, "asked": asked, "says": _says(found),
        "query": query, "why": why, "nobody": why == NOBODY,
    }  # fmt: skip
    return render(request, "evaluation/disagreement.html", context)


def _says(found: dict[str, Any] | None) -> str:
    """The coefficient in a sentence."""
    if found is None:
        return ""
    who = "rehearsal raters" if found["rehearsal"] else "people"
    among = f"of {who} with {found['simulator']}" if found["simulator"] else f"among {who}"
    value = found["coefficient"]
    if value["value"] is None:
        return f"{value['title']} {among} is not defined: {value['reason']}."
    counted = f"{value['n']:,} {'pairs of labels' if found['simulator'] else 'ratings that can be compared'}"
    said = f"{value['title']} {among} is {number(value['value'])} ({counted})."
    return f"{said} It has no shares: {found['undivided']}." if found["undivided"] else said


def _row(study: Study, one: dict[str, Any]) -> dict[str, Any]:
    if one["item"] is not None:
        url = reverse("admin:study_item", args=[study.pk, one["item"]])
    else:
        url = f"{reverse('admin:study_contested', args=[study.pk])}?{one['query']}"
    return {
        "name": one["name"],
        "url": url,
        "n": one["ratings"],
        "part": _known(one["share_of_disagreement"], "percent"),
        "size": number(one["share_of_ratings"], "percent"),
        "excess": "–" if one["relative"] is None else f"{one['relative']:.2f}",
        "without": f"not defined: {one['reason']}" if one["without"] is None else number(one["without"]),
    }


def _known(value: float | None, style: str) -> str:
    """What is shown of a value; a dash where it is undefined, whose reason is in the sentence above the tables."""
    return "–" if value is None else number(value, style)


def _csv(study: Study, found: dict[str, Any] | None) -> HttpResponse:
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-disagreement.csv"'
    writer = csv.writer(response, lineterminator="\n")
    writer.writerow(COLUMNS)
    for by, table in found["tables"].items() if found else ():
        for row in table["rows"]:
            writer.writerow([by, cell_neutral(row["name"]), *(row[name] for name in COLUMNS[2:])])
    return response
