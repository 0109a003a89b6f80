""" "Your page": work, pay, messages, personal data, leaving a study."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.translation import gettext, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from annotator.accounts.receipt import receipt_done, receipt_path, receipt_remember
from annotator.accounts.return_link import return_path
from annotator.hit_types.base import Stage
from annotator.models import (
    Consent,
    ExamAnswer,
    ExamAttempt,
    Judgment,
    Message,
    Participation,
    QuestionnaireAnswer,
    Rater,
)
from annotator.selectors.ledger import LedgerLine, ledger_lines
from annotator.selectors.owed import CENT
from annotator.selectors.participation import Earnings, earnings_of
from annotator.selectors.places import place_alerts_of
from annotator.selectors.questionnaire import questionnaire_said
from annotator.selectors.study import study_hit_type
from annotator.selectors.user import user_of
from annotator.services.message import message_send, replies_read
from annotator.services.participation import rater_for
from annotator.web.exits import exit_shown
from annotator.web.views.common import participant, safe_url, says_refusals
from annotator.web.wording import say, stage_shown, stages_shown


@require_GET
@never_cache
def home(request: HttpRequest) -> HttpResponse:
    """The home page; people who are logged in are redirected to their page."""
    if request.user.is_authenticated:
        return redirect("admin:index" if request.user.is_staff else "annotator:me")
    return render(request, "annotator/home.html")


@require_GET
@never_cache
def me(request: HttpRequest) -> HttpResponse:
    """A person's own page. A guest whose data have been removed has none any more, but a receipt."""
    if not request.user.is_authenticated and (asked := receipt_done(request)):
        return redirect(receipt_path(asked))
    return own_page(request)


@login_required
def own_page(request: HttpRequest) -> HttpResponse:
    """Studies with work and pay, and messages to and from the researchers."""
    if request.user.is_staff:
        return redirect("admin:index")
    rater = rater_for(user=user_of(request))
    lines = ledger_lines(rater_id=rater.pk)
    accounts = [
        _account(earning, lines.get(earning.participation.study_id, []))
        for earning in earnings_of(rater_id=rater.pk)
    ]
    context = {
        "rater": rater,
        "accounts": accounts,
        # Panels forbid asking their participants for a name or an address.
        "from_panel": any(earnings.participation.recruiter for earnings, _ in accounts),
        "messages_list": Message.objects.filter(rater=rater)
        .select_related("study")
        .order_by("-created_at")[:100],
        "has_password": user_of(request).has_usable_password(),
        "data_requests": [
            (data_request, request.build_absolute_uri(receipt_path(data_request)))
            for data_request in rater.data_requests.select_related("study").order_by("-asked_at")
        ],
        "return_url": request.build_absolute_uri(path) if (path := return_path(user_of(request))) else "",
        "place_alerts": place_alerts_of(rater_id=rater.pk),
        "sent": request.GET.get("sent", ""),
    }
    response = render(request, "annotator/me.html", context)
    replies_read(rater_id=rater.pk)  # they are on the page now
    return response


def _account(earnings: Earnings, lines: list[LedgerLine]) -> tuple[Earnings, dict[str, Any]]:
    """A study on the person's page: their earnings with the ledger's lines, and how it ended for them or how they can end it."""
    participation = earnings.participation
    study = participation.study
    shown = exit_shown(participation, earnings)
    can_end = not shown and earnings.done and study.partly_code
    return earnings, shown | {
        "can_end": bool(can_end),
        "lines": [(line, _line_words(line), _line_amount(line)) for line in lines],
        "unpaid": [line for line in lines if line.kind == "unpaid"],
    }


def _line_amount(line: LedgerLine) -> str:
    """The amount, with fractions of a cent where there are any."""
    places = 2 if line.amount == line.amount.quantize(CENT) else 4
    return ("−" if line.sign < 0 else "") + number_format(line.amount, places)


def _line_words(line: LedgerLine) -> str:
    """What a line of the ledger is for, in words."""
    if line.kind == "unpaid":
        return ngettext("{tasks} task, not paid", "{tasks} tasks, not paid", line.number).format(
            tasks=line.number
        )
    if line.kind in ("items", "checking"):
        words = (
            ngettext("{tasks} task, accepted", "{tasks} tasks, accepted", line.number)
            if line.kind == "items"
            else ngettext(
                "{tasks} task, still being checked", "{tasks} tasks, still being checked", line.number
            )
        )
        return words.format(tasks=line.number)
    return {
        "exam": gettext("Exam"),
        "bonus": gettext("Bonus"),
        "screen_out": gettext("For your time, though there were no tasks for you"),
        "top_up": gettext("Top-up, because the tasks took longer than planned"),
        "reward": gettext("Rest of the fixed reward"),
        "payment": gettext("Paid"),
        "on_its_way": gettext("Payment on its way"),
    }[line.kind]


