"""The list of studies and the form of a new one. A study's own pages are in ``study_pages``."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.utils.html import format_html
from unfold.decorators import display

from annotator.admin.access import BY_WORKSPACE, EDITOR, AddedByService
from annotator.admin.study_pages import actions, settings
from annotator.admin.study_pages import urls as study_page_urls
from annotator.forms.study import NewStudyForm
from annotator.hit_types.registry import hit_type_get
from annotator.models import Study


@admin.register(Study)
class StudyAdmin(AddedByService):
    study_path = ""
    add_form = NewStudyForm
    change_role = EDITOR
    list_display = (
        "title_shown",
        "workspace",
        "type_shown",
        "state_shown",
        "items_shown",
        "judgments_shown",
        "created_at",
    )
    list_display_links = None
    list_filter = (BY_WORKSPACE, "state", "hit_type")
    list_select_related = ("workspace",)
    search_fields = ("title", "slug")
    fields = ("workspace", "template", "title", "slug")
    prepopulated_fields = {"slug": ("title",)}

    @display(description="Title", ordering="title")
    def title_shown(self, study: Study) -> str:
        return format_html('<a href="{}/live/">{}</a>', study.pk, study.title)

    @display(description="HIT type", ordering="hit_type")
    def type_shown(self, study: Study) -> str:
        kind = hit_type_get(study.hit_type)
        return f"{kind.title} ({kind.source})"

    @display(
        description="State", ordering="state", label={"live": "success", "paused": "warning", "draft": "info"}
    )
    def state_shown(self, study: Study) -> str:
        return study.state

    @display(description="Items")
    def items_shown(self, study: Study) -> str:
        return f"{self.counts['items'].get(study.pk, 0):,}"

    @display(description="Judgments")
    def judgments_shown(self, study: Study) -> str:
        return f"{self.counts['judgments'].get(study.pk, 0):,}"

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        # Two grouped counts for the whole list, however long it is.
        self.counts = actions.list_counts(request)
        return super().changelist_view(request, extra_context)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_staff)

    def response_add(self, request: HttpRequest, obj: Study, post_url_continue: Any = None) -> HttpResponse:
        messages.success(request, "Study created. Next, import its material.")
        return redirect("admin:study_live", obj.pk)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """The study's settings, in the frame of its other pages."""
        pk = int(object_id) if object_id.isdecimal() and len(object_id) < 19 else 0
        return cast(HttpResponse, settings.settings(request, pk))

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view
        return [
            path("<int:pk>/do/<slug:name>/", view(actions.do), name="annotator_study_do"),
            path(
                "<int:pk>/export/<slug:form>.<slug:ending>",
                view(actions.export),
                name="annotator_study_export",
            ),
            *study_page_urls.patterns(view),
            *super().get_urls(),
        ]
