"""Who may do what in the admin. Every decision goes through ``studies_for``."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import RelatedOnlyFieldListFilter
from django.contrib.admin.utils import unquote
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from unfold.admin import ModelAdmin

from annotator.core.service_errors import ShowsServiceErrors
from annotator.forms.service import ServiceForm
from annotator.models import Membership
from annotator.selectors.study import log, roles_from, studies_for
from annotator.selectors.user import user_of
from annotator.selectors.workspace import owned_by, roles_held, workspace_anywhere
from annotator.services.audit import people_viewed

#: A list's filter by workspace; it offers the workspaces of the rows that the researcher may see.
BY_WORKSPACE = ("workspace", RelatedOnlyFieldListFilter)
VIEWER, EDITOR, OWNER = Membership.Role.VIEWER, Membership.Role.EDITOR, Membership.Role.OWNER


class StudyScoped(ModelAdmin):
    """Rows of a study: its researchers see them, and those whose role allows it change them.

    ``study_path`` is the look-up from the model to the study. Services write the rows, so nothing can be added,
    changed or deleted here unless a subclass sets ``add_role`` or ``change_role``.
    """

    study_path = "study"
    change_role: str | None = None
    add_role: str | None = None
    #: Whether the rows contain participants' data. The audit trail then records who viewed them.
    shows_people = False
    list_per_page = 50
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return self.reachable(request, VIEWER)

    def reachable(self, request: HttpRequest, role: str) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        if self.study_path == "":
            return rows.filter(pk__in=studies_for(user=request.user, role=role))
        return rows.filter(**{f"{self.study_path}__in": studies_for(user=request.user, role=role)})

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        response = super().changelist_view(request, extra_context)
        found = getattr(response, "context_data", None) or {}
        if self.shows_people and "cl" in found:
            self._viewed(request, list(found["cl"].result_list))
        return response

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Any = None,
    ) -> HttpResponse:
        response = super().changeform_view(request, object_id, form_url, extra_context)
        if self.shows_people and object_id and request.method == "GET" and response.status_code == 200:
            self._viewed(request, list(self.get_queryset(request).filter(pk=unquote(object_id))))
        return response

    def _viewed(self, request: HttpRequest, rows: list[Any]) -> None:
        page = str(self.opts.verbose_name_plural)
        people_viewed(by=request.user, page=page, **self.owners_shown(request, rows))

    def owners_shown(self, request: HttpRequest, rows: list[Any]) -> dict[str, Any]:
        """The studies or workspaces whose participants the rows are about, for the audit trail."""
        return {"studies": {row.study for row in rows}}

    def may(self, request: HttpRequest, obj: Model | None, role: str | None) -> bool:
        if role is None or not request.user.is_staff:
            return False
        if obj is None:
            return self.may_anywhere(request, role)
        return self.reachable(request, role).filter(pk=obj.pk).exists()

    def may_anywhere(self, request: HttpRequest, role: str) -> bool:
        return request.user.is_superuser or role_anywhere(request, role)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_staff)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return bool(request.user.is_staff) and (obj is None or self.may(request, obj, VIEWER))

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self.may(request, obj, self.change_role)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.may(request, None, self.add_role)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def _get_obj_does_not_exist_redirect(
        self, request: HttpRequest, opts: Any, object_id: str
    ) -> HttpResponse:
        log.warning("%s %s: access denied to user %s", opts.model_name, object_id, request.user.pk)
        raise Http404(f"no such {opts.verbose_name}")


class WorkspaceScoped(StudyScoped):
    """Rows of a workspace, for its members by their role there. ``workspace_path`` leads from the model to it."""

    workspace_path = "workspace"

    def reachable(self, request: HttpRequest, role: str) -> QuerySet[Any]:
        rows = ModelAdmin.get_queryset(self, request)
        return rows.filter(owned_by(user=request.user, role=role, path=self.workspace_path))

    def owners_shown(self, request: HttpRequest, rows: list[Any]) -> dict[str, Any]:
        return {"workspaces": {row.workspace for row in rows if row.workspace}}

    def may_anywhere(self, request: HttpRequest, role: str) -> bool:
        return workspace_anywhere(user=request.user, role=role)


def role_anywhere(request: HttpRequest, role: str) -> bool:
    """Whether the researcher has this role in some study; looked up once per request, since every page asks several
    times."""
    held = roles_held(user=user_of(request))
    return any(one in held.in_studies or one in held.in_workspaces for one in roles_from(role))


class AddedByService(ShowsServiceErrors, StudyScoped):
    """A list whose new rows come from a ``ServiceForm`` (``add_form``). A mixin beside ``WorkspaceScoped`` too."""

    add_form: type[ServiceForm]

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        if obj is None:
            kwargs["form"] = self.add_form
        form = super().get_form(request, obj, change, **kwargs)
        form.by = user_of(request)
        return self.with_service_error(request, form)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save a change; the service has stored what is new."""
        if change:
            super().save_model(request, obj, form, change)
