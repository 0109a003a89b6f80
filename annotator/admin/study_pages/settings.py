"""A study's settings: one form in sections, each error at its field."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from annotator.admin.study_pages.frame import EDITOR, VIEWER, may, render, study_page
from annotator.core.service_errors import errors_add
from annotator.forms.study import StudyForm
from annotator.models import Study
from annotator.selectors.study import study_get_for
from annotator.selectors.user import user_of
from annotator.services.study import study_update


@study_page(VIEWER, methods=("GET", "HEAD", "POST"))
def settings(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the settings; for an editor, save them, and continue to the launch if that button was pressed."""
    title, editable = study.title, may(request, study, EDITOR) and study.state != Study.State.CLOSED
    form = StudyForm(request.POST or None, instance=study)
    if request.method == "POST":
        study_get_for(user=request.user, pk=study.pk, role=EDITOR)
        if form.is_valid() and _save(request, study, form):
            if "launch" in request.POST:
                return redirect("admin:annotator_study_do", study.pk, "launch")
            return redirect("admin:annotator_study_change", study.pk)
        study.refresh_from_db()
    return render(
        request, study, "settings", tab="settings", title=f"Settings of {title}", form=form, editable=editable,
        status=400 if form.errors else 200,
    )  # fmt: skip


def _save(request: HttpRequest, study: Study, form: StudyForm) -> bool:
    """Save the changes; False if the service refuses them, with its errors at their fields."""
    before = study.snapshot_id
    changes = {name: form.cleaned_data[name] for name in form.changed_data if name in form.cleaned_data}
    try:
        saved = study_update(study=study, by=user_of(request), **changes)
    except ValidationError as error:
        errors_add(form, error)
        return False
    if saved.snapshot and saved.snapshot_id != before and saved.state != Study.State.DRAFT:
        number = saved.snapshot.number
        messages.info(
            request,
            f"Saved as version {number}. Earlier judgments keep the version they were made under.",
        )
    else:
        messages.success(request, "Settings saved." if changes else "There were no changes to save.")
    return True
