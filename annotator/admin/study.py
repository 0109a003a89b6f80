"""The home page of studies and the form of a new one. A study's own pages are in ``study_pages``."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import path

from annotator.admin.access import EDITOR, StudyScoped
from annotator.admin.study_pages import actions, home, settings
from annotator.admin.study_pages import urls as study_page_urls
from annotator.core.row_ids import row_id
from annotator.models import Study


@admin.register(Study)
class StudyAdmin(StudyScoped):
    study_path = ""
    change_role = EDITOR

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """The home page."""
        return home.home(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_staff)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """The form of a new study."""
        return home.new(request)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """The study's settings, in the frame of its other pages."""
        return cast(HttpResponse, settings.settings(request, row_id(object_id)))

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
