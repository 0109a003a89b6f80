"""Endpoints in the admin."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.views.decorators.http import require_POST
from unfold.admin import ModelAdmin
from unfold.decorators import display

from evaluation.forms.runs import EndpointForm
from evaluation.models import Endpoint
from evaluation.providers.prices import list_price
from evaluation.services.endpoint import endpoint_try


@admin.register(Endpoint)
class EndpointAdmin(ModelAdmin):
    form = EndpointForm
    list_display = ("name", "base_url", "model", "concurrency", "price_in", "price_out", "key_shown")
    search_fields = ("name", "base_url", "model")
    change_form_outer_before_template = "admin/evaluation/endpoint_home.html"

    def has_module_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_staff)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_staff)

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
        return [own, *super().get_urls()]

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Any = None,
    ) -> Any:
        endpoint = self.get_object(request, object_id) if object_id else None
        return super().changeform_view(
            request,
            object_id,
            form_url,
            {
                **(extra_context or {}),
                "endpoint": endpoint,
                "list_price": endpoint and list_price(base_url=endpoint.base_url, model=endpoint.model),
            },
        )

    def try_it(self, request: HttpRequest, pk: int) -> HttpResponse:
        endpoint = Endpoint.objects.filter(pk=pk).first()
        if endpoint is None or not request.user.has_perm("evaluation.change_endpoint"):
            raise Http404("no such endpoint")
        tried = endpoint_try(endpoint=endpoint)
        if tried.ok:
            messages.success(request, f"The endpoint responded in {tried.seconds:.2f} s: {tried.said}")
        else:
            messages.error(request, f"The endpoint did not respond as expected: {tried.said}")
        return redirect("admin:evaluation_endpoint_change", pk)
