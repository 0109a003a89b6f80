"""Items, judgments, raters and exclusions of a study: lists, details, and excluding with a reason."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import urlencode

from annotator.admin.study_pages.frame import REVIEWER, VIEWER, render, study_page
from annotator.core.behaviour import SIGNALS, signal_words, signals_read
from annotator.core.row_ids import row_id
from annotator.core.words import plural
from annotator.forms.study_pages import ExcludeForm
from annotator.hit_types.arms import arm_of
from annotator.hit_types.base import HitType
from annotator.models import Exclusion, Item, Judgment, Rater, Replacement, Study
from annotator.selectors.judgment import (
    FILTERS,
    REHEARSAL_LEFT_OUT,
    ExclusionReasons,
    UnknownFilter,
    judgments_page,
)
from annotator.selectors.study import study_hit_type
from annotator.selectors.study_rows import items_of
from annotator.selectors.user import user_of
from annotator.services.collect_again import collect_again, collecting_fault
from annotator.services.exclusion import exclusion_lift, exclusion_make, judgments_exclude

PAGE = 50
CHOICES = {
    "rater_kind": Rater.Kind.choices,
    "source": Judgment.Source.choices,
    "standing": Judgment.Standing.choices,
    "role": Item.Role.choices,
    "excluded": [("yes", "excluded"), ("no", "not excluded")],
    "rehearsal": [("no", "left out"), ("yes", "only rehearsal"), ("both", "included")],
}
#: Filter -> its label, where its name in the address doesn't say enough.
LABELS = {
    "standing": "counted or surplus",
    "seconds_from": "at least (seconds)",
    "seconds_below": "less than (seconds)",
}


@study_page(VIEWER)
def items(request: HttpRequest, study: Study) -> HttpResponse:
    after = row_id(request.GET.get("after"))
    found = items_of(study).filter(pk__gt=after)
    query = (request.GET.get("q") or "").replace("\x00", "")[:200]
    if query:
        found = found.filter(key__contains=query)
    page = list(found[: PAGE + 1])
    for one in page:  # before the launch there are no places yet
        if not one.raters and study.state == Study.State.DRAFT and study.shared_items is None:  # type: ignore[attr-defined]
            one.raters = study.raters_by_arm.get(arm_of(one.payload), 0)  # type: ignore[attr-defined]
    return render(
        request, study, "items", tab="items", title=f"Items of {study.title}", items=page[:PAGE], query=query,
        following=urlencode({"q": query, "after": str(page[PAGE - 1].pk)}) if len(page) > PAGE else "",
        total=study.items.count(), after=after,
    )  # fmt: skip


@study_page(VIEWER, people="judgments of an item")
def item(request: HttpRequest, study: Study, item_pk: int) -> HttpResponse:
    """An item as it is shown at its last stage, the material behind it, and its judgments."""
    one = get_object_or_404(
        study.items.select_related(
            "instance", "explanation__system", "follow_up", "replaces", "replaced_by", "withdrawn_by"
        ),
        pk=item_pk,
    )
    kind = study_hit_type(study)
    stages = kind.stages(one.payload)
    given = one.judgments.select_related("rater", "assignment").order_by("id")[:200]
    return render(
        request, study, "item", tab="items", title=f"Item {one.key}", item=one, stages=stages,
        blocks=stages[-1].blocks, outputs=one.follow_up.outputs.select_related("system") if one.follow_up else [],
        gold=kind.describe(one.payload, one.gold) if one.gold else [],
        rows=judgment_rows(kind, ExclusionReasons(study), given),
    )  # fmt: skip


def judgment_rows(kind: HitType, reasons: ExclusionReasons, judgments: Any) -> list[dict[str, Any]]:
    """Judgments with their answers in words and, if excluded, the reason."""
    return [
        {
            "judgment": judgment,
            "answers": kind.describe(
                judgment.item.payload,
                judgment.response,
                judgment.assignment.presentation if judgment.assignment else None,
            ),
            "excluded": reasons.of(judgment.pk, judgment.item_id, judgment.rater_id),
        }
        for judgment in judgments
    ]


def _hidden_rehearsal(study: Study, chosen: dict[str, str]) -> int:
    """How many of a rehearsal's judgments a list without any filter leaves out."""
    return 0 if chosen else study.judgments.exclude(REHEARSAL_LEFT_OUT).count()


