"""The messages of participants: threads with what they are about, answered one by one or several at once."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from annotator.admin.study_pages.frame import REVIEWER, VIEWER, render, study_page
from annotator.core.row_ids import row_id
from annotator.core.words import plural
from annotator.models import Message, Study
from annotator.selectors.message import messages_of, threads_of
from annotator.selectors.study import studies_for, study_get_for
from annotator.selectors.user import user_of
from annotator.services.audit import people_viewed
from annotator.services.message import message_settle, messages_reply

PAGE = 20
KINDS = [
    (kind.value, kind.label) for kind in (Message.Kind.QUESTION, Message.Kind.FLAG, Message.Kind.DELETION)
]


@study_page(VIEWER, methods=("GET", "HEAD", "POST"), people="messages")
def study_messages(request: HttpRequest, study: Study) -> HttpResponse:
    """The threads of a study; a reviewer answers them."""
    if request.method == "POST":
        study_get_for(user=request.user, pk=study.pk, role=REVIEWER)
        try:
            _answer(request, study)
        except ValidationError as error:
            messages.error(request, " ".join(error.messages))
        back = reverse("admin:study_messages", args=[study.pk])
        kept = request.GET.urlencode()
        return redirect(f"{back}?{kept}" if kept else back)
    found = _found(request, Study.objects.filter(pk=study.pk))
    return render(request, study, "messages", tab="participants", title=f"Messages of {study.title}", **found)


def _answer(request: HttpRequest, study: Study) -> None:
    """Send an answer to the chosen messages, or settle them without one."""
    pks = [row_id(text) for text in request.POST.getlist("message")[:1_000]]
    chosen = list(messages_of(study).filter(pk__in=pks))
    if "settle" in request.POST:
        if not chosen:
            raise ValidationError("Select at least one message.")
        for one in chosen:
            message_settle(message=one)
        messages.success(request, f"{plural(len(chosen), 'message')} settled.")
        return
    sent = messages_reply(
        study=study, messages=chosen, by=user_of(request), text=request.POST.get("text", "")
    )
    messages.success(request, f"Answer sent to {plural(len(sent), 'participant')}.")


@require_safe
def inbox(request: HttpRequest) -> HttpResponse:
    """The threads of all studies of the researcher."""
    found = _found(request, studies_for(user=request.user))
    people_viewed(by=request.user, page="messages", studies={thread.study for thread in found["threads"]})
    context = {**admin.site.each_context(request), "title": "Messages", **found}
    return TemplateResponse(request, "admin/annotator/study_pages/inbox.html", context)


def _found(request: HttpRequest, studies: Any) -> dict[str, Any]:
    """The threads that the address asks for, with its filters."""
    query = request.GET.get("q", "").replace("\x00", "").strip()[:200]
    kind = request.GET.get("kind", "") if request.GET.get("kind", "") in dict(KINDS) else ""
    everything = bool(request.GET.get("all"))
    rater = row_id(request.GET.get("rater")) or None
    offset = min(row_id(request.GET.get("from")), 10**9)
    found = threads_of(
        studies, everything=everything or rater is not None, kind=kind, query=query, rater=rater, limit=PAGE + 1, offset=offset
    )  # fmt: skip
    kept = {"q": query, "kind": kind, "all": "1" if everything else "", "rater": str(rater or "")}
    kept = {name: value for name, value in kept.items() if value}
    return {
        "threads": found[:PAGE], "query": query, "kind_chosen": kind, "kinds": KINDS, "everything": everything, "rater": rater,
        "filtered": bool(kept), "following": urlencode(kept | {"from": offset + PAGE}) if len(found) > PAGE else "",
    }  # fmt: skip


def thread_address(request: HttpRequest, pk: int) -> str:
    """The page with the thread of a message that the researcher may see; else not found."""
    one = get_object_or_404(Message, pk=pk, study__in=studies_for(user=request.user))
    return f"{reverse('admin:study_messages', args=[one.study_id])}?rater={one.rater_id}"
