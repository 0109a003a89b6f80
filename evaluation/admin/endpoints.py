"""Endpoints in the admin."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path, reverse
from django.views.decorators.http import require_POST
from unfold.admin import ModelAdmin
from unfold.decorators import display

from annotator.core.service_errors import ShowsServiceErrors
from annotator.models import Membership
from annotator.selectors.workspace import workspace_anywhere
from evaluation.admin.base import error_text
from evaluation.forms.runs import EndpointForm
from evaluation.models import Endpoint
from evaluation.providers.profiles import PROFILES, profile_named
from evaluation.selectors.endpoint import endpoint_get_for, endpoint_price, endpoints_for
from evaluation.services.endpoint import endpoint_delete
from evaluation.services.endpoint_trial import endpoint_correct, endpoint_try

#: Groups of fields below those that every endpoint needs: title -> fields.
GROUPS = (
    ("Prices", ("price_in", "price_cached", "price_out")),
    ("Limits", ("concurrency", "requests_per_minute", "tokens_per_minute", "timeout_seconds")),
    (
        "What the server can do, and who uses it",
        ("structured", "images", "fold_system", "stream", "deployment", "shared_with"),
    ),
    ("Details of requests", ("parameters", "thinking_tokens", "api_version", "headers", "ca_certificates")),
)
VIEWER, EDITOR, OWNER = Membership.Role.VIEWER, Membership.Role.EDITOR, Membership.Role.OWNER


@admin.register(Endpoint)
class EndpointAdmin(ShowsServiceErrors, ModelAdmin):
    """A workspace's endpoints: its members see them, its editors try and use them, its owners change them."""

    nothing_yet = "An endpoint is the address of a server with models, with the key and the prices. Runs and pipelines need one."
    form = EndpointForm
    list_display = (
        "name",
        "workspace",
        "base_url",
        "model",
        "concurrency",
        "price_in",
        "price_out",
        "key_shown",
    )
    list_filter = (("workspace", admin.RelatedOnlyFieldListFilter),)
    list_select_related = ("workspace",)
    search_fields = ("name", "base_url", "model")
    change_form_outer_before_template = "admin/evaluation/endpoint_home.html"

    def has_module_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_staff)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Endpoint]:
        return endpoints_for(user=request.user).select_related("workspace")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_staff) and (obj is None or self._may(request, obj, VIEWER))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return workspace_anywhere(user=request.user, role=OWNER)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_staff) and (obj is None or self._may(request, obj, OWNER))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return obj is not None and self._may(request, obj, OWNER)

    def _may(self, request: HttpRequest, endpoint: Endpoint, role: str) -> bool:
        return endpoints_for(user=request.user, role=role).filter(pk=endpoint.pk).exists()

    def delete_model(self, request: HttpRequest, obj: Endpoint) -> None:
        endpoint_delete(endpoint=obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Endpoint]) -> None:
        for one in queryset:
            endpoint_delete(endpoint=one)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        if obj is not None and not self._may(request, obj, OWNER):
            return super().get_form(request, obj, change, **kwargs | {"form": ModelForm})
        own = type("OwnEndpointForm", (EndpointForm,), {"user": request.user})
        return self.with_service_error(request, own)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        fields = [name for name in self.form.Meta.fields if self._shown(request, obj, name)]
        groups = [[name for name in fields if name in names] for _, names in GROUPS]
        named = [(title, {"fields": found}) for (title, _), found in zip(GROUPS, groups, strict=True)]
        rest = [name for name in fields if not any(name in found for found in groups)]
        return [(None, {"fields": rest}), *named]

    def _shown(self, request: HttpRequest, obj: Any, name: str) -> bool:
        """Hide the operator's variable from everyone but superusers, and the key field from people who can only view."""
        if name == "key_variable":
            return bool(request.user.is_superuser)
        return name != "key" or obj is None or self._may(request, obj, OWNER)

    @display(description="Key")
    def key_shown(self, endpoint: Endpoint) -> str:
        if endpoint.key_variable:
            return f"from {endpoint.key_variable}"
        return "stored" if endpoint.key_encrypted else "none"

    def get_urls(self) -> list[Any]:
        own = path(
            "<int:pk>/try/",
            self.admin_site.admin_view(require_POST(self.try_it)),
            name="evaluation_endpoint_try",
        )
        correct = path(
            "<int:pk>/correct/",
            self.admin_site.admin_view(require_POST(self.correct)),
            name="evaluation_endpoint_correct",
        )
        return [own, correct, *super().get_urls()]

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Any = None,
    ) -> Any:
        endpoint = self.get_object(request, object_id) if object_id else None
        if endpoint is not None and not self._may(request, endpoint, EDITOR):
            endpoint = None  # for a new endpoint, without the button that tests it
        may = endpoint is not None and self._may(request, endpoint, OWNER)
        return super().changeform_view(
            request,
            object_id,
            form_url,
            {
                "proposed": profile_named(request.GET.get("profile", "")) if may else None,
                "profiles": PROFILES if may else (),
                **(extra_context or {}),
                "endpoint": endpoint,
                "list_price": endpoint and endpoint_price(endpoint),
            },
        )

    def try_it(self, request: HttpRequest, pk: int) -> HttpResponse:
        endpoint = endpoint_get_for(user=request.user, pk=pk, role=EDITOR)
        return self._tried(request, endpoint)

    def correct(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Take over the settings of a profile, and test the endpoint with them."""
        endpoint = endpoint_get_for(user=request.user, pk=pk, role=OWNER)
        try:
            endpoint = endpoint_correct(endpoint=endpoint, profile=request.POST.get("profile", ""))
        except ValidationError as error:
            messages.error(request, error_text(error))
            return redirect("admin:evaluation_endpoint_change", pk)
        return self._tried(request, endpoint)

    def _tried(self, request: HttpRequest, endpoint: Endpoint) -> HttpResponse:
        """Test the endpoint and show the result on its page, with a button for what would help."""
        tried = endpoint_try(endpoint=endpoint)
        if tried.ok:
            messages.success(request, f"The endpoint responded in {tried.seconds:.2f} s: {tried.message}")
        else:
            messages.error(request, f"The endpoint did not respond as expected: {tried.message}")
        page = reverse("admin:evaluation_endpoint_change", args=[endpoint.pk])
        return redirect(f"{page}?{urlencode({'profile': tried.profile})}" if tried.profile else page)
