"""Shared by the annotators' views: the user's participation, and the pages for refusals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotator.accounts.attempts import Limit, attempt_count, client_address
from annotator.core.errors import Conflict, Refused
from annotator.models import LoginAttempt, Participation, Study
from annotator.recruitment.prolific import NAME as PROLIFIC
from annotator.recruitment.prolific import SITE as PROLIFIC_SITE
from annotator.recruitment.prolific import return_link
from annotator.selectors.participation import Step, participation_get_for, participation_step
from annotator.web.language import study_language_use

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise

View = Callable[..., HttpResponse]


@dataclass(frozen=True)
class Trouble:
    """A page that says what happened, what it means for the pay and what to do now."""

    title: StrOrPromise
    happened: StrOrPromise
    pay: StrOrPromise
    now: StrOrPromise
    status: int = 200


_KEPT = _("Everything you submitted is saved and counts for your pay.")
_NOT_STARTED = _("You haven't started, so nothing is lost.")
_LINK_KEPT = _("Anything you have submitted is saved.")
_YOUR_PAGE = _("Your page shows your work and your pay.")
_NEXT_TASK = _("Continue with the next task.")
TROUBLES: dict[str, Trouble] = {
    "not_found": Trouble(_("Page not found"), _("There is no page at this address, or it isn't one of yours."), _KEPT, _("Go to your page to see your studies."), 404),
    "link": Trouble(_("This link is not valid"), _("The link is incomplete, or its study no longer exists."), _NOT_STARTED, _("Copy the whole link from the invitation, or ask whoever sent it."), 404),
    "reset_link": Trouble(_("This link has expired"), _("A link to choose a new password works once and expires after one day."), _("This doesn't affect your work or your pay."), _("Ask for a new link on the log-in page."), 404),
    "return_link": Trouble(_("This link no longer works"), _("A personal link works until its owner sets a password, and only as a whole."), _KEPT, _("Copy the whole link, or log in with your username and password.")  , 404),
    "too_many": Trouble(_("Too many new participants"), _("Too many people have joined from your network in the last hour."), _NOT_STARTED, _("Try again in an hour."), 429),
    "too_many_studies": Trouble(_("You have joined many studies today"), _("You've reached the limit of studies that one person can join in a day."), _KEPT, _("Try again tomorrow."), 429),
    "elsewhere": Trouble(_("You have a task open in another study"), _("Without an account, you can work on one task at a time."), _KEPT, _("Submit or skip that task first. With an account you can work on several studies.")),
    "wait": Trouble(_("Take a break"), _("You have skipped or not finished many tasks in the last hour."), _KEPT, _("Try again in an hour."), 429),
    "paused": Trouble(_("The study is paused"), _("The researchers are not giving out tasks at the moment."), _KEPT, _("Come back later with the same link.")),
    "closed": Trouble(_("This study is closed"), _("It is no longer open."), _KEPT, _("There is nothing more to do. Your page shows what you did.")),
    "lease_expired": Trouble(_("Time is up for this task"), _("The task was given to someone else."), _("Your earlier answers are saved and count for your pay. Your answer to this task was not submitted."), _NEXT_TASK),
    "already_done": Trouble(_("Already done"), _("You have already submitted this task."), _KEPT, _NEXT_TASK),
    "no_places": Trouble(_("All places are taken"), _("Others are doing all the tasks of this study at the moment."), _KEPT, _("Open the study again later. Its page can tell you when there are places again.")),
    "not_qualified": Trouble(_("You didn't qualify for this study"), _("You didn't pass the exam, and you have no attempts left."), _("You'll be paid for the exam as the invitation says. Not passing doesn't count against you in other studies."), _("There is nothing more to do.")),
    "needs": Trouble(_("This study requires another exam first"), _("It's for people who have passed a certain exam."), _NOT_STARTED, _("Pass that exam in the study it belongs to, or ask whoever invited you.")),
    "removed": Trouble(_("You can no longer work on this study"), _("The researchers have ended your participation."), _KEPT, _("If you think this is a mistake, write to the researchers.")),
    "left": Trouble(_("You have left this study"), _("You stopped, and your open task was given back."), _KEPT, _YOUR_PAGE),
    "full": Trouble(_("You have done all your tasks"), _("You have reached the maximum number of tasks per person."), _KEPT, format_lazy("{} {}", _("Thank you."), _YOUR_PAGE)),
    "not_now": Trouble(_("Not yet"), _("Another step comes first."), _KEPT, _("Go back to the study and continue from there."), 409),
    "panel_needed": Trouble(_("Open this study from Prolific"), _("This study takes its participants from Prolific."), _NOT_STARTED, _("If you take part on Prolific, open the study again from there."), 403),
    "panel_link": Trouble(_("We couldn't check your link"), _("The link from Prolific is incomplete, has expired, or was already used in another browser."), _LINK_KEPT, _("Go back to Prolific and open the study again from there."), 403),
    "panel_known": Trouble(_("This study was started in another browser"), _("Somebody with your Prolific ID has already started this study in another browser."), _LINK_KEPT, _("Continue in the browser where you started. If you can't, write to the researchers on Prolific."), 403),
    "panel_account": Trouble(_("Log in to continue"), _("You started this study with an account, so the link alone isn't enough."), _LINK_KEPT, _("Log in, then open the study again from Prolific."), 403),
    "panel_down": Trouble(_("We can't check links from Prolific at the moment"), _("Prolific's server didn't respond."), _LINK_KEPT, _("Reload this page in a few minutes."), 503),
    "panel_ended": Trouble(_("Your submission on Prolific has ended"), _("You returned it, or its time ran out. A task you had open was given to someone else."), _("Everything you submitted is saved. Prolific decides whether a submission that has ended is paid."), _("If this is a mistake, write to the researchers on Prolific.")),
    "conflict": Trouble(_("Already answered"), _("You already gave a different answer to this step. Your first answer stands."), _("Your first answer counts."), _NEXT_TASK, 409),
}  # fmt: skip


def trouble(request: HttpRequest, kind: str, *, message: str = "", slug: str = "") -> HttpResponse:
    """The page for a kind of trouble; ``message``, if given, replaces its description of what happened."""
    what = TROUBLES[kind]
    url, label = _next(request, kind, slug)
    context = {
        "trouble": what,
        "kind": kind,
        "happened": message or what.happened,
        "next_url": url,
        "next_label": label,
    }
    return render(request, "annotator/trouble.html", context, status=what.status)


def _next(request: HttpRequest, kind: str, slug: str) -> tuple[str, StrOrPromise]:
    """Where the button of a trouble page leads, and what it says."""
    if kind in ("panel_needed", "panel_link", "panel_known", "panel_ended"):
        return PROLIFIC_SITE, _("Go to Prolific")
    if kind == "panel_account":
        return reverse("annotator:login"), _("Log in")
    if kind == "panel_down":
        return request.get_full_path(), _("Try again")
    if not slug:
        return reverse("annotator:me"), _("Your page")
    label = _("Go to the open task") if kind == "elsewhere" else _("Back to the study")
    return reverse("annotator:study", args=[slug]), label


def says_refusals(view: View) -> View:
    """Decorate a view: render a service's refusal as its trouble page."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except Refused as error:
            slug = error.slug or kwargs.get("slug", "")
            return trouble(request, error.kind, message=str(error), slug=slug)
        except Conflict as error:
            return trouble(request, "conflict", message=str(error), slug=kwargs.get("slug", ""))

    return wrapped


