"""What participants are owed: accept work, give a bonus, export what is owed, record payments."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect

from annotator.admin.study_pages.frame import REVIEWER, VIEWER, render, study_page
from annotator.core.row_ids import row_id
from annotator.core.service_errors import errors_add
from annotator.core.words import plural
from annotator.forms.study_pages import BonusForm
from annotator.models import LedgerEntry, Rater, Study
from annotator.recruitment.registry import panel_get
from annotator.selectors.budget import budget_of
from annotator.selectors.owed import acceptances_of, balances_of, excluded_raters, totals_of
from annotator.selectors.study import study_get_for
from annotator.selectors.top_up import top_up_of
from annotator.selectors.user import user_of
from annotator.services.payment import (
    bonus_give,
    owed_export,
    panel_payments_export,
    payments_record,
    payments_undo,
    work_accept,
)

#: How many participants are shown at a time.
PAGE = 200


@study_page(VIEWER, methods=("GET", "HEAD", "POST"), people="payments")
def payments(request: HttpRequest, study: Study) -> HttpResponse:
    """Each participant's balance; for a reviewer, accept their work and record payments."""
    if request.method == "POST":
        study_get_for(user=request.user, pk=study.pk, role=REVIEWER)
        try:
            if asked := _asked(request, study):
                return asked
            _carry_out(request, study)
        except ValidationError as error:
            messages.error(request, " ".join(error.messages))
        return redirect("admin:study_payments", study.pk)
    balances = balances_of(study)
    start = min(row_id(request.GET.get("from")), 10**9)
    shown = balances[start : start + PAGE]
    excluded = excluded_raters(study)
    recent = study.ledger.select_related("rater", "created_by", "undone_by", "pay_line").order_by("-id")[:100]
    return render(
        request, study, "payments", tab="participants", title=f"Payments of {study.title}", balances=shown,
        people=len(balances), following=start + PAGE if len(balances) > start + PAGE else 0, first=start + 1,
        totals=totals_of(balances), entries=recent, excluded=excluded,
        acceptances=acceptances_of(study), batches=_batches(recent), payment=LedgerEntry.Kind.PAYMENT, panel=panel_get(study.panel),
        top_up=top_up_of(study) if study.pay_floor_per_hour else None,
        budget=budget_of(study) if study.budget_cap or study.budget_notice else None,
    )  # fmt: skip


def _batches(entries: Iterable[LedgerEntry]) -> list[str]:
    """The references of the payments among these entries whose record can be undone, in their order."""
    payments = [
        entry for entry in entries if entry.kind == LedgerEntry.Kind.PAYMENT and entry.undone_at is None
    ]
    return list(dict.fromkeys(payment.reference for payment in payments if not hasattr(payment, "pay_line")))


def _asked(request: HttpRequest, study: Study) -> HttpResponse | None:
    """The page that says what is about to be accepted or recorded, until it is confirmed; None if nothing is to be asked."""
    action = next((name for name in ("accept", "accept_all", "paid", "paid_all") if name in request.POST), "")
    if not action or "sure" in request.POST:
        return None
    chosen = set(_chosen(request))
    balances = [
        balance for balance in balances_of(study) if action.endswith("_all") or balance.rater in chosen
    ]
    excluded = excluded_raters(study)
    paying = action.startswith("paid")
    if paying:
        shown = [balance for balance in balances if balance.payable > 0]
        left_out = []
    else:
        waiting = [balance for balance in balances if balance.unreviewed]
        shown = [one for one in waiting if one.rater not in excluded]
        left_out = [one for one in waiting if one.rater in excluded]
    if not shown and not left_out:
        raise ValidationError(
            "Nobody of those selected is owed anything." if paying else "There is nothing to accept."
        )
    return render(
        request, study, "payments_confirm", tab="participants", title=f"Payments of {study.title}", paying=paying,
        shown=shown, left_out=left_out, excluded=excluded, totals=totals_of(shown), left_totals=totals_of(left_out),
        waiting=sum(one.unreviewed for one in shown), reference=request.POST.get("reference", ""),
    )  # fmt: skip


def _carry_out(request: HttpRequest, study: Study) -> None:
    """Do what was confirmed, or undo what was recorded, and say so."""
    if "accept" in request.POST:
        accepted = work_accept(
            study=study, by=user_of(request), raters=_chosen(request), excluded="excluded" in request.POST
        )
        messages.success(request, f"{plural(accepted, 'judgment')} accepted.")
    elif "paid" in request.POST:
        entries = payments_record(
            study=study,
            by=user_of(request),
            reference=request.POST.get("reference", ""),
            amounts=_amounts(request),
        )
        whole = sum((entry.amount for entry in entries), Decimal(0))
        messages.success(
            request,
            f"Recorded {whole:,.2f} {study.currency} as paid to {plural(len(entries), 'participant')}."
            " If that was a mistake, undo it in the ledger below.",
        )
    elif "undo" in request.POST:
        undone = payments_undo(study=study, by=user_of(request), reference=request.POST["undo"])
        messages.success(
            request, f"The record of {plural(undone, 'payment')} was undone. They are owed again."
        )


def _chosen(request: HttpRequest) -> list[int]:
    return [pk for pk in map(row_id, request.POST.getlist("rater")) if pk]


def _amounts(request: HttpRequest) -> dict[int, Decimal]:
    """The amount that the page showed for each selected participant."""
    amounts = {}
    for rater in _chosen(request):
        try:
            amounts[rater] = Decimal(request.POST.get(f"owed-{rater}", ""))
        except InvalidOperation:
            amounts[rater] = Decimal("NaN")
        if not amounts[rater].is_finite():
            raise ValidationError("The page is out of date. Nothing was recorded; check the list again.")
    return amounts


@study_page(VIEWER)
def owed(request: HttpRequest, study: Study) -> HttpResponse:
    """Download what each participant is owed."""
    text = owed_export(study=study, by=user_of(request), balances=balances_of(study))
    return _csv(text, f"{study.slug}-owed.csv")


@study_page(VIEWER)
def panel_payments(request: HttpRequest, study: Study) -> HttpResponse:
    """Download what is owed to participants from the study's panel, for payments in bulk there."""
    panel = panel_get(study.panel)
    if panel is None or not panel.payments_label:
        raise Http404("this study's panel takes no file of payments")
    text = panel_payments_export(study=study, by=user_of(request), panel=panel, balances=balances_of(study))
    return _csv(text, f"{study.slug}-{panel.name}-bonuses.csv")


def _csv(text: str, name: str) -> HttpResponse:
    response = HttpResponse(text, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@study_page(REVIEWER, methods=("GET", "HEAD", "POST"), people="bonus")
def bonus(request: HttpRequest, study: Study, rater_pk: int) -> HttpResponse:
    """Give one participant a bonus."""
    rater = get_object_or_404(Rater.objects.filter(participations__study=study, rehearsal=False), pk=rater_pk)
    form = BonusForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            bonus_give(study=study, rater=rater, by=user_of(request), **form.cleaned_data)
        except ValidationError as error:
            errors_add(form, error)
        else:
            given = str(LedgerEntry.Kind(form.cleaned_data["kind"]).label)
            messages.success(request, f"{rater.name} gets the {given} with the next payment.")
            return redirect("admin:study_payments", study.pk)
    return render(
        request, study, "bonus", tab="participants", title=f"Bonus for {rater.name}", form=form, rater=rater,
        status=400 if form.errors else 200,
    )  # fmt: skip
