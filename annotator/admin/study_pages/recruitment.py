"""What to enter at a study's recruitment panel, and what the panel has told us."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from annotator.admin.study_pages.frame import EDITOR, VIEWER, render, study_page
from annotator.admin.study_pages.panel_connecting import ACTIONS, connection_context, connection_post
from annotator.admin.study_pages.panel_study import ACTIONS as STUDY_ACTIONS
from annotator.admin.study_pages.panel_study import panel_study_post, sides_of
from annotator.core.service_errors import errors_add
from annotator.forms.study_pages import WebhookSecretForm
from annotator.models import PanelLinks, Study
from annotator.recruitment.panel import SCREENED_OUT
from annotator.recruitment.registry import panel_get
from annotator.recruitment.stand_in.about import stand_in_about
from annotator.selectors.panel import panel_summary, recent_events
from annotator.selectors.study import study_get_for
from annotator.selectors.user import user_of
from annotator.services.panel_events import panel_secret_set
from foretell import env


@study_page(VIEWER, methods=("GET", "HEAD", "POST"), people="recruitment")
def recruitment(request: HttpRequest, study: Study) -> HttpResponse:
    """The link for the panel, its webhooks and their secret, and the state of studies and submissions there."""
    panel = panel_get(study.panel)
    shown: dict[str, Any] = {}
    if request.method == "POST" and request.POST.get("do") in ACTIONS and panel is not None:
        study_get_for(user=request.user, pk=study.pk, role=EDITOR)
        wrong = connection_post(request, study, panel)
        if wrong is None:
            return redirect("admin:study_recruitment", study.pk)
        shown = wrong
    if request.method == "POST" and request.POST.get("do") in STUDY_ACTIONS and panel is not None:
        study_get_for(user=request.user, pk=study.pk, role=EDITOR)
        panel_study_post(request, study, panel)
        return redirect("admin:study_recruitment", study.pk)
    sent = request.POST if request.method == "POST" and not shown else None
    for_links = panel is not None and panel.shared_secret
    form = WebhookSecretForm(sent, hint=panel.hints.get("secret", "") if panel else "", links=for_links)
    if sent is not None:
        study_get_for(user=request.user, pk=study.pk, role=EDITOR)
        if form.is_valid():
            try:
                panel_secret_set(study=study, by=user_of(request), secret=form.cleaned_data["secret"])
            except ValidationError as error:
                errors_add(form, error)
            else:
                set_now = bool(form.cleaned_data["secret"])
                refused = "Signed links" if for_links else "Webhooks"
                messages.success(
                    request, "Secret saved." if set_now else f"Secret removed. {refused} are refused now."
                )
                return redirect("admin:study_recruitment", study.pk)
    link = request.build_absolute_uri(reverse("annotator:invitation", args=[study.join_token]))
    context: dict[str, Any] = {
        "panel": panel,
        "link": link,
        "stand_in": {"on": env.PANEL_STAND_IN, **stand_in_about()},
        **connection_context(request, study, panel),
        **shown,
    }
    if panel is not None:
        codes = [
            (code, getattr(study, code.field), code.missing.format(panel=panel.title)) for code in panel.codes
        ]
        webhooks = reverse("annotator:panel_webhook", args=[panel.name, study.join_token])
        context |= {
            "link": panel.link(link),
            "link_words": panel.link_words(study.panel_links == PanelLinks.SIGNED),
            "codes": [code for code in codes if study.exam_required or code[0] != SCREENED_OUT],
            "sides": sides_of(request, study, panel) if context.get("connection") else [],
            "hooked": bool(context.get("connection") and context["connection"].hooks.get(str(study.pk))),
            "webhooks": request.build_absolute_uri(webhooks),
        }
    return render(
        request, study, "recruitment", tab="settings", title=f"Recruitment of {study.title}", form=form,
        summary=panel_summary(study), events=recent_events(study), status=400 if form.errors or shown else 200, **context,
    )  # fmt: skip
