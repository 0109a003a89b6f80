"""The members of a study: who they are, their roles, and invitations for colleagues."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse

from annotator.admin.study_pages.frame import OWNER, VIEWER, render, study_page
from annotator.core.service_errors import errors_add
from annotator.forms.study_pages import InviteForm
from annotator.models import Membership, Study
from annotator.selectors.study import study_get_for
from annotator.selectors.user import user_of
from annotator.services.membership import (
    VALID_DAYS,
    invitation_create,
    invitation_revoke,
    invitation_send,
    member_change,
    member_remove,
)

MEANS = (
    ("viewer", "can see everything and change nothing"),
    ("reviewer", "can also accept work, record payments, exclude data and answer messages"),
    ("editor", "can also change settings and items, launch and rehearse the study, and run simulators"),
    ("owner", "can also manage members, and archive or delete the study"),
)


@study_page(VIEWER, methods=("GET", "HEAD", "POST"))
def members(request: HttpRequest, study: Study) -> HttpResponse:
    """List the members; for an owner, invite, change and remove them."""
    form, link = InviteForm(), ""
    if request.method == "POST":
        study_get_for(user=request.user, pk=study.pk, role=OWNER)
        if "invite" in request.POST:
            form = InviteForm(request.POST)
            link = _invite(request, study, form)
        else:
            _change(request, study)
            return redirect("admin:study_members", study.pk)
    return render(
        request, study, "members", tab="members", title=f"Members of {study.title}", form=form, link=link,
        members=study.memberships.select_related("user").order_by("user__username"), roles=Membership.Role.choices,
        invitations=study.invitations.filter(accepted_at__isnull=True, revoked_at__isnull=True).select_related(
            "created_by"
        ),
        means=MEANS, days=VALID_DAYS, status=400 if form.errors else 200,
    )  # fmt: skip


def _invite(request: HttpRequest, study: Study, form: InviteForm) -> str:
    """Make an invitation and return its link, which is shown once."""
    if not form.is_valid():
        return ""
    try:
        invitation, token = invitation_create(study=study, by=user_of(request), **form.cleaned_data)
    except ValidationError as error:
        errors_add(form, error)
        return ""
    link = request.build_absolute_uri(reverse("annotator:colleague", args=[token]))
    if invitation.email:
        try:
            invitation_send(invitation=invitation, url=link)
        except OSError:
            messages.warning(
                request, "The email could not be sent. Copy the link below and send it yourself."
            )
        else:
            messages.success(request, f"Invitation sent to {invitation.email}.")
    return link


def _change(request: HttpRequest, study: Study) -> None:
    """Change or remove a member, or withdraw an invitation."""
    try:
        if pk := _number(request, "revoke"):
            invitation_revoke(invitation=get_object_or_404(study.invitations, pk=pk))
            messages.success(request, "Invitation withdrawn. Its link no longer works.")
        elif pk := _number(request, "remove"):
            member = get_object_or_404(study.memberships.select_related("user"), pk=pk)
            member_remove(membership=member)
            messages.success(request, f"{member.user} is no longer a member.")
        elif pk := _number(request, "change"):
            member = get_object_or_404(study.memberships, pk=pk)
            changed = member_change(membership=member, role=request.POST.get(f"role-{pk}", ""))
            messages.success(request, f"{changed.user} is now {changed.role}.")
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))


def _number(request: HttpRequest, name: str) -> int:
    text = request.POST.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 19 else 0
