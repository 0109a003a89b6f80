"""A study's rehearsal: start it, watch it, stop it and clear it."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from annotator.admin.study_pages.frame import EDITOR, VIEWER, address_of, render, study_page
from annotator.core.service_errors import errors_add
from annotator.core.words import plural
from annotator.forms.study_pages import RehearsalForm
from annotator.models import Study
from annotator.selectors.rehearsal import rehearsal_progress
from annotator.selectors.study import study_get_for
from annotator.selectors.user import user_of
from annotator.selectors.workload import people_needed_words, study_workload
from annotator.services.rehearsal.places import rehearsal_clear, rehearsal_faults
from annotator.services.rehearsal.run import rehearsal_request, rehearsal_stop


@study_page(VIEWER, methods=("GET", "HEAD", "POST"))
def rehearsal(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the rehearsal and its form; for an editor, start, stop or clear it."""
    form = RehearsalForm()
    if request.method == "POST":
        study_get_for(user=request.user, pk=study.pk, role=EDITOR)
        form = RehearsalForm(request.POST) if "start" in request.POST else form
        if _act(request, study, form):
            return redirect("admin:study_rehearsal", study.pk)
    progress = rehearsal_progress(study)
    return render(
        request, study, "rehearsal", tab="overview", title=f"Rehearsal of {study.title}", form=form, progress=progress,
        faults=rehearsal_faults(study), needed=people_needed_words(study, study_workload(study)), reports_url=address_of("evaluation:reports", study.pk),
        status=400 if form.errors else 200,
    )  # fmt: skip


def _act(request: HttpRequest, study: Study, form: RehearsalForm) -> bool:
    """Carry out the button's action; False if the form has errors."""
    try:
        if "start" in request.POST:
            if not form.is_valid():
                return False
            rehearsal_request(study=study, by=user_of(request), **form.cleaned_data)
            messages.success(request, "The rehearsal has started.")
        elif "stop" in request.POST:
            stopped = rehearsal_stop(study=study)
            messages.success(request, "Rehearsal stopped." if stopped else "No rehearsal was running.")
        elif "clear" in request.POST:
            removed = rehearsal_clear(study=study)
            messages.success(request, f"Rehearsal cleared: {plural(removed, 'judgment')} removed.")
    except ValidationError as error:
        if "start" in request.POST:
            errors_add(form, error)
            return False
        messages.error(request, " ".join(error.messages))
    return True
