"""A study's texts in other languages: what is missing in each, a form for one, and a form for each of its questions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.forms import BaseForm
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from annotator.admin.study_pages.frame import EDITOR, VIEWER, may, render, study_page
from annotator.core.language import languages as language_list
from annotator.core.service_errors import errors_add
from annotator.forms.translations import TEXTS, QuestionTranslationForm, TranslationForm
from annotator.hit_types.base import JSON
from annotator.hit_types.built_in import comes_in
from annotator.hit_types.translations import QUESTIONS
from annotator.models import Study
from annotator.selectors.study import study_get_for, study_hit_type
from annotator.selectors.study_texts import (
    TITLES,
    LanguageState,
    QuestionState,
    language_states,
    original_texts,
    question_states,
    texts_of_type,
)
from annotator.selectors.user import user_of
from annotator.services.study import study_update
from annotator.services.study_translations import translation_confirm


@study_page(VIEWER)
def languages(request: HttpRequest, study: Study) -> HttpResponse:
    """The languages of the annotators' pages, and what the study lacks in each."""
    return render(
        request, study, "languages", tab="settings", title=f"Languages of {study.title}",
        states=language_states(study), of_type=texts_of_type(study),
        type_languages=[one for one in language_list() if comes_in(study.hit_type, one.code)], editable=_editable(request, study),
    )  # fmt: skip


@study_page(VIEWER, methods=("GET", "HEAD", "POST"))
def translation(request: HttpRequest, study: Study, code: str) -> HttpResponse:
    """The study's texts in one language, beside the originals, and a list of its questions; an editor can change them."""
    state = _state(study, code)
    own = original_texts(study)
    outdated = [one for one in state.outdated if one in TITLES.values()]
    form = TranslationForm(
        request.POST or None, own=own, texts=state.texts, rtl=state.language.rtl, outdated=outdated
    )
    if request.method == "POST":
        study_get_for(user=request.user, pk=study.pk, role=EDITOR)
        if form.is_valid():
            kept = {name: state.texts[name] for name in QUESTIONS if state.texts.get(name)}
            compared = list(TEXTS) if form.cleaned_data.get("compared") else []
            if _save(request, study, code, form, form.texts() | kept, compared=compared):
                return redirect("admin:study_languages", study.pk)
        study.refresh_from_db()
    return render(
        request, study, "translation", tab="settings", title=f"{state.language.name}: {study.title}", form=form, state=state,
        fields=[(form[name], own[name]) for name in form.fields if name in own], questions=question_states(study, code),
        outdated=outdated, editable=_editable(request, study), status=400 if form.errors else 200,
    )  # fmt: skip


@study_page(VIEWER, methods=("GET", "HEAD", "POST"))
def question(request: HttpRequest, study: Study, code: str, which: str, key: str) -> HttpResponse:
    """One question of the exam or the practice in one language, beside the original; an editor can change it."""
    state = _state(study, code)
    states = question_states(study, code)
    here = next((n for n, one in enumerate(states) if (one.which, one.original.key) == (which, key)), None)
    if here is None:
        raise Http404("no such question")
    one = states[here]
    form = QuestionTranslationForm(
        request.POST or None, kind=study_hit_type(study), original=one.original, stored=one.stored,
        rtl=state.language.rtl, outdated=one.outdated,
    )  # fmt: skip
    following = next((other for other in states[here + 1 :] + states[:here] if not other.finished), None)
    if request.method == "POST":
        study_get_for(user=request.user, pk=study.pk, role=EDITOR)
        if form.is_valid():
            written = None if "delete" in request.POST else form.question()
            compared = [f"{which} {key}"] if form.cleaned_data.get("compared") else []
            texts = _with_question(states, state.texts, one, written)
            if _save(request, study, code, form, texts, compared=compared):
                if "next" in request.POST and following:
                    return redirect(
                        "admin:study_translation_question",
                        study.pk, code, following.which, following.original.key,
                    )  # fmt: skip
                return redirect("admin:study_translation", study.pk, code)
        study.refresh_from_db()
    return render(
        request, study, "translation_question", tab="settings", title=f"{state.language.name}: {which} question {key}",
        form=form, state=state, question=one, following=following, editable=_editable(request, study),
        fields=[(form[name], form.originals[name]) for name in form.originals], status=400 if form.errors else 200,
    )  # fmt: skip


def _state(study: Study, code: str) -> LanguageState:
    found = next(
        (language_state for language_state in language_states(study) if language_state.language.code == code),
        None,
    )
    if found is None:
        raise Http404("not a language for translations of this study")
    return found


def _with_question(
    states: Sequence[QuestionState], texts: Mapping[str, Any], one: QuestionState, written: JSON | None
) -> JSON:
    """The texts of a language with another translation of one question, in the order of the originals."""
    stored = {
        other.original.key: other.stored for other in states if other.which == one.which and other.stored
    }
    stored.pop(one.original.key, None)
    if written:
        stored[one.original.key] = written
    order = [other.original.key for other in states if other.which == one.which]
    changed = {one.which: [stored[key] for key in order if key in stored]}
    return {name: value for name, value in (dict(texts) | changed).items() if value}


def _editable(request: HttpRequest, study: Study) -> bool:
    return may(request, study, EDITOR) and study.state != Study.State.CLOSED


def _save(
    request: HttpRequest, study: Study, code: str, form: BaseForm, texts: JSON, *, compared: Collection[str]
) -> bool:
    """Store the texts of one language; False if the service refuses them, with its errors on the form."""
    translations = {name: others for name, others in study.translations.items() if name != code}
    if texts:
        translations[code] = texts
    before = study.snapshot_id
    try:
        saved = study_update(study=study, by=user_of(request), translations=translations)
        if compared:
            translation_confirm(study=study, code=code, names=compared, by=user_of(request))
    except ValidationError as error:
        errors_add(form, error)
        return False
    if saved.snapshot and saved.snapshot_id != before:
        messages.info(request, f"Saved as version {saved.snapshot.number}.")
    else:
        messages.success(request, "Saved." if texts else "The translation was removed.")
    return True
