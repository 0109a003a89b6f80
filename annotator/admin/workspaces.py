"""Workspaces in the admin: the researcher's list, a page for each with its members, and new ones."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.html import format_html
from django.views.decorators.http import require_safe
from unfold.admin import ModelAdmin
from unfold.decorators import display

from annotator.admin.access import OWNER, AddedByService
from annotator.admin.study_pages.audit import audit_context, audit_file
from annotator.core import converters  # noqa: F401 - registers them
from annotator.core.row_ids import row_id
from annotator.core.service_errors import errors_add
from annotator.core.workspace_use import figures_of, files_of
from annotator.forms.workspace import (
    MemberForm,
    NewWorkspaceForm,
    WorkspaceLimitsForm,
    WorkspaceSettingsForm,
)
from annotator.models import Workspace
from annotator.selectors.storage import MEGABYTE
from annotator.selectors.user import user_of
from annotator.selectors.workspace import workspace_get_for, workspace_role, workspaces_for
from annotator.services.workspace import (
    workspace_delete,
    workspace_limits_set,
    workspace_member_remove,
    workspace_member_set,
    workspace_update,
)


@admin.register(Workspace)
class WorkspaceAdmin(AddedByService):
    """The researcher's own workspaces. A row leads to its members."""

    add_form = NewWorkspaceForm
    fields = ("name",)
    list_display = ("name_shown", "created_at")
    list_display_links = None
    search_fields = ("name",)

    def get_queryset(self, request: HttpRequest) -> Any:
        return workspaces_for(user=request.user)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_staff)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_staff)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @display(description="Workspace", ordering="name")
    def name_shown(self, workspace: Workspace) -> str:
        return format_html('<a href="{}/members/">{}</a>', workspace.pk, workspace.name)

    def response_add(
        self, request: HttpRequest, obj: Workspace, post_url_continue: Any = None
    ) -> HttpResponse:
        messages.success(request, "Workspace created. Add its members.")
        return redirect("admin:workspace_members", obj.pk)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        return redirect("admin:workspace_members", row_id(object_id))

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view
        own = [
            path("<row:pk>/members/", view(members), name="workspace_members"),
            path("<row:pk>/audit/", view(audit), name="workspace_audit"),
        ]
        return [*own, *ModelAdmin.get_urls(self)]


def members(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the members to each of them; let an owner add, change and remove them."""
    workspace = workspace_get_for(user=request.user, pk=pk)
    form = MemberForm(request.POST if "username" in request.POST else None)
    rules = WorkspaceSettingsForm(request.POST if "settings" in request.POST else None, instance=workspace)
    limits = WorkspaceLimitsForm(request.POST if "limits" in request.POST else None, instance=workspace)
    if request.method == "POST":
        workspace = workspace_get_for(user=request.user, pk=pk, role=OWNER)
        if "limits" in request.POST and (done := _limit(request, workspace, limits)):
            return done
        asked = "settings" in request.POST or "delete" in request.POST
        if asked and (done := _change(request, workspace, rules)):
            return done
        removed = row_id(request.POST.get("remove"))
        try:
            if removed:
                workspace_member_remove(workspace=workspace, user_pk=removed)
                messages.success(request, "The member was removed.")
                return redirect("admin:workspace_members", pk)
            if form.is_valid():
                member = workspace_member_set(workspace=workspace, **form.cleaned_data)
                messages.success(
                    request, f"{member.user} is {member.get_role_display()} in this workspace now."
                )
                return redirect("admin:workspace_members", pk)
        except ValidationError as error:
            if removed:
                messages.error(request, " ".join(error.messages))
                return redirect("admin:workspace_members", pk)
            errors_add(form, error)
    context = {
        **admin.site.each_context(request),
        "title": workspace.name,
        "opts": Workspace._meta,
        "workspace": workspace,
        "members": workspace.members.select_related("user").order_by("user__username"),
        "may_change": workspace_role(user=request.user, workspace=workspace) == OWNER,
        "form": form,
        "rules": rules,
        "limits": limits,
        "files": files_of(workspace.pk),
        "figures": figures_of(workspace.pk),
        "most_bytes": (workspace.storage_megabytes or 0) * MEGABYTE,
    }
    context["used_bytes"] = sum(context["files"].values())
    failed = form.errors or rules.errors or limits.errors
    return render(request, "admin/annotator/workspace_members.html", context, status=400 if failed else 200)


def _limit(request: HttpRequest, workspace: Workspace, limits: WorkspaceLimitsForm) -> HttpResponse | None:
    """Save the limits, which an operator of the installation may; None where the form shows errors."""
    if not request.user.is_superuser:
        raise PermissionDenied
    if limits.is_valid():
        try:
            workspace_limits_set(workspace=workspace, by=user_of(request), **limits.cleaned_data)
            messages.success(request, "Limits saved.")
            return redirect("admin:workspace_members", workspace.pk)
        except ValidationError as error:
            errors_add(limits, error)
    return None


def _change(request: HttpRequest, workspace: Workspace, rules: WorkspaceSettingsForm) -> HttpResponse | None:
    """Save the settings or delete the workspace; None where the form shows errors."""
    try:
        if "delete" in request.POST:
            workspace_delete(workspace=workspace, by=user_of(request))
            messages.success(request, f"The workspace {workspace.name} was deleted.")
            return redirect("admin:annotator_workspace_changelist")
        if rules.is_valid():
            workspace_update(workspace=workspace, by=user_of(request), **rules.cleaned_data)
            messages.success(request, "Settings saved.")
            return redirect("admin:workspace_members", workspace.pk)
    except ValidationError as error:
        if "delete" in request.POST:
            messages.error(request, " ".join(error.messages))
            return redirect("admin:workspace_members", workspace.pk)
        errors_add(rules, error)
    return None


@require_safe
def audit(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Who changed or viewed what in a workspace and its studies, for its owners; also as CSV."""
    workspace = workspace_get_for(user=request.user, pk=pk, role=OWNER)
    if "csv" in request.GET:
        return audit_file(request, workspace=workspace)
    found = audit_context(request, workspace=workspace)
    context = {
        **admin.site.each_context(request), "title": f"Audit trail of {workspace.name}", "opts": Workspace._meta,
        "workspace": workspace, **found,
    }  # fmt: skip
    status = 400 if found["form"].errors else 200
    return render(request, "admin/annotator/workspace_audit.html", context, status=status)
