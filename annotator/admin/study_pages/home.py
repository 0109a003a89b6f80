"""The home page: the researcher's studies, what needs attention, and background work."""

from __future__ import annotations

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods

from annotator.admin.study_pages.frame import AGAIN_SECONDS, REVIEWER, VIEWER, render, study_page
from annotator.core.background import BackgroundWork, work_of
from annotator.core.kept_figures import figures_kept
from annotator.core.service_errors import errors_add, save_checked
from annotator.forms.study import NewStudyForm
from annotator.models import Rehearsal, Study
from annotator.selectors.home import home_rows, home_studies, needs_words
from annotator.selectors.study import studies_for
from annotator.selectors.user import user_of
from annotator.selectors.workspace import workspaces_for

PAGE = 25
#: How long the page waits for figures of large studies that have never been counted; then a job counts them.
FIRST_SECONDS = 1
#: At most this many workspaces are in the menu; only operators have more.
MOST_WORKSPACES = 200


def home(request: HttpRequest) -> HttpResponse:
    """List the studies with what needs the researcher's attention, and running background work."""
    query = (request.GET.get("q") or "").replace("\x00", "")[:200].strip()
    state, archived = request.GET.get("state", ""), "archived" in request.GET
    workspaces = list(workspaces_for(user=request.user).order_by("name", "pk")[:MOST_WORKSPACES])
    asked = request.GET.get("workspace", "")
    chosen = next((workspace for workspace in workspaces if str(workspace.pk) == asked), None)
    found = home_studies(
        user=request.user,
        query=query,
        state=state,
        archived=archived,
        workspace=chosen.pk if chosen else None,
    )
    page = Paginator(found, PAGE).get_page(request.GET.get("p"))
    studies = list(page)
    large = [study.pk for study in studies if study.is_large]  # type: ignore[attr-defined]
    with figures_kept(*large, limit=FIRST_SECONDS) as figures:
        rows = home_rows(studies)
    work = [one for one in work_of(user=user_of(request)) if one.running or one.failed]
    kept = {"q": query, "state": state, "workspace": chosen.pk if chosen else ""}
    kept |= {"archived": "1"} if archived else {}
    context = {
        **admin.site.each_context(request), "title": "Studies", "rows": rows, "page": page, "query": query,
        "state": state, "states": Study.State.choices, "archived": archived, "workspaces": workspaces if len(workspaces) > 1 else [], "workspace": chosen, "needs": needs_words(rows),
        "work": (rehearsals(request) + work)[:20], "kept": urlencode({name: str(value) for name, value in kept.items() if value}),
        "filtered": bool(query or state or archived or chosen), "counted_at": figures.since,
    }  # fmt: skip
    shown = TemplateResponse(request, "admin/annotator/study_pages/home.html", context)
    if any(row.counting for row in rows):
        shown["Refresh"] = str(AGAIN_SECONDS)
    return shown


@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """Make a study from a template."""
    form = NewStudyForm(request.POST or None, by=user_of(request))
    if request.method == "POST" and form.is_valid():
        try:
            study = save_checked(form.save)
        except ValidationError as error:
            errors_add(form, error)
        else:
            messages.success(request, "Study created. Next, import its material.")
            return redirect("admin:study_live", study.pk)
    context = {**admin.site.each_context(request), "title": "New study", "form": form}
    name = "admin/annotator/study_pages/new.html"
    return TemplateResponse(request, name, context, status=400 if form.errors else 200)


def rehearsals(request: HttpRequest) -> list[BackgroundWork]:
    """Rehearsals of the researcher's studies that are running."""
    active = Rehearsal.objects.filter(
        study__in=studies_for(user=request.user), state__in=[Rehearsal.State.QUEUED, Rehearsal.State.RUNNING]
    )
    return [
        BackgroundWork(
            title=f"Rehearsal of {one.study.title}", state=one.get_state_display(), study=one.study_id, running=True,
            url=reverse("admin:study_rehearsal", args=[one.study_id]),
        )
        for one in active.select_related("study")[:20]
    ]  # fmt: skip


@study_page(VIEWER)
def simulators(request: HttpRequest, study: Study) -> HttpResponse:
    """The runs of simulators over a study, and where to start one."""
    return render(
        request, study, "simulators", tab="simulators", title=f"Simulators of {study.title}",
        work=work_of(user=user_of(request), studies=[study.pk], name="runs"), may_run=REVIEWER,
        prompt_url=reverse("admin:evaluation_run_prompt", args=[study.pk]),
        add_url=f"{reverse('admin:evaluation_run_add')}?{urlencode({'kind': 'simulate', 'study': str(study.pk)})}",
    )  # fmt: skip
