"""A study's texts in other languages: what is missing in each, and a form for one."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from annotator.admin.study_pages.frame import EDITOR, VIEWER, may, render, study_page
from annotator.core.service_errors import errors_add
from annotator.forms.translations import QUESTIONS, TranslationForm
from annotator.models import Study
from annotator.selectors.study import study_get_for
from annotator.selectors.study_texts import language_states, original_texts, texts_of_type
from annotator.selectors.user import user_of
from annotator.services.study import study_update
from annotator.services.study_translations import translation_confirm


@study_page(VIEWER)
def languages(request: HttpRequest, study: Study) -> HttpResponse:
    """The languages of the annotators' pages, and what the study lacks in each."""
    return render(
        request, study, "languages", tab="settings", title=f"Languages of {study.title}",
        states=language_states(study), of_type=texts_of_type(study), editable=_editable(request, study),
    )  # fmt: skip


@study_page(VIEWER, methods=("GET", "HEAD", "POST"))
def translation(request: HttpRequest, study: Study, code: str) -> HttpResponse:
    """The study's texts in one language, beside the originals; an editor can change them."""
    state = next((one for one in language_states(study) if one.language.code == code), None)
    if state is None:
        raise Http404("not a language for translations of this study")
    own = original_texts(study)
    form = TranslationForm(
        request.POST or None, own=own, texts=state.texts, rtl=state.language.rtl, outdated=state.outdated
    )
    if request.method == "POST":
        study_get_for(user=request.user, pk=study.pk, role=EDITOR)
        if form.is_valid() and _save(request, study, code, form):
            return redirect("admin:study_languages", study.pk)
        study.refresh_from_db()
    return render(
        request, study, "translation", tab="settings", title=f"{state.language.name}: {study.title}", form=form, state=state,
        fields=[(form[name], _original(name, own[name])) for name in form.fields if name in own],
        editable=_editable(request, study), status=400 if form.errors else 200,
    )  # fmt: skip


def _editable(request: HttpRequest, study: Study) -> bool:
    return may(request, study, EDITOR) and study.state != Study.State.CLOSED


def _original(name: str, value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) if name in QUESTIONS else str(value)


def _save(request: HttpRequest, study: Study, code: str, form: TranslationForm) -> bool:
    """Store the texts of one language; False if the service refuses them, with its errors on the form."""
    translations = {name: texts for name, texts in study.translations.items() if name != code}
    if texts := form.texts():
        translations[code] = texts
    before = study.snapshot_id
    try:
        saved = study_update(study=study, by=user_of(request), translations=translations)
        if form.cleaned_data.get("compared"):
            translation_confirm(study=study, code=code, by=user_of(request))
    except ValidationError as error:
        errors_add(form, error)
        return False
    if saved.snapshot and saved.snapshot_id != before:
        messages.info(request, f"Saved as version {saved.snapshot.number}.")
    else:
        messages.success(request, "Saved." if texts else "The translation was removed.")
    return True
