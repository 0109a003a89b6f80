"""The admin, whose pages are imported by the processes that show or check them.

Django imports them in every process. Workers, beat and commands have no use for them, and would start a fifth later.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.apps import SimpleAdminConfig
from django.contrib.admin.checks import check_admin_app
from django.core import checks
from django.core.checks.registry import registry


class AdminApp(SimpleAdminConfig):
    """``foretell.urls`` imports the pages, and the system checks do so before they look at them."""

    default = False

    def ready(self) -> None:
        super().ready()
        registry.registered_checks.discard(check_admin_app)
        checks.register(check_admin_pages, checks.Tags.admin)


def check_admin_pages(**about: Any) -> list[checks.CheckMessage]:
    """Django's check of the admin, of all pages."""
    admin.autodiscover()
    found: list[checks.CheckMessage] = check_admin_app(**about)
    return found
