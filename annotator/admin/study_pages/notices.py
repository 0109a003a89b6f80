"""What a researcher wants emails about."""

from __future__ import annotations

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods

from annotator.core.service_errors import errors_add
from annotator.forms.notices import NoticeForm
from annotator.models import NoticeChoices
from annotator.selectors.user import user_of
from annotator.services.notices import notice_choices_set


@require_http_methods(["GET", "HEAD", "POST"])
def notices(request: HttpRequest) -> HttpResponse:
    """Show and store the researcher's own choices."""
    user = user_of(request)
    form = NoticeForm(request.POST or None, instance=NoticeChoices.objects.filter(user=user).first())
    if request.method == "POST" and form.is_valid():
        try:
            notice_choices_set(user=user, site=request.build_absolute_uri("/"), choices=form.cleaned_data)
        except ValidationError as error:
            errors_add(form, error)
        else:
            messages.success(request, "Saved.")
            return redirect("admin:notices")
    context = {
        **admin.site.each_context(request),
        "title": "Your emails",
        "form": form,
        "address": user.email,
    }
    return TemplateResponse(
        request, "admin/annotator/study_pages/notices.html", context, status=400 if form.errors else 200
    )