@study_page(VIEWER, people="judgments")
def judgments(request: HttpRequest, study: Study) -> HttpResponse:
    """List judgments with the filters of the query string; an unknown filter is an error."""
    chosen = {name: str(value) for name, value in request.GET.items() if value and name != "after"}
    errors: dict[str, str] = {}
    page: list[Judgment] = []
    after = row_id(request.GET.get("after"))
    try:
        page = judgments_page(study=study, filters=chosen, after=after, limit=PAGE + 1)
    except UnknownFilter as error:
        errors = error.errors
    rows = judgment_rows(study_hit_type(study), ExclusionReasons(study), page[:PAGE])
    filters = [
        {
            "name": name,
            "label": LABELS.get(name) or name.replace("_", " "),
            "value": chosen.get(name, ""),
            "choices": CHOICES.get(name),
        }
        for name in FILTERS
    ]
    following = urlencode({**chosen, "after": str(page[PAGE - 1].pk)}) if len(page) > PAGE else ""
    return render(
        request, study, "judgments", tab="judgments", title=f"Judgments of {study.title}", rows=rows,
        filters=filters, chosen=chosen, following=following, errors=errors, status=400 if errors else 200,
        export_query=urlencode(chosen), rehearsed=_hidden_rehearsal(study, chosen),
    )  # fmt: skip


@study_page(VIEWER, people="a judgment")
def judgment(request: HttpRequest, study: Study, judgment_pk: int) -> HttpResponse:
    """Show one judgment: the material, the answers and the time."""
    one = get_object_or_404(
        study.judgments.select_related(
            "item__explanation__system", "rater", "assignment", "snapshot", "instructions_seen"
        ),
        pk=judgment_pk,
    )
    kind = study_hit_type(study)
    presentation = one.assignment.presentation if one.assignment else None
    grade = kind.grade(one.response, one.item.gold) if one.item.gold else None
    found = signals_read(one.signals)
    return render(
        request, study, "judgment", tab="judgments", title=f"Judgment {one.pk}", judgment=one,
        blocks=kind.stages(one.item.payload, presentation)[-1].blocks,
        row=judgment_rows(kind, ExclusionReasons(study), [one])[0], grade=grade,
        stages=(one.signals.get("stages") or {}).items(),
        signals=[
            (signal, signal_words(signal, found[signal.name])) for signal in SIGNALS if signal.name in found
        ],
    )  # fmt: skip


@study_page(VIEWER, people="exclusions")
def exclusions(request: HttpRequest, study: Study) -> HttpResponse:
    found = study.exclusions.select_related(
        "rater", "item", "judgment__item", "judgment__rater", "created_by"
    )
    return render(
        request, study, "exclusions", tab="review", title=f"Exclusions of {study.title}",
        exclusions=found.annotate(opened=Count("replacements")).order_by("lifted_at", "-id")[:500],
        may_collect=not collecting_fault(study),
    )  # fmt: skip