def participant(request: HttpRequest, slug: str) -> Participation:
    """The user's participation in a study; 404 if they have none."""
    participation = participation_get_for(user_id=request.user.pk, slug=slug) if request.user.pk else None
    if participation is None:
        raise Http404("you take part in no such study")
    study_language_use(request, participation.study)
    return participation


def at_step(step: Step) -> Callable[[View], View]:
    """Only for participants at this step; redirect everyone else to their own step, so that no step is skipped."""

    def decorate(view: View) -> View:
        @wraps(view)
        @says_refusals
        def wrapped(request: HttpRequest, slug: str, **kwargs: Any) -> HttpResponse:
            participation = participant(request, slug)
            if participation_step(participation) != step:
                return redirect("annotator:study", slug=slug)
            return view(request, participation, **kwargs)

        return wrapped

    return decorate


def new_account_count(request: HttpRequest, study: Study | None = None) -> None:
    """Count a new account; raises ``Refused`` if there were too many from the same address in the last hour.

    Counted for the whole server and, if the person is joining a study, for that study.
    """
    limits = []
    if study is not None and study.joins_per_address is not None:
        limits.append(Limit(("account", "address"), study.joins_per_address, 60))
    counted = attempt_count(
        kind=LoginAttempt.Kind.JOIN,
        account=f"study {study.pk}" if study else "",
        address=client_address(request),
        limits=limits,
    )
    if counted is None:
        raise Refused(
            "too_many",
            gettext("Too many people have joined from your network in the last hour. Try again in an hour."),
        )


def safe_url(request: HttpRequest, url: str, default: str) -> str:
    """``url`` if it is a path of this site, or an address on it; otherwise ``default``."""
    # Django's redirect() takes a text without a slash for the name of a view.
    allowed = "/" in url and url_has_allowed_host_and_scheme(
        url, {request.get_host()}, require_https=request.is_secure()
    )
    return url if allowed else default


def return_url(participation: Participation, code: str) -> str:
    """The address at the participant's recruitment panel for this completion code; empty for people who didn't come from
    a panel, and without a code. Only pages on which somebody's work has ended use it.
    """
    if participation.recruiter != PROLIFIC or not code:
        return ""
    return return_link(code)
