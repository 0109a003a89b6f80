"""A researcher accepts an invitation to a colleague's study."""

from __future__ import annotations

from django.contrib.auth.base_user import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotator.models import User
from annotator.services.membership import invitation_accept, invitation_find
from annotator.web.views.common import trouble


@never_cache
@require_http_methods(["GET", "POST"])
def colleague(request: HttpRequest, token: str) -> HttpResponse:
    """Show the invitation: who sent it, the study and the role. A POST accepts it, with an account that has a password."""
    invitation = invitation_find(token=token)
    if invitation is None:
        return trouble(request, "link")
    user = request.user
    ready = isinstance(user, User) and _has_account(user)
    if request.method == "POST" and ready and isinstance(user, User):
        try:
            member = invitation_accept(token=token, user=user)
        except ValidationError:
            return trouble(request, "link")
        return redirect("admin:study_live", member.study_id)
    context = {
        "invitation": invitation,
        "study": invitation.study,
        "ready": ready,
        "login_url": f"{reverse('annotator:login')}?next={request.path}",
        "signup_url": f"{reverse('annotator:signup')}?next={request.path}",
    }
    return render(request, "annotator/colleague.html", context)


def _has_account(user: AbstractBaseUser) -> bool:
    """Whether the user can log in again: people who joined a study by a link have no password."""
    return user.has_usable_password()
