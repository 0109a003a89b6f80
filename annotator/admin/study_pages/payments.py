"""What participants are owed: accept work, give a bonus, export what is owed, record payments."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect

from annotator.admin.study_pages.frame import REVIEWER, VIEWER, render, study_page
from annotator.core.row_ids import row_id
from annotator.core.service_errors import errors_add
from annotator.core.words import plural
from annotator.forms.study_pages import BonusForm
from annotator.models import LedgerEntry, Rater, Study
from annotator.selectors.owed import balances_of, totals_of
from annotator.selectors.study import study_get_for
from annotator.selectors.user import user_of
from annotator.services.payment import (
    bonus_give,
    owed_export,
    payments_record,
    prolific_bonus_export,
    work_accept,
)


@study_page(VIEWER, methods=("GET", "HEAD", "POST"), people="payments")
def payments(request: HttpRequest, study: Study) -> HttpResponse:
    """Each participant's balance; for a reviewer, accept their work and record payments."""
    if request.method == "POST":
        study_get_for(user=request.user, pk=study.pk, role=REVIEWER)
        try:
            if "accept" in request.POST:
                accepted = work_accept(study=study, by=user_of(request), raters=_chosen(request))
                messages.success(request, f"{plural(accepted, 'judgment')} accepted.")
            elif "accept_all" in request.POST:
                accepted = work_accept(study=study, by=user_of(request))
                messages.success(request, f"{plural(accepted, 'judgment')} accepted.")
            elif "paid" in request.POST:
                entries = payments_record(
                    study=study, by=user_of(request), reference=request.POST.get("reference", ""),
                    amounts=_amounts(request),
                )  # fmt: skip
                whole = sum((entry.amount for entry in entries), Decimal(0))
                messages.success(
                    request,
                    f"Recorded {whole:,.2f} {study.currency} as paid to {plural(len(entries), 'participant')}.",
                )
        except ValidationError as error:
            messages.error(request, " ".join(error.messages))
        return redirect("admin:study_payments", study.pk)
    balances = balances_of(study)
    recent = study.ledger.select_related("rater", "created_by").order_by("-id")[:100]
    return render(
        request, study, "payments", tab="participants", title=f"Payments of {study.title}", balances=balances,
        totals=totals_of(balances), entries=recent, payment=LedgerEntry.Kind.PAYMENT,
    )  # fmt: skip


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
    response = HttpResponse(text, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-owed.csv"'
    return response


@study_page(VIEWER)
def prolific_bonuses(request: HttpRequest, study: Study) -> HttpResponse:
    """Download what is owed to participants from Prolific, for bulk bonus payments there."""
    text = prolific_bonus_export(study=study, by=user_of(request), balances=balances_of(study))
    response = HttpResponse(text, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-prolific-bonuses.csv"'
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
            messages.success(request, f"{rater.name} gets the bonus with the next payment.")
            return redirect("admin:study_payments", study.pk)
    return render(
        request, study, "bonus", tab="participants", title=f"Bonus for {rater.name}", form=form, rater=rater,
        status=400 if form.errors else 200,
    )  # fmt: skip
