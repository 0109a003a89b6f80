"""The home page of studies and the form of a new one. A study's own pages are in ``study_pages``."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path

from annotator.admin.access import EDITOR, AddedByService
from annotator.admin.study_pages import actions, home, settings
from annotator.admin.study_pages import urls as study_page_urls
from annotator.forms.study import NewStudyForm
from annotator.models import Study


@admin.register(Study)
class StudyAdmin(AddedByService):
    study_path = ""
    add_form = NewStudyForm
    change_role = EDITOR
    fields = ("workspace", "template", "title", "slug")
    prepopulated_fields = {"slug": ("title",)}

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """The home page."""
        return home.home(request)

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
