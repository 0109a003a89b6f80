"""Joining a study: the invitation behind a link, log-in and sign-up."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth import login
from django.contrib.auth.forms import BaseUserCreationForm
from django.contrib.auth.views import LoginView
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotator.accounts.login_throttle import ThrottledLoginForm, is_throttled
from annotator.accounts.usernames import username_check
from annotator.hit_types.registry import hit_type_get
from annotator.models import Study, User
from annotator.selectors.participation import exam_pay_words
from annotator.selectors.snapshot import snapshot_content
from annotator.services.participation import annotator_create, participation_join
from annotator.web.views.common import says_refusals, trouble

BACKEND = "annotator.accounts.sessions.LoginBackend"


@never_cache
@require_http_methods(["GET", "POST"])
@says_refusals
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """What the study asks, how long it takes and what it pays. A POST joins it, with or without an account."""
    study = Study.objects.filter(join_token=token).exclude(state=Study.State.DRAFT).first()
    if study is None:
        return trouble(request, "link")
    if request.method == "POST":
        user = request.user
        if not user.is_authenticated:
            with transaction.atomic():  # no account is left behind for someone who may not join
                user = annotator_create()
                participation_join(study=study, user=user)
            login(request, user, backend=BACKEND)
        else:
            participation_join(study=study, user=user)
        return redirect("annotator:study", slug=study.slug)
    kind = hit_type_get(study.hit_type)
    return render(
        request,
        "annotator/invitation.html",
        {
            "study": study,
            "task_title": kind.task_title,
            "join_url": request.path,
            "login_url": f"{reverse('annotator:login')}?next={request.path}",
            "signup_url": f"{reverse('annotator:signup')}?next={request.path}",
            "pay_per_hour": float(study.pay_per_item) * 60 / study.minutes_per_item,
            "exam_pay": exam_pay_words(snapshot_content(study.snapshot_id)) if study.exam_required else "",
            "open": study.state == Study.State.LIVE and study.join_open,
        },
    )


class LogIn(LoginView):
    template_name = "annotator/login.html"
    form_class = ThrottledLoginForm
    redirect_authenticated_user = True

    def get_default_redirect_url(self) -> str:
        return reverse("annotator:me")

    def form_invalid(self, form: Any) -> HttpResponse:
        response = super().form_invalid(form)
        if is_throttled(self.request):
            response.status_code = 429
        return response


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
def signup(request: HttpRequest) -> HttpResponse:
    form = SignUpForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        user = form.save()
        login(request, user, backend=BACKEND)
        return redirect(safe_next(request, reverse("annotator:me")))
    return render(request, "annotator/signup.html", {"form": form, "next": request.GET.get("next", "")})


def safe_next(request: HttpRequest, default: str) -> str:
    """The requested page to go to next, if it is on this site; otherwise ``default``."""
    url = request.POST.get("next") or request.GET.get("next") or ""
    allowed = url_has_allowed_host_and_scheme(url, {request.get_host()}, require_https=request.is_secure())
    return url if allowed else default
