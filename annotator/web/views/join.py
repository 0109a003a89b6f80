"""Joining a study: the invitation behind a link, login and sign-up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django import forms
from django.contrib.auth.forms import BaseUserCreationForm
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotator.accounts.return_link import return_user
from annotator.accounts.sessions import person_log_in
from annotator.accounts.usernames import username_check
from annotator.core.errors import Refused
from annotator.hit_types.base import HitType
from annotator.models import Study, User
from annotator.recruitment.identity import PanelIdentity
from annotator.recruitment.panel import NOTHING_LEFT, STOPPED
from annotator.recruitment.registry import panel_get
from annotator.selectors.participation import exam_pay_words
from annotator.selectors.places import Places, places_of
from annotator.selectors.study import study_hit_type
from annotator.selectors.user import user_of
from annotator.selectors.workload import Workload, study_workload
from annotator.services.panel_join import other_person
from annotator.services.participation import annotator_create, parameters_kept, participation_join
from annotator.web.exits import exit_shown, way_back
from annotator.web.language import study_language_use
from annotator.web.views.common import new_account_count, safe_url, says_refusals, trouble
from annotator.web.views.panel import join_from_panel, panel_account, panel_identity
from annotator.web.views.places import alert_context
from annotator.web.wording import wording_shown


@never_cache
@require_http_methods(["GET", "POST"])
@says_refusals
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """What the study asks, how long it takes and what it pays. A POST joins it, with or without an account."""
    study = (
        Study.objects.filter(join_token=token, deleted_at__isnull=True)
        .exclude(state=Study.State.DRAFT)
        .first()
    )
    if study is None:
        return trouble(request, "link")
    study_language_use(request, study)
    joined = request.user.is_authenticated and study.participations.filter(rater__user=request.user).exists()
    identity = _identity(request, study, joined=joined)
    if (person := _somebody_else(request, study, identity)) and request.POST.get("who") not in ("me", "new"):
        context = {
            "study": study,
            "person": person,
            "name": request.user,
            "join_url": request.get_full_path(),
        }
        return render(request, "annotator/who.html", context)
    if request.method == "POST":
        try:
            join(request, study, identity, who=request.POST.get("who", "") if person else "")
        except Refused as refusal:
            if refusal.kind != "no_places":
                raise
            return redirect(request.get_full_path())  # the invitation explains the problem and what to do
        return redirect("annotator:study", slug=study.slug)
    places = places_of(study)
    facts = invitation_facts(study, study_hit_type(study), work=study_workload(study), places=places)
    return render(
        request,
        "annotator/invitation.html",
        facts
        | {
            "study": study,
            "join_url": request.get_full_path(),
            "login_url": f"{reverse('annotator:login')}?{urlencode({'next': request.get_full_path()})}",
            "signup_url": f"{reverse('annotator:signup')}?{urlencode({'next': request.get_full_path()})}",
            "open": study.state == Study.State.LIVE and (study.join_open or joined),
            "joined": joined,
            "continue_as": _continue_as(request, study, identity),
        }
        | _exit(request, study, identity, joined=joined, places=places)
        | alert_context(request, study, places),
    )


def invitation_facts(study: Study, kind: HitType, *, work: Workload, places: Places) -> dict[str, Any]:
    """What an invitation says about the work: what, how long, what it pays. ``places`` are those that are left."""
    work = replace(work, tasks_each=min(work.tasks_each, places.free))
    pay = {"exam_pay": str(study.exam_pay), "currency": study.currency}
    return {
        "task_title": wording_shown(kind.task_title),
        # In tens, and only below a minute.
        "seconds": max(round(study.minutes_per_item * 6), 1) * 10 if study.minutes_per_item < 0.95 else 0,
        "work": work,
        "work_time": _duration_words(work.minutes),
        "exam_pay": exam_pay_words(pay) if study.exam_required else "",
        "preparation": work.preparation,
        "places": places,
    }


def _duration_words(minutes: float) -> str:
    """A length of time for annotators: minutes, from two hours on hours."""
    if minutes < 120:
        whole = max(round(minutes), 1)
        return ngettext("{count} minute", "{count} minutes", whole).format(count=whole)
    hours = round(minutes / 60)
    return ngettext("{count} hour", "{count} hours", hours).format(count=number_format(hours))


def _identity(request: HttpRequest, study: Study, *, joined: bool) -> PanelIdentity | None:
    """Who the study's panel says that the visitor is; None without a panel, and for participants whose session is enough."""
    panel = panel_get(study.panel)
    if panel is None:
        return None
    try:
        return panel_identity(request, study, panel)
    except Refused:
        if joined:
            return None
        raise


