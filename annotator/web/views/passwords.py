"""Password reset by an emailed link. The pages never reveal whether an address has an account."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import views as auth
from django.contrib.auth.forms import PasswordResetForm
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.translation import get_language, override
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache

from annotator.accounts.attempts import attempt_count, client_address
from annotator.accounts.login_throttle import ThrottledPasswordChangeForm
from annotator.core.language import language_known
from annotator.models import LoginAttempt
from annotator.web.views.common import trouble

#: Resets are limited per hour, logins per 15 minutes (``annotator.accounts.attempts.LIMITS``).
TOO_MANY_RESETS = _("Too many attempts. Try again in an hour.")


class ResetForm(PasswordResetForm):
    """Writes the email in the language that its reader chose for their account."""

    def send_mail(self, *args: Any, **kwargs: Any) -> None:
        subject, body, context, *rest = args
        with override(language_known(context["user"].language) or get_language()):
            super().send_mail(subject, body, context, *rest, **kwargs)


@method_decorator(never_cache, name="dispatch")
class PasswordReset(auth.PasswordResetView):
    template_name = "annotator/password_reset.html"
    form_class = ResetForm
    subject_template_name = "annotator/password_reset_subject.txt"
    email_template_name = "annotator/password_reset_mail.txt"
    success_url = reverse_lazy("annotator:password_reset_sent")

    def form_valid(self, form: PasswordResetForm) -> HttpResponse:
        if attempt_count(kind=LoginAttempt.Kind.RESET, address=client_address(self.request)) is None:
            form.add_error(None, TOO_MANY_RESETS)
            return self.render_to_response(self.get_context_data(form=form), status=429)
        if attempt_count(kind=LoginAttempt.Kind.MAIL, account=form.cleaned_data["email"]) is None:
            # Respond as usual, so as not to reveal whether the address has an account, but send nothing.
            return redirect(self.success_url)
        return super().form_valid(form)


@method_decorator(never_cache, name="dispatch")
class PasswordResetSent(auth.PasswordResetDoneView):
    template_name = "annotator/password_reset_sent.html"


@method_decorator(never_cache, name="dispatch")
class PasswordChange(auth.PasswordChangeView):
    form_class = ThrottledPasswordChangeForm
    template_name = "annotator/password_change.html"
    success_url = reverse_lazy("annotator:password_done")

    def form_invalid(self, form: Any) -> HttpResponse:
        return self.render_to_response(
            self.get_context_data(form=form), status=429 if form.throttled else 200
        )


class PasswordResetConfirm(auth.PasswordResetConfirmView):
    template_name = "annotator/password_reset_confirm.html"
    success_url = reverse_lazy("annotator:password_done")

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = super().dispatch(request, *args, **kwargs)
        if not getattr(self, "validlink", False) and response.status_code == 200:
            return trouble(request, "reset_link")
        return response
