"""The review desk: one queue of submissions that need a decision, a person's evidence and whole work, and what can be decided."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode

from annotator.admin.study_pages.frame import REVIEWER, VIEWER, may, render, study_page
from annotator.admin.study_pages.rows import judgment_rows
from annotator.core.jobs import enqueue
from annotator.core.row_ids import row_id
from annotator.core.words import plural
from annotator.hit_types.base import HitType
from annotator.models import Judgment, ReviewDecision, Study
from annotator.selectors.evidence import SIGNS
from annotator.selectors.judgment import ExclusionReasons
from annotator.selectors.message import TEMPLATES, templates_of
from annotator.selectors.owed import balances_of
from annotator.selectors.panel_connection import may_spend
from annotator.selectors.review_desk import (
    SHOWN,
    Desk,
    Submission,
    decide_fault,
    review_desk,
    undoable_until,
)
from annotator.selectors.study import study_get_for, study_hit_type
from annotator.selectors.user import user_of
from annotator.services.collect_again import collecting_fault
from annotator.services.message_write import messages_write
from annotator.services.review_choices import people_exclude, qualification_states, qualification_toggle
from annotator.services.review_desk import (
    HOLD,
    batch_undo,
    decisions_hurry,
    decisions_make,
    last_batch,
)

#: People in the list, and tasks of a person, that are shown at once.
PAGE, TASKS = 100, 100
Kind = ReviewDecision.Kind


@study_page(VIEWER, methods=("GET", "HEAD", "POST"), people="review desk")
def desk(request: HttpRequest, study: Study) -> HttpResponse:
    """The queue with one person beside it; a reviewer decides about that person, or about everybody who is selected."""
    errors: list[str] = []
    if request.method == "POST":
        study_get_for(user=request.user, pk=study.pk, role=REVIEWER)
        try:
            messages.success(request, _carry_out(request, study))
            return redirect(_address(study, request, person=_next(request, study)))
        except ValidationError as error:
            errors = error.messages
    return _page(request, study, errors)


def _next(request: HttpRequest, study: Study) -> int:
    """Who is shown next: 0, which is the first of the list, if the next person was decided about with others."""
    following, chosen = row_id(request.POST.get("next")), [row_id(pk) for pk in request.POST.getlist("rater")]
    decided = study.participations.filter(pk=following, rater__in=[pk for pk in chosen if pk])
    return 0 if decided.exists() else following


def _page(request: HttpRequest, study: Study, errors: list[str]) -> HttpResponse:
    whole = review_desk(study)
    asked = _asked(request)
    people = whole.shown(asked["show"], asked["sign"])
    wanted = row_id(request.POST.get("current") if errors else request.GET.get("person"))
    person = next(
        (submission for submission in whole.submissions if submission.pk == wanted),
        people[0] if people else None,
    )
    place = people.index(person) if person in people else -1
    offset = max(place, 0) // PAGE * PAGE
    last = last_batch(study=study, by=user_of(request)) if may(request, study, REVIEWER) else None
    waiting = whole.shown("held")
    return render(
        request, study, "desk", tab="review", title=f"Review desk of {study.title}", desk=whole, people=people[offset : offset + PAGE],
        person=person, place=place + 1, total=len(people), show=asked["show"], sign=asked["sign"],
        shown=[(name, words, whole.counts[name]) for name, words in SHOWN.items()], signs=whole.sign_counts, sign_names=SIGNS,
        previous=people[place - 1] if place > 0 else None,
        following=people[place + 1] if 0 <= place < len(people) - 1 else None,
        kept=urlencode({name: value for name, value in asked.items() if value}), last=last, hold=int(HOLD.total_seconds() // 60),
        held=len(waiting), faults=[one for one in waiting if one.decision is not None and one.decision.fault],
        blocked=decide_fault(user=request.user, study=study), errors=errors, given=request.POST if errors else {},
        chosen={row_id(pk) for pk in request.POST.getlist("rater")} if errors else set(),
        status=400 if errors else 200, **(_about(study, whole, person) if person else {}),
    )  # fmt: skip


def _asked(request: HttpRequest) -> dict[str, str]:
    show, sign = request.GET.get("show", ""), request.GET.get("sign", "")
    return {"show": show if show in SHOWN else next(iter(SHOWN)), "sign": sign if sign in SIGNS else ""}


def _address(study: Study, request: HttpRequest, *, person: int) -> str:
    asked: dict[str, Any] = _asked(request) | ({"person": person} if person else {})
    kept = urlencode({name: value for name, value in asked.items() if value})
    return f"{reverse('admin:study_desk', args=[study.pk])}?{kept}"


@dataclass(frozen=True)
class TaskRow:
    """A task of the person: the judgment with its answers in words, what it was about, and what is unusual about it."""

    judgment: Judgment
    about: str
    answers: list[tuple[str, str]]
    excluded: str
    marks: tuple[str, ...]


def _about(study: Study, whole: Desk, person: Submission) -> dict[str, Any]:
    """What the page tells about one person, and what may be decided about them."""
    kind = study_hit_type(study)
    given = study.judgments.filter(rater=person.rater, source=Judgment.Source.WEB)
    rows = list(given.select_related("item", "rater", "assignment").order_by("id")[: TASKS + 1])
    shown = judgment_rows(kind, ExclusionReasons(study), rows[:TASKS])
    tasks = [_task(kind, study, row) for row in shown]
    times = [row.seconds for row in rows if row.seconds is not None]
    balance = next(iter(balances_of(study, raters=[person.rater])), None)
    decision = person.decision
    until = undoable_until(decision, whole.rules) if decision else None
    return {
        "tasks": tasks, "more": len(rows) > TASKS, "balance": balance, "median": statistics.median(times) if times else None,
        "faults_of": {kind: whole.fault(person, kind) for kind in Kind.values}, "reasons": whole.reasons(person),
        "rejectable": whole.rules is not None, "sends": whole.at_panel(person), "decision": decision, "undo_until": until,
        "may_collect": not collecting_fault(study), "templates": [*templates_of(study), *_own_templates()],
        "qualification": qualification_states(study=study, raters=[person.rater]).get(person.rater, ""),
    }  # fmt: skip


def _own_templates() -> list[dict[str, str]]:
    return [{"title": title, "text": text} for title, text in TEMPLATES]


def _task(kind: HitType, study: Study, row: dict[str, Any]) -> TaskRow:
    judgment, marks = row["judgment"], []
    if judgment.seconds is not None and judgment.seconds < study.min_seconds:
        marks.append("too fast")
    if judgment.item.gold and not kind.grade(judgment.response, judgment.item.gold).passed:
        marks.append("attention check failed" if judgment.item.role == "attention" else "gold missed")
    if _some(judgment, "pastes"):
        marks.append("pasted")
    if _some(judgment, "left") or _some(judgment, "leaves"):
        marks.append("left the page")
    blocks = kind.stages(judgment.item.payload, judgment.assignment.presentation if judgment.assignment else None)[-1].blocks  # fmt: skip
    texts = [block.text for block in blocks if block.text and block.format != "image"]
    return TaskRow(judgment, texts[-1] if texts else "", row["answers"], row["excluded"], tuple(marks))


def _some(judgment: Judgment, name: str) -> bool:
    value = judgment.signals.get(name) if isinstance(judgment.signals, dict) else None
    return isinstance(value, int | float) and value > 0


def _carry_out(request: HttpRequest, study: Study) -> str:
    """Do what was pressed, and return what is to be said about it. Raises ``ValidationError``."""
    asked, by = request.POST, user_of(request)
    action = asked.get("decision", "")
    through_panel = action not in ("exclude", "revoke", "grant", "message") or "message_panel" in asked
    if through_panel and (fault := decide_fault(user=request.user, study=study)):
        raise ValidationError(fault)
    if action == "undo":
        return f"{plural(batch_undo(study=study, batch=_batch(asked.get('batch', '')), by=by), 'decision')} undone."
    raters = _raters(request, study)
    if action == "now":
        return _hurry(study)
    text = {name: asked.get(f"{name}_text", "") for name in ("bonus", "return", "reject", "unpaid")}
    if action in ("accept", "bonus", "return", "reject", "unpaid"):
        made = decisions_make(
            study=study, by=by, raters=raters, kind=Kind.ACCEPT if action == "bonus" else action, text=text.get(action, ""),
            bonus=_amount(asked.get("bonus_amount", "")) if action == "bonus" else None, category=asked.get("reject_category", "")[:40],
            term=asked.get("unpaid_term", ""),
        )  # fmt: skip
        return f"{_whom(made)}: {made[0].get_kind_display()}. Undo within {int(HOLD.total_seconds() // 60)} minutes."
    if action == "exclude":
        again = "exclude_again" in asked
        n = people_exclude(
            study=study, by=by, raters=raters, reason=asked.get("exclude_reason", ""), collect_again=again
        )
        return f"{plural(n, 'person', 'people')} excluded from the analysis. No one's pay changes."
    if action in ("revoke", "grant"):
        if not may_spend(user=request.user, study=study):
            raise ValidationError(
                "A qualification counts in all studies of the workspace, so only an editor of the workspace can revoke or grant it."
            )
        n = qualification_toggle(study=study, by=by, raters=raters, grant=action == "grant", reason=asked.get("qualification_reason", ""))  # fmt: skip
        done = "granted again" if action == "grant" else "revoked"
        return f"Qualification of {plural(n, 'person', 'people')} {done}."
    if action == "message":
        sent = messages_write(
            study=study, raters=raters, by=by, text=asked.get("message_text", ""), through_panel="message_panel" in asked
        )  # fmt: skip
        return f"Message sent to {plural(sent.people, 'participant')}.{sent.already_words}"
    raise ValidationError("Choose a decision.")


def _hurry(study: Study) -> str:
    held = decisions_hurry(study=study)
    enqueue("annotator.review_decisions_carry_out", study_pk=study.pk)
    return f"{plural(held, 'decision')} being carried out. Reload the page in a moment."


def _whom(made: list[ReviewDecision]) -> str:
    return made[0].participation.rater.name if len(made) == 1 else f"{len(made)} people"


def _raters(request: HttpRequest, study: Study) -> list[int]:
    """The raters who are selected, or the one who is shown if nobody is selected."""
    pks = [row_id(pk) for pk in request.POST.getlist("rater")[:1_000]] or [
        row_id(request.POST.get("current_rater"))
    ]
    return [pk for pk in pks if pk]


def _amount(text: str) -> Decimal:
    try:
        amount = Decimal(text.strip().replace(",", ".") or "0")
    except InvalidOperation:
        raise ValidationError({"bonus": "The bonus isn't an amount of money."}) from None
    return amount


def _batch(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Http404("no such decision") from None
