"""Change an item: edit or delete it in a draft, withdraw or correct it once the study is launched."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect

from annotator.admin.study_pages.frame import EDITOR, render, study_page
from annotator.core.service_errors import errors_add
from annotator.forms.items import ItemForm
from annotator.forms.study_pages import ReasonForm
from annotator.models import Study
from annotator.selectors.study import study_hit_type
from annotator.selectors.user import user_of
from annotator.services.items import item_correct, item_delete, item_edit, item_withdraw


@study_page(EDITOR, methods=("GET", "HEAD", "POST"))
def edit(request: HttpRequest, study: Study, item_pk: int) -> HttpResponse:
    """Edit an item of a draft; correct an item of a launched study as a new version."""
    item = get_object_or_404(study.items, pk=item_pk)
    draft = study.state == Study.State.DRAFT
    form = ItemForm(request.POST or None, item=item, kind=study_hit_type(study), with_reason=not draft)
    if request.method == "POST" and form.is_valid():
        payload, gold = form.payload(), form.gold()
        try:
            if draft:
                item_edit(item=item, payload=payload, gold=gold)
                messages.success(request, f"Item {item.key} saved.")
                return redirect("admin:study_item", study.pk, item.pk)
            corrected = item_correct(
                item=item,
                by=user_of(request),
                reason=form.cleaned_data["reason"],
                payload=payload,
                gold=gold,
            )
            messages.success(
                request,
                f"Item {item.key} is withdrawn. The corrected version {corrected.key} is given out instead.",
            )
            return redirect("admin:study_item", study.pk, corrected.pk)
        except ValidationError as error:
            form.add_faults(error)
    verb = "Edit" if draft else "Correct"
    return render(
        request, study, "item_edit", tab="items", title=f"{verb} item {item.key}", form=form, item=item, draft=draft,
        status=400 if form.errors else 200,
    )  # fmt: skip


@study_page(EDITOR, methods=("GET", "HEAD", "POST"))
def withdraw(request: HttpRequest, study: Study, item_pk: int) -> HttpResponse:
    """Withdraw an item of a launched study, with the reason."""
    item = get_object_or_404(study.items, pk=item_pk)
    form = ReasonForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            item_withdraw(item=item, by=user_of(request), reason=form.cleaned_data["reason"])
        except ValidationError as error:
            errors_add(form, error)
        else:
            messages.success(request, f"Item {item.key} is withdrawn and no longer given out.")
            return redirect("admin:study_item", study.pk, item.pk)
    return render(
        request, study, "item_withdraw", tab="items", title=f"Withdraw item {item.key}", form=form, item=item,
        judgments=item.judgments.count(), status=400 if form.errors else 200,
    )  # fmt: skip


@study_page(EDITOR, methods=("GET", "HEAD", "POST"))
def delete(request: HttpRequest, study: Study, item_pk: int) -> HttpResponse:
    """Delete an item of a draft, once confirmed."""
    item = get_object_or_404(study.items, pk=item_pk)
    if request.method == "POST":
        try:
            item_delete(item=item)
        except ValidationError as error:
            messages.error(request, " ".join(error.messages))
            return redirect("admin:study_item", study.pk, item.pk)
        messages.success(request, f"Item {item.key} deleted.")
        return redirect("admin:study_items", study.pk)
    return render(request, study, "item_delete", tab="items", title=f"Delete item {item.key}", item=item)
