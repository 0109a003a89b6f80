"""What annotators' views share: who is asking, and the page that answers a refusal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from annotator.core.errors import Conflict, Refused
from annotator.models import Participation
from annotator.selectors.participation import Step, participation_get_for, participation_step

View = Callable[..., HttpResponse]


@dataclass(frozen=True)
class Trouble:
    """One page for each end and each trouble: what happened, what it means for the pay, what to do now."""

    title: str
    happened: str
    pay: str
    now: str
    status: int = 200


_KEPT = "Everything you submitted is saved and counts for your pay."
TROUBLES: dict[str, Trouble] = {
    "not_found": Trouble("Not found", "This page is not among yours, or no longer there.", _KEPT, "Go to your own page to see your studies.", 404),
    "link": Trouble("This link is not valid", "The link is incomplete, or the study it led to is gone.", "Nothing is lost; you have not started.", "Copy the whole link from the invitation, or ask whoever sent it.", 404),
    "reset_link": Trouble("This link does not work any more", "A link to a new password works once, and for one day.", "Nothing is lost.", "Ask for a new link on the log-in page.", 404),
    "paused": Trouble("The study is paused", "The researchers have stopped giving out tasks for now.", _KEPT, "Come back later with the same link."),
    "closed": Trouble("This study is over", "It is not open any more.", _KEPT, "There is nothing more to do here. Your own page shows what you did."),
    "nothing_left": Trouble("Nothing left for you right now", "All tasks that you could do are done or in other people's hands.", _KEPT, "If somebody gives a task back it becomes free: look again later."),
    "lease_expired": Trouble("The time for this task was over", "It was given to somebody else.", "Your earlier answers are saved and count for your pay. This one was not submitted.", "Go on with the next task."),
    "already_done": Trouble("Already done", "You have submitted this task before.", _KEPT, "Go on with the next task."),
    "not_qualified": Trouble("Not qualified for this study", "The exam was not passed, and there are no attempts left.", "What the invitation says about the exam's pay holds. Not passing is not held against you.", "There is nothing more to do here."),
    "needs": Trouble("This study needs something first", "It is for people who have passed a certain exam.", "Nothing is lost.", "Pass that exam in the study that it belongs to, or ask whoever invited you."),
    "removed": Trouble("You cannot work on this study any more", "The researchers have ended your part in it.", _KEPT, "Ask the researchers if you think that this is a mistake."),
    "left": Trouble("You have left this study", "You stopped, and what you had in hand was given back.", _KEPT, "Your own page shows your work and your pay."),
    "full": Trouble("You have done all your tasks", "One person may do only so many in this study.", _KEPT, "Thank you. Your own page shows your work and your pay."),
    "not_now": Trouble("Not yet", "Something comes before this.", "Nothing is lost.", "Go back to the study and take the next step.", 409),
    "conflict": Trouble("Already answered", "This step was answered before, differently. The first answer stays.", "The first answer counts.", "Go on with the next task.", 409),
}  # fmt: skip


def trouble(request: HttpRequest, kind: str, *, message: str = "", slug: str = "") -> HttpResponse:
    """The page of one trouble; ``message`` replaces what happened where the service said it better."""
    what = TROUBLES[kind]
    context = {
        "trouble": what,
        "kind": kind,
        "happened": message or what.happened,
        "next_url": reverse("annotator:study", args=[slug]) if slug else reverse("annotator:me"),
        "next_label": "Back to the study" if slug else "Your own page",
    }
    return render(request, "annotator/trouble.html", context, status=what.status)


def says_refusals(view: View) -> View:
    """Turn a service's refusal into its page."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except Refused as error:
            return trouble(request, error.kind, message=str(error), slug=kwargs.get("slug", ""))
        except Conflict as error:
            return trouble(request, "conflict", message=str(error), slug=kwargs.get("slug", ""))

    return wrapped


def participant(request: HttpRequest, slug: str) -> Participation:
    """The asker's own participation in a study; not theirs is not found."""
    participation = participation_get_for(user_id=request.user.pk, slug=slug) if request.user.pk else None
    if participation is None:
        raise Http404("no such study among yours")
    return participation


def at_step(step: Step) -> Callable[[View], View]:
    """Only for people at this step; everybody else is led to their own. Nobody skips a step."""

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