@study_page(REVIEWER, methods=("GET", "HEAD", "POST"), people="exclude")
def exclude(request: HttpRequest, study: Study, what: str, target_pk: int) -> HttpResponse:
    """Exclude a rater, an item or a judgment: say what that means and ask for the reason."""
    target = _target(study, what, target_pk)
    form = ExcludeForm(request.POST or None, again=what != "item" and not collecting_fault(study))
    if request.method == "POST" and form.is_valid():
        try:
            made = exclusion_make(
                study=study, by=request.user, **{what: target}, **form.cleaned_data  # type: ignore[arg-type]
            )  # fmt: skip
        except ValidationError as error:
            form.add_error(None, error.messages)
        else:
            messages.success(
                request,
                "Excluded. The data is kept, and every figure can be shown with and without it."
                + (f" {_opened(made.replacements.count())}" if made.collect_again else ""),
            )
            return redirect(_back(request), study.pk)
    affected = {
        "rater": study.judgments.filter(rater_id=target_pk),
        "item": study.judgments.filter(item_id=target_pk),
        "judgment": study.judgments.filter(pk=target_pk),
    }[what].count()
    return render(
        request, study, "exclude", tab="review", title=f"Exclude {what} {target}", form=form, what=what,
        target=target, affected=affected, status=400 if form.errors else 200,
    )  # fmt: skip


@study_page(REVIEWER, methods=("GET", "HEAD", "POST"), people="exclude")
def exclude_judgments(request: HttpRequest, study: Study) -> HttpResponse:
    """Exclude the judgments of the query string for one reason."""
    pks = [row_id(text) for text in request.GET.getlist("pk")[:1_000]]
    chosen = list(study.judgments.filter(pk__in=pks).select_related("item", "rater"))
    if not chosen:
        raise Http404("no such judgments")
    form = ExcludeForm(request.POST or None, again=not collecting_fault(study))
    if request.method == "POST" and form.is_valid():
        try:
            made = judgments_exclude(study=study, by=user_of(request), judgments=chosen, **form.cleaned_data)
        except ValidationError as error:
            form.add_error(None, error.messages)
        else:
            words = f"{plural(len(made), 'judgment')} excluded; {_already(len(chosen) - len(made))}."
            if form.cleaned_data.get("collect_again"):
                words += " " + _opened(Replacement.objects.filter(exclusion__in=made).count())
            messages.success(request, words)
            return redirect(_back(request), study.pk)
    return render(
        request, study, "exclude", tab="review", title=f"Exclude {plural(len(chosen), 'judgment')}", form=form,
        what="judgments", target=", ".join(str(one.pk) for one in chosen[:20]), affected=len(chosen),
        status=400 if form.errors else 200,
    )  # fmt: skip


def _back(request: HttpRequest) -> str:
    """Where an exclusion leads: to the contested items if it was decided there, else to the list of exclusions."""
    return "admin:study_contested" if request.GET.get("back") == "contested" else "admin:study_exclusions"


def _already(number: int) -> str:
    return f"{number:,} {'was' if number == 1 else 'were'} already excluded"


def _opened(places: int) -> str:
    return f"{plural(places, 'place is', 'places are')} open for other people."


def _target(study: Study, what: str, pk: int) -> Rater | Item | Judgment:
    if what == "item":
        return get_object_or_404(study.items, pk=pk)
    if what == "judgment":
        return get_object_or_404(study.judgments.select_related("item", "rater"), pk=pk)
    rater = Rater.objects.filter(pk=pk, judgments__study=study).first()
    if rater is None:
        raise Http404("no such rater")
    return rater


@study_page(REVIEWER, methods=("POST",))
def lift(request: HttpRequest, study: Study, exclusion_pk: int) -> HttpResponse:
    exclusion = get_object_or_404(Exclusion, pk=exclusion_pk, study=study)
    exclusion_lift(exclusion=exclusion)
    messages.success(request, "Exclusion lifted.")
    return redirect(reverse("admin:study_exclusions", args=[study.pk]))


@study_page(REVIEWER, methods=("POST",))
def collect(request: HttpRequest, study: Study, exclusion_pk: int) -> HttpResponse:
    """Ask other people in place of what an exclusion covers."""
    exclusion = get_object_or_404(Exclusion, pk=exclusion_pk, study=study)
    try:
        opened = collect_again(exclusion=exclusion, by=user_of(request))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, _opened(opened))
    return redirect(reverse("admin:study_exclusions", args=[study.pk]))