def _exit(
    request: HttpRequest, study: Study, identity: PanelIdentity | None, *, joined: bool, places: Places
) -> dict[str, Any]:
    """The code of somebody who can't join now; for participants, that of their own exit."""
    if joined:
        mine = study.participations.select_related("study", "rater").get(rater__user=user_of(request))
        return exit_shown(mine) if study.state != Study.State.LIVE else {}
    ending = NOTHING_LEFT if study.state == Study.State.LIVE and study.join_open else STOPPED
    if ending == NOTHING_LEFT and not places.full:
        return {}
    return {"exit_code": getattr(study, ending.field)} | way_back(study, ending, identity)


def _somebody_else(request: HttpRequest, study: Study, identity: PanelIdentity | None) -> str:
    """The id on an unsigned link, if the visitor has taken part under another one: it may be another person's browser."""
    visitor = request.user
    if not isinstance(visitor, User):
        return ""
    if identity is not None:
        return identity.person if not identity.verified and other_person(visitor, identity) else ""
    if study.panel:
        return ""
    mine = study.participations.filter(rater__user=visitor).first()
    kept = mine.join_parameters if mine is not None else {}
    sent = parameters_kept(study, request.GET.dict())
    return next((value for name, value in sent.items() if kept.get(name, value) != value), "")


def _continue_as(request: HttpRequest, study: Study, identity: PanelIdentity | None) -> str:
    """The name of the account with which the visitor continues; empty for a new one."""
    if identity is None:
        return request.user.get_username()
    try:
        user = panel_account(request, study, identity)
    except Refused:  # said when they continue
        return ""
    return user.username if user is not None else ""


def join(request: HttpRequest, study: Study, identity: PanelIdentity | None, *, who: str = "") -> None:
    """Join with the account of the visitor, or with a new one. ``who`` is what they answered to the question who is
    there: ``me`` or ``new``; empty if they weren't asked."""
    if identity is not None:
        join_from_panel(request, study, identity, same=who == "me")
        return
    user = request.user
    if user.is_authenticated and who != "new":
        participation_join(study=study, user=user, parameters=request.GET.dict())
        return
    new_account_count(request, study)
    with transaction.atomic():  # no account is left behind for someone who may not join
        guest = annotator_create()
        participation_join(study=study, user=guest, parameters=request.GET.dict())
    person_log_in(request, guest)


class SignUpForm(BaseUserCreationForm):
    """Username and password; an email address only for people who want messages and password resets."""

    email = forms.EmailField(
        label=_("Email address"),
        required=False,
        help_text=_("We only use it to reset your password and to contact you about your work."),
    )

    class Meta(BaseUserCreationForm.Meta):
        model = User
        fields = ("username", "email")

    def clean_username(self) -> str:
        username = str(self.cleaned_data["username"])
        username_check(username)
        if User.objects.filter(username__iexact=username).exists():
            raise forms.ValidationError(User._meta.get_field("username").error_messages["unique"])
        return username


@never_cache
@require_http_methods(["GET", "POST"])
@says_refusals
def signup(request: HttpRequest) -> HttpResponse:
    """Create an account. People who joined without one keep their work: their guest account gets a name and a password."""
    guest = None
    if isinstance(request.user, User) and not request.user.has_usable_password():
        guest = User.objects.get(pk=request.user.pk)
    form = SignUpForm(request.POST or None, instance=guest)
    if request.method == "POST" and form.is_valid():
        if guest is None:
            new_account_count(request)
        try:
            with transaction.atomic():
                user = form.save()
        except IntegrityError:  # somebody has taken the name since the form was checked
            form.add_error("username", User._meta.get_field("username").error_messages["unique"])
        else:
            person_log_in(request, user)
            request.session.set_expiry(None)
            return redirect(safe_next(request, reverse("annotator:me")))
    wanted = request.GET.get("next", "")
    context = {
        "form": form,
        "next": wanted,
        "guest": guest is not None,
        "colleague": wanted.startswith("/colleague/"),
    }
    return render(request, "annotator/signup.html", context)


@never_cache
@require_http_methods(["GET", "POST"])
def personal_link(request: HttpRequest, token: str) -> HttpResponse:
    """A personal link. It asks for confirmation first, so that a program that opens links doesn't log in."""
    user = return_user(token)
    if user is None:
        return trouble(request, "return_link")
    if request.method == "POST":
        person_log_in(request, user)
        return redirect("annotator:me")
    return render(request, "annotator/return.html")


def safe_next(request: HttpRequest, default: str) -> str:
    """The requested page to go to next, if it is on this site; otherwise ``default``."""
    return safe_url(request, request.POST.get("next") or request.GET.get("next") or "", default)
