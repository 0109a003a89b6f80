"""Write to participants first: to those who are selected, or to all who haven't answered."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from annotator.admin.study_pages.frame import REVIEWER, render, study_page
from annotator.core.row_ids import row_id
from annotator.core.words import plural
from annotator.models import Study
from annotator.recruitment.registry import panel_get
from annotator.selectors.message import AUDIENCES, TEMPLATES, audience_of, templates_of
from annotator.selectors.panel_connection import connection_of, may_spend
from annotator.selectors.user import user_of
from annotator.services.message_write import message_template_delete, message_template_save, messages_write

CHOSEN = "chosen"


@study_page(REVIEWER, methods=("GET", "HEAD", "POST"), people="messages")
def message_new(request: HttpRequest, study: Study) -> HttpResponse:
    """A message to one person (``rater``), to several, or to an audience; texts can be kept as templates."""
    asked = request.POST if request.method == "POST" else request.GET
    raters = [pk for pk in map(row_id, asked.getlist("rater")[:10_000]) if pk]
    errors: dict[str, list[str]] = {}
    if request.method == "POST":
        try:
            return _sent(request, study, raters)
        except ValidationError as error:
            errors = error.message_dict if hasattr(error, "error_dict") else {"text": error.messages}
    panel = panel_get(study.panel)
    reachable = panel is not None and panel.review_rules is not None and connection_of(study) is not None
    chosen = list(
        study.participations.filter(rater__in=raters, rater__rehearsal=False).select_related("rater")
    )
    return render(
        request, study, "message_new", tab="participants", title=f"Write to participants of {study.title}",
        chosen=chosen, audience=asked.get("to", CHOSEN if chosen else "unanswered"), chosen_name=CHOSEN,
        audiences=[(name, words, len(audience_of(study, name))) for name, words in AUDIENCES.items()],
        templates=templates_of(study), own_templates=[{"title": title, "text": text} for title, text in TEMPLATES],
        text=asked.get("text", ""), template_title=asked.get("template_title", ""), errors=errors, panel=panel,
        may_send=reachable and may_spend(user=request.user, study=study), through="through_panel" in request.POST,
        status=400 if errors else 200,
    )  # fmt: skip


def _sent(request: HttpRequest, study: Study, raters: list[int]) -> HttpResponse:
    """Do what was pressed. Raises ``ValidationError``."""
    asked, by = request.POST, user_of(request)
    if "forget" in asked:
        message_template_delete(study=study, pk=row_id(asked["forget"]))
        messages.success(request, "Template deleted.")
        return redirect("admin:study_message_new", study.pk)
    text = asked.get("text", "")
    if "keep" in asked:
        made = message_template_save(study=study, title=asked.get("template_title", ""), text=text, by=by)
        messages.success(request, f"Template “{made.title}” saved.")
        return redirect("admin:study_message_new", study.pk)
    through = "through_panel" in asked
    if through and not may_spend(user=request.user, study=study):
        raise ValidationError("Only editors of the workspace may write through the panel.")
    to = asked.get("to", "")
    if to != CHOSEN and to not in AUDIENCES:
        raise ValidationError("Choose who gets the message.")
    people = raters if to == CHOSEN else audience_of(study, to)
    if not people:
        raise ValidationError("Nobody belongs to this group now, so nothing was sent.")
    sent = messages_write(study=study, raters=people, by=by, text=text, through_panel=through)
    words = f"Message sent to {plural(sent.people, 'participant')}."
    if through:
        words += f" {sent.through_panel:,} of them also through the panel."
    words += sent.already_words
    messages.success(request, words)
    return redirect("admin:study_messages", study.pk)
