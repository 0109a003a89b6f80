"""Permissions of admin lists whose rows only services write; both applications' admin uses them."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest


class ReadOnlyMixin:
    """For a ``ModelAdmin`` or an inline: staff can see the rows, and nobody can add, change or delete one."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_staff)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_staff)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
