"""Shared by the annotators' views: the user's participation, and the pages for refusals."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotator.accounts.attempts import Limit, attempt_count, client_address
from annotator.accounts.receipt import receipt_done, receipt_path
from annotator.core.errors import Conflict, Refused, Trouble
from annotator.models import LoginAttempt, Participation, Study
from annotator.recruitment.panel import Panel
from annotator.recruitment.registry import panel_get
from annotator.selectors.participation import Step, participation_get_for, participation_step
from annotator.web.exits import exit_shown
from annotator.web.language import study_language_use

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise

View = Callable[..., HttpResponse]


_KEPT = _("Everything you submitted is saved and counts towards your pay.")
_NOT_STARTED = _("You haven't started, so nothing is lost.")
_YOUR_PAGE = _("Your page shows your work and your pay.")
_NEXT_TASK = _("Continue with the next task.")
TROUBLES: dict[str, Trouble] = {
    "not_found": Trouble(_("Page not found"), _("There is no page at this address, or it isn't one of yours."), _KEPT, _("Go to your page to see your studies."), 404),
    "login": Trouble(_("You're not logged in"), _("You were logged out, or your browser has deleted its cookies."), _("Everything you submitted before is saved and counts towards your pay. An answer that couldn't be sent is saved on this device and will be sent once you're back."), _("Log in. If you joined without an account, open your personal link, or the study from where you found it."), 404),
    "link": Trouble(_("This link is not valid"), _("The link is incomplete, or its study no longer exists."), _NOT_STARTED, _("Copy the whole link from the invitation, or ask whoever sent it."), 404),
    "reset_link": Trouble(_("This link has expired"), _("A link to choose a new password works once and expires after one day."), _("This doesn't affect your work or your pay."), _("Ask for a new link on the log-in page."), 404),
    "return_link": Trouble(_("This link no longer works"), _("A personal link works until its owner sets a password, and only as a whole."), _KEPT, _("Copy the whole link, or log in with your username and password.")  , 404),
    "too_many": Trouble(_("Too many new participants"), _("Too many people have joined from your network in the last hour."), _NOT_STARTED, _("Try again in an hour."), 429),
    "too_many_studies": Trouble(_("You have joined many studies today"), _("You've reached the limit of studies that one person can join in a day."), _KEPT, _("Try again tomorrow."), 429),
    "elsewhere": Trouble(_("You have a task open in another study"), _("Without an account, you can work on one task at a time."), _KEPT, _("Submit or skip that task first. With an account you can work on several studies.")),
    "wait": Trouble(_("Take a break"), _("You have skipped or not finished many tasks in the last hour."), _KEPT, _("Try again in an hour."), 429),
    "paused": Trouble(_("The study is paused"), _("The researchers are not giving out tasks at the moment."), _KEPT, _("Come back later with the same link.")),
    "closed": Trouble(_("This study is closed"), _("It is no longer open."), _KEPT, _("There is nothing more to do. Your page shows what you did.")),
    "lease_expired": Trouble(_("Time is up for this task"), _("The task was given to someone else."), _("Your earlier answers are saved and count towards your pay. Your answer to this task was not submitted."), _NEXT_TASK),
    "already_done": Trouble(_("Already done"), _("You have already submitted this task."), _KEPT, _NEXT_TASK),
    "no_places": Trouble(_("All places are taken"), _("Others are doing all the tasks of this study at the moment."), _KEPT, _("Open the study again later. Its page can tell you when there are places again.")),
    "not_qualified": Trouble(_("You didn't qualify for this study"), _("You didn't pass the exam, and you have no attempts left."), _("You'll be paid for the exam as the invitation says. Not passing doesn't count against you in other studies."), _("There is nothing more to do.")),
    "needs": Trouble(_("This study requires another exam first"), _("It's for people who have passed a certain exam."), _NOT_STARTED, _("Pass that exam in the study it belongs to, or ask whoever invited you.")),
    "removed": Trouble(_("You can no longer work on this study"), _("The researchers have ended your participation."), _KEPT, _("If you think this is a mistake, write to the researchers.")),
    "left": Trouble(_("You have left this study"), _("You stopped, and your open task was given back."), _KEPT, _YOUR_PAGE),
    "full": Trouble(_("You have done all your tasks"), _("You have reached the maximum number of tasks per person."), _KEPT, format_lazy("{} {}", _("Thank you."), _YOUR_PAGE)),
    "not_now": Trouble(_("Not yet"), _("Another step comes first."), _KEPT, _("Go back to the study and continue from there."), 409),
    "conflict": Trouble(_("Already answered"), _("You already gave a different answer to this step."), _("Your first answer counts."), _NEXT_TASK, 409),
}  # fmt: skip
#: Those after which a participant can't continue, at least for now: their pages have the code for it.
ENDS = {"paused", "closed", "removed", "not_qualified", "needs", "panel_ended"}


def trouble(
    request: HttpRequest, kind: str, *, message: str = "", slug: str = "", panel: str = ""
) -> HttpResponse:
    """The page for a kind of trouble; ``message``, if given, replaces its description of what happened. ``panel`` is the
    name of the recruitment panel that it is about."""
    if kind == "login" and (asked := receipt_done(request)):
        return redirect(receipt_path(asked))
    about = panel_get(panel)
    what = about.troubles[kind] if about else TROUBLES[kind]
    context = {
        "trouble": what,
        "kind": kind,
        "happened": message or what.happened,
    } | _next_step(request, kind, slug, about)
    if kind in ENDS and slug and request.user.pk is not None:
        participation = participation_get_for(user_id=int(request.user.pk), slug=slug)
        context |= exit_shown(participation) if participation is not None else {}
    if "ending" in context:
        context |= {"next_url": reverse("annotator:me"), "next_label": _("Your page")}
    return render(request, "annotator/trouble.html", context, status=what.status)


def panel_ended(request: HttpRequest, participation: Participation) -> HttpResponse:
    """The page for somebody whose submission has ended at their panel, in words for the way in which it has."""
    panel = panel_get(participation.recruiter)
    if panel is None:
        return trouble(request, "left", slug=participation.study.slug)
    message = str(panel.ended_words(participation.panel_status))
    return trouble(
        request, "panel_ended", message=message, slug=participation.study.slug, panel=participation.recruiter
    )


def _next_step(request: HttpRequest, kind: str, slug: str, panel: Panel | None) -> dict[str, StrOrPromise]:
    """Where the button of a trouble page leads, and what it says."""
    if kind in ("login", "panel_account"):
        back = request.path if request.method == "GET" and kind == "login" else reverse("annotator:home")
        next_url = f"{reverse('annotator:login')}?{urlencode({'next': back})}"
        return {"next_url": next_url, "next_label": _("Log in")}
    if kind == "panel_down":
        return {"next_url": request.get_full_path(), "next_label": _("Try again")}
    if panel is not None and panel.site:
        return {"next_url": panel.site, "next_label": panel.site_label}
    if not slug:
        return {"next_url": reverse("annotator:me"), "next_label": _("Your page")}
    label = _("Go to the open task") if kind == "elsewhere" else _("Back to the study")
    return {"next_url": reverse("annotator:study", args=[slug]), "next_label": label}


def says_refusals(view: View) -> View:
    """Decorate a view: render a service's refusal as its trouble page."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except Refused as error:
            slug = error.slug or kwargs.get("slug", "")
            return trouble(request, error.kind, message=str(error), slug=slug, panel=error.panel)
        except Conflict as error:
            return trouble(request, "conflict", message=str(error), slug=kwargs.get("slug", ""))

    return wrapped


def signed_in(request: HttpRequest) -> int:
    """The id of the user; raises ``Refused`` if nobody is logged in."""
    if request.user.pk is None:
        raise Refused("login", gettext("You were logged out, or your browser has deleted its cookies."))
    return int(request.user.pk)


def participant(request: HttpRequest, slug: str) -> Participation:
    """The user's participation in a study; 404 if they have none. ``Refused`` says so if nobody is logged in."""
    participation = participation_get_for(user_id=signed_in(request), slug=slug)
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
