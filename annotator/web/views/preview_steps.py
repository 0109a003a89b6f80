"""Shows researchers the pages around the tasks as participants see them: invitation, consent, exam result and each end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

from django.contrib.admin.views.decorators import staff_member_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotator.hit_types.base import HitType
from annotator.models import Participation, Study
from annotator.recruitment.panel import COMPLETED, DECLINED, PARTLY, SCREENED_OUT, CompletionCode
from annotator.selectors.participation import Earnings, exam_pay_words
from annotator.selectors.places import Places
from annotator.selectors.questionnaire import AFTER, BEFORE
from annotator.selectors.study import study_get_for, study_hit_type
from annotator.selectors.study_texts import consent_here, draft_rules, question_here
from annotator.selectors.workload import study_workload
from annotator.web.exits import exit_pay
from annotator.web.language import study_language_use
from annotator.web.markdown import markdown_html
from annotator.web.views.join import invitation_facts
from annotator.web.views.question_pages import missed_question
from annotator.web.views.questionnaire import questionnaire_context
from annotator.web.wording import other_language

Context = dict[str, Any]


@dataclass(frozen=True)
class PreviewStep:
    """A page of a study in the order in which people meet them: its name in the address, its title and where it is."""

    name: str
    title: str
    url: str


def preview_steps(study: Study) -> list[PreviewStep]:
    """Every page that participants of this study can meet, as previews."""
    has_items = study.items.filter(withdrawn_at__isnull=True).exists()
    steps: list[tuple[str, str, bool]] = [
        ("invitation", "Invitation", True),
        ("consent", "Consent", bool(study.consent_text)),
        ("declined", "After declining", bool(study.consent_text)),
        ("instructions", "Instructions", True),
        ("practice", "Practice", study.practice_required),
        ("exam", "Exam", study.exam_required),
        ("passed", "Exam passed", study.exam_required),
        ("failed", "Exam failed", study.exam_required),
        ("before", "Questions before", bool(study.questionnaire_before)),
        ("task", "Tasks", has_items),
        ("after", "Questions after", bool(study.questionnaire_after)),
        ("stopped", "After stopping", True),
        ("done", "End", True),
    ]
    return [PreviewStep(name, title, _url(study, name)) for name, title, met in steps if met]


def preview_bar(study: Study, name: str) -> Context:
    """The context of the links to all previews of a study, on the preview of this name."""
    return {
        "preview_steps": preview_steps(study),
        "preview_now": name,
        "back_url": reverse("admin:study_live", args=[study.pk]),
        "back": "Back to the study",
    }


def _url(study: Study, name: str) -> str:
    if name == "task":
        return reverse("annotator:preview", args=[study.pk])
    if name == "instructions":
        return reverse("annotator:preview_instructions", args=[study.pk])
    if name in ("practice", "exam"):
        return reverse("annotator:preview_questions", args=[study.pk, name])
    return reverse("annotator:preview_step", args=[study.pk, name])


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@staff_member_required(login_url="admin:login")
def preview_step(request: HttpRequest, pk: int, step: str) -> HttpResponse:
    """One of the pages around the tasks. Its buttons lead to the next page; nothing is stored."""
    study = study_get_for(user=request.user, pk=pk)
    steps = preview_steps(study)
    place = next((n for n, one in enumerate(steps) if one.name == step), None)
    if place is None or step not in _PAGES:
        raise Http404("no such page in this study")
    if request.method == "POST":
        declined = request.POST.get("decision") == "decline" and request.POST.get("sure") != "yes"
        skipped = (
            1 if step == "consent" and not declined else 0
        )  # whoever agrees doesn't meet the page for declining
        return redirect(steps[min(place + 1 + skipped, len(steps) - 1)].url)
    study_language_use(request, study)
    template, context = _PAGES[step]
    shown = context(study, study_hit_type(study)) | {
        "study": study,
        **preview_bar(study, step),
        "next_url": steps[min(place + 1, len(steps) - 1)].url,
    }
    return render(request, template, shown)


def _invitation(study: Study, kind: HitType) -> Context:
    work = study_workload(study)
    return invitation_facts(study, kind, work=work, places=Places(work.places, held=False)) | {
        "join_url": reverse("annotator:preview_step", args=[study.pk, "invitation"]),
        "login_url": "#main",
        "signup_url": "#main",
        "open": True,
        "joined": False,
        "continue_as": "",
    }


def _consent(study: Study, kind: HitType) -> Context:
    shown = consent_here(draft_rules(study, kind), own=study.language)
    return {
        "consent_html": markdown_html(shown.text),
        "consent_language": other_language(shown.language),
        "again": None,
    }


def _result(study: Study, kind: HitType, *, passed: bool) -> Context:
    count = min(study.exam_questions, len(kind.exam))
    missed = []
    if not passed and study.exam_feedback:
        question = kind.exam[0]
        shown = question_here(question, draft_rules(study, kind), "exam", own=study.language)
        missed = [missed_question(kind, shown, {}, 1)]
    earnings = _earned(study, tasks=0)
    return {
        "attempt": SimpleNamespace(pk="preview"),
        "score": count if passed else max(study.pass_mark - 1, 0),
        "count": count,
        "pass_mark": study.pass_mark,
        "passed": passed,
        "missed": missed,
        "feedback": study.exam_feedback,
        "exam_pay": exam_pay_words({"exam_pay": str(study.exam_pay), "currency": study.currency}),
    } | ({} if passed else _exit(study, SCREENED_OUT, earnings))


def _passed(study: Study, kind: HitType) -> Context:
    return _result(study, kind, passed=True)


def _failed(study: Study, kind: HitType) -> Context:
    return _result(study, kind, passed=False)


def _done(study: Study, kind: HitType) -> Context:
    earnings = _earned(study, tasks=study_workload(study).tasks_each)
    return {"earnings": earnings, "me_url": "#main", "all_done": True} | _exit(study, COMPLETED, earnings)


def _stopped(study: Study, kind: HitType) -> Context:
    earnings = _earned(study, tasks=1)
    return {"earnings": earnings, "declined": False, "may_return": True} | _exit(study, PARTLY, earnings)


def _declined(study: Study, kind: HitType) -> Context:
    earnings = replace(_earned(study, tasks=0), exam=Decimal(0))
    return {"earnings": earnings, "declined": True, "may_return": True} | _exit(study, DECLINED, earnings)


def _questions(study: Study, moment: str) -> Context:
    shown = questionnaire_context(study, moment, getattr(study, f"questionnaire_{moment}"))
    return shown | {"submit_url": reverse("annotator:preview_step", args=[study.pk, moment])}


def _before(study: Study, kind: HitType) -> Context:
    return _questions(study, BEFORE)


def _after(study: Study, kind: HitType) -> Context:
    return _questions(study, AFTER)


def _earned(study: Study, *, tasks: int) -> Earnings:
    """What somebody would have earned who did this many tasks."""
    return Earnings(
        participation=Participation(study=study),
        done=tasks,
        surplus=0,
        earned=tasks * Decimal(study.pay_per_item),
        bonus=Decimal(0),
        paid=Decimal(0),
        exam=Decimal(study.exam_pay) if study.exam_required else Decimal(0),
        accepted=0,
    )


def _exit(study: Study, ending: CompletionCode, earnings: Earnings) -> Context:
    return {
        "ending": ending,
        "exit_code": getattr(study, ending.field),
        "exit_pay": exit_pay(ending, earnings, study),
    }


#: Name -> template, and its context from the study and its type.
_PAGES: dict[str, tuple[str, Any]] = {
    "invitation": ("annotator/invitation.html", _invitation),
    "consent": ("annotator/consent.html", _consent),
    "declined": ("annotator/left.html", _declined),
    "passed": ("annotator/exam_result.html", _passed),
    "failed": ("annotator/exam_result.html", _failed),
    "before": ("annotator/questionnaire.html", _before),
    "after": ("annotator/questionnaire.html", _after),
    "stopped": ("annotator/left.html", _stopped),
    "done": ("annotator/done.html", _done),
}
