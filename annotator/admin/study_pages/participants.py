"""Everybody who has joined a study, with the ids and the status that their recruitment panel gave them."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.http import urlencode

from annotator.admin.study_pages.frame import VIEWER, render, study_page
from annotator.core.row_ids import row_id
from annotator.models import Study
from annotator.selectors.panel import LINK_FILTERS, participants_of, statuses_of

PAGE = 50


@study_page(VIEWER, people="participants")
def participants(request: HttpRequest, study: Study) -> HttpResponse:
    """The participants, newest first; ``q`` searches names and ids, ``status`` and ``link`` filter."""
    query = request.GET.get("q", "").strip()[:200]
    status = request.GET.get("status", "")[:40]
    link = request.GET.get("link", "") if request.GET.get("link", "") in LINK_FILTERS else ""
    offset = min(row_id(request.GET.get("from")), 10**9)
    found = participants_of(study, query=query, status=status, link=link)[offset : offset + PAGE + 1]
    rows = list(found)
    kept = {name: one for name, one in (("q", query), ("status", status), ("link", link)) if one}
    return render(
        request, study, "participants", tab="participants", title=f"Participants of {study.title}", rows=rows[:PAGE],
        query=query, chosen_status=status, link=link, statuses=statuses_of(study), links=LINK_FILTERS, filtered=bool(kept),
        following=urlencode(kept | {"from": offset + PAGE}) if len(rows) > PAGE else "",
    )  # fmt: skip
