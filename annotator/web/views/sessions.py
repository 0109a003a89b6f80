"""Where a person is logged in: their sessions, and the way to end them."""

from __future__ import annotations

from allauth.usersessions.models import UserSession
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotator.accounts.activity import browser_words, sessions_of
from annotator.selectors.user import user_of
from annotator.services.account import sessions_end


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def sessions(request: HttpRequest) -> HttpResponse:
    user = user_of(request)
    mine = request.session.session_key
    if request.method == "POST":
        others = UserSession.objects.filter(user=user).exclude(session_key=mine)
        if (chosen := request.POST.get("session", "")) != "others":
            others = (
                others.filter(pk=int(chosen)) if chosen.isdecimal() and len(chosen) < 19 else others.none()
            )
        sessions_end(sessions=others, user=user, by=user)
        return redirect("annotator:sessions")
    if not UserSession.objects.filter(session_key=mine).exists():  # it began before sessions were listed
        UserSession.objects.create_from_request(request)
    found = [
        {
            "session": session,
            "browser": browser_words(session.user_agent),
            "here": session.session_key == mine,
        }
        for session in sessions_of(user)
    ]
    return render(request, "annotator/sessions.html", {"found": found, "several": len(found) > 1})
