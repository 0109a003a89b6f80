"""Pay participants through the study's panel, and give the top-up that brings the median hour to the study's minimum."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.crypto import get_random_string

from annotator.admin.study_pages.frame import REVIEWER, VIEWER, render, study_page
from annotator.core.words import plural
from annotator.models import PayBatch, PayPart, Study
from annotator.recruitment.registry import panel_get
from annotator.selectors.panel_connection import connection_of, may_spend
from annotator.selectors.pay_batch import pay_batch_open, pay_batches, pay_proposal
from annotator.selectors.study import study_get_for
from annotator.selectors.top_up import top_up_of
from annotator.selectors.user import user_of
from annotator.services.pay_batch import pay_batch_cancel, pay_batch_make, pay_batch_send, pay_batch_settle
from annotator.services.top_up import top_up_give


@study_page(VIEWER, methods=("GET", "HEAD", "POST"), people="payments")
def pay_panel(request: HttpRequest, study: Study) -> HttpResponse:
    """What can be paid through the panel now, and the batches so far; for who may spend the workspace's money, pay it."""
    panel = panel_get(study.panel)
    if panel is None or not panel.has_api:
        raise Http404("this study's panel has no API")
    if request.method == "POST":
        study_get_for(user=request.user, pk=study.pk, role=REVIEWER)
        try:
            if not may_spend(user=request.user, study=study):
                raise ValidationError(
                    "Only an editor of the workspace can pay from its account. Nothing was sent."
                )
            _carry_out(request, study)
        except ValidationError as error:
            messages.error(request, " ".join(error.messages))
        return redirect("admin:study_pay_panel", study.pk)
    open_batch = pay_batch_open(study)
    doubt = open_batch.parts.filter(state=PayPart.State.SENDING).first() if open_batch else None
    connection = connection_of(study)
    return render(
        request, study, "pay_panel", tab="participants", title=f"Pay through {panel.title}",
        panel=panel, proposal=pay_proposal(study), batches=pay_batches(study), open_batch=open_batch, doubt=doubt,
        connection=connection, other_currency=connection and connection.currency and connection.currency != study.currency,
        may_pay=may_spend(user=request.user, study=study), key=get_random_string(24),
    )  # fmt: skip


def _carry_out(request: HttpRequest, study: Study) -> None:
    by = user_of(request)
    if "send" in request.POST:
        batch = pay_batch_make(
            study=study, key=request.POST.get("key", ""), digest=request.POST.get("digest", ""), by=by
        )
        pay_batch_send(batch=batch)
        messages.success(request, "Everything was sent. The panel pays it in the next minutes.")
        return
    open_batch = pay_batch_open(study)
    if open_batch is None:
        raise ValidationError("Every batch is finished.")
    if "continue" in request.POST:
        pay_batch_send(batch=open_batch)
        messages.success(request, "The rest was sent. The panel pays it in the next minutes.")
    elif request.POST.get("settle") in ("paid", "unpaid"):
        _settle(request, open_batch, paid=request.POST["settle"] == "paid")
    elif "cancel" in request.POST:
        number = pay_batch_cancel(batch=open_batch, by=by)
        messages.success(request, f"{plural(number, 'payment')} cancelled. These people are owed it again.")


def _settle(request: HttpRequest, batch: PayBatch, *, paid: bool) -> None:
    pay_batch_settle(batch=batch, paid=paid, by=user_of(request))
    messages.success(
        request, "Noted. Continue the batch to send the rest." if not batch.finished_at else "Noted."
    )


@study_page(VIEWER, methods=("GET", "HEAD", "POST"), people="payments")
def top_up(request: HttpRequest, study: Study) -> HttpResponse:
    """The median hour beside the study's minimum, and the top-up with its cost; for a reviewer, give it."""
    if request.method == "POST":
        study_get_for(user=request.user, pk=study.pk, role=REVIEWER)
        try:
            total = Decimal(request.POST.get("total", ""))
        except InvalidOperation:
            total = Decimal("NaN")
        try:
            given = top_up_give(study=study, total=total, by=user_of(request))
        except ValidationError as error:
            messages.error(request, " ".join(error.messages))
            return redirect("admin:study_top_up", study.pk)
        messages.success(
            request,
            f"{plural(len(given.amounts), 'participant')} will get {given.total:,.2f} {study.currency} in all with the next payment.",
        )
        return redirect("admin:study_payments", study.pk)
    return render(
        request, study, "top_up", tab="participants", title="Top-up", top_up=top_up_of(study)
    )  # fmt: skip