@require_POST
@login_required
@says_refusals
def message(request: HttpRequest, slug: str) -> HttpResponse:
    """Send the researchers a question, or a request to delete one's data."""
    participation = participant(request, slug)
    kind = "deletion" if request.POST.get("kind") == "deletion" else "question"
    text = request.POST.get("text", "")
    if kind == "deletion" and not text.strip():
        text = gettext("Please delete my data from this study.")
    try:
        message_send(participation=participation, kind=kind, text=text)
    except ValidationError:
        return redirect("/me/?sent=empty")
    response = redirect("/me/?sent=" + kind)
    if kind == "deletion":
        asked = participation.study.data_requests.filter(rater=participation.rater).latest("asked_at")
        receipt_remember(response, request, asked)
    return response


@require_POST
@login_required
def read(request: HttpRequest) -> HttpResponse:
    """Mark the researchers' replies as read; goes back to the task that announced them."""
    replies_read(rater_id=rater_for(user=user_of(request)).pk)
    if request.headers.get("X-Requested-With") == "fetch":
        return HttpResponse(status=204)
    return redirect(safe_url(request, request.headers.get("Referer", ""), reverse("annotator:me")))


@require_GET
@login_required
def data(request: HttpRequest) -> StreamingHttpResponse:
    """Everything stored about the user, streamed as JSON Lines."""
    rater = rater_for(user=user_of(request))
    response = StreamingHttpResponse(own_data(rater), content_type="application/x-ndjson")
    response["Content-Disposition"] = 'attachment; filename="my-foretell-data.jsonl"'
    return response


def shown_in(stages: Iterable[Stage]) -> list[dict[str, str]]:
    """The material of some stages with its labels, each piece once."""
    found = {
        (block.label, block.text or "\n".join(block.items)): None
        for stage in stages
        for block in stage.blocks
    }
    return [{"label": label, "text": text} for label, text in found]


def own_data(rater: Rater) -> Iterator[str]:
    """One JSON object per line, with what was shown and asked in words; without correct answers and other people's answers."""

    def line(kind: str, **values: object) -> str:
        return json.dumps({"kind": kind} | values, default=str, ensure_ascii=False) + "\n"

    yield line("rater", name=rater.name, since=rater.created_at)
    for p in Participation.objects.filter(rater=rater).select_related("study"):
        yield line(
            "study", title=p.study.title, joined=p.joined_at, state=p.state, finished=p.finished_at, panel=p.recruiter,
            panel_id=p.recruiter_id, submission=p.recruiter_session, panel_status=p.panel_status, link=p.join_parameters,
        )  # fmt: skip
    for consent in Consent.objects.filter(participation__rater=rater).select_related("participation__study"):
        yield line(
            "consent", study=consent.participation.study.title, given=consent.given_at, text=consent.text
        )
    for attempt in ExamAttempt.objects.filter(participation__rater=rater):
        yield line("exam", number=attempt.number, submitted=attempt.submitted_at, score=attempt.score)
    answers = ExamAnswer.objects.filter(attempt__participation__rater=rater).order_by("attempt", "pk")
    for answer in answers.select_related("attempt__participation__study", "question"):
        kind, question = study_hit_type(answer.attempt.participation.study), answer.question
        yield line(
            "exam answer", number=answer.attempt.number, shown=shown_in([stage_shown(kind.question_stage(question.payload, question.gold))]),
            answers=dict(kind.describe(question.payload, answer.response, translate=say)),
        )  # fmt: skip
    for given in QuestionnaireAnswer.objects.filter(participation__rater=rater).select_related(
        "participation__study", "snapshot"
    ):
        yield line(
            "questionnaire", study=given.participation.study.title, at=given.answered_at, moment=given.moment,
            answers=questionnaire_said(given, say),
        )  # fmt: skip
    judgments = Judgment.objects.filter(rater=rater).order_by("id")
    for judgment in judgments.select_related("item", "study", "assignment").iterator(chunk_size=500):
        kind = study_hit_type(judgment.study)
        drawn = judgment.assignment.presentation if judgment.assignment else None
        said = dict(kind.describe(judgment.item.payload, judgment.response, drawn, say))
        yield line(
            "answer", study=judgment.study.title, at=judgment.created_at, seconds=judgment.seconds,
            shown=shown_in(stages_shown(kind.stages(judgment.item.payload, drawn))), answers=said, signals=judgment.signals,
        )  # fmt: skip
    titles = dict(Participation.objects.filter(rater=rater).values_list("study", "study__title"))
    for study, entries in ledger_lines(rater_id=rater.pk).items():
        for entry in entries:
            yield line(
                "pay", study=titles.get(study, ""), at=entry.at, type=entry.kind, number=entry.number, amount=entry.amount,
                reason=entry.reason,
            )  # fmt: skip
    for message in Message.objects.filter(rater=rater).select_related("study"):
        yield line(
            "message", study=message.study.title, at=message.created_at, type=message.kind, text=message.text
        )
