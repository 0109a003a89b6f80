"""Participants' requests to delete their data: the queue with its deadlines, carried out or declined with a reason."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone

from annotator.admin.study_pages.frame import OWNER, REVIEWER, render, study_page
from annotator.core.kept_elsewhere import remains_elsewhere
from annotator.core.row_ids import row_id
from annotator.forms.study_pages import DecisionForm
from annotator.models import DataRequest, Study
from annotator.selectors.study import study_get_for
from annotator.selectors.user import user_of
from annotator.services.erasure import data_request_carry_out, data_request_decline

SHOWN = 200


@study_page(REVIEWER, methods=("GET", "HEAD", "POST"), people="deletion requests")
def data_requests(request: HttpRequest, study: Study) -> HttpResponse:
    """List the requests, the most urgent first; let an owner decide on one."""
    if request.method == "POST":
        study_get_for(user=request.user, pk=study.pk, role=OWNER)
        _decide(request, study)
        return redirect("admin:study_data_requests", study.pk)
    found = study.data_requests.select_related("rater", "decided_by")
    waiting = found.filter(state=DataRequest.State.OPEN).order_by("due_at")[:SHOWN]
    return render(
        request, study, "data_requests", tab="participants", title=f"Deletion requests of {study.title}",
        waiting=[
            {
                "request": one, "overdue": one.due_at < timezone.now(), "form": DecisionForm(auto_id=f"id_{one.pk}_%s"),
                "remains": remains_elsewhere(study=study.pk, rater=one.rater_id) if one.rater_id else [],
            }
            for one in waiting
        ],
        decided=found.exclude(state=DataRequest.State.OPEN).order_by("-decided_at")[:SHOWN],
        deletes=study.erasure_policy == Study.ErasurePolicy.DELETE,
    )  # fmt: skip


def _decide(request: HttpRequest, study: Study) -> None:
    one = get_object_or_404(study.data_requests, pk=row_id(request.POST.get("request")))
    form = DecisionForm(request.POST)
    if not form.is_valid():
        messages.error(request, " ".join(str(error) for errors in form.errors.values() for error in errors))
        return
    note, by = form.cleaned_data["note"], user_of(request)
    try:
        if "decline" in request.POST:
            data_request_decline(request=one, by=by, note=note)
            messages.success(request, "Request declined. The participant can read your reason on their page.")
        elif not form.cleaned_data["sure"]:
            messages.error(request, "Nothing was removed. Tick the box to confirm: it can't be undone.")
        else:
            remains = data_request_carry_out(request=one, by=by, note=note)
            messages.success(request, "Their data has been removed, and the participant has been told.")
            for text in remains:
                messages.warning(request, text)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
