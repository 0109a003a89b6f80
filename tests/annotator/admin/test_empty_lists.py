"""A list without rows says what fills it, in words of its own."""

from __future__ import annotations

import re

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import NoReverseMatch, reverse

from annotator.models import User

pytestmark = pytest.mark.django_db
EMPTY = re.compile(r"<h2[^>]*>No ([^<]+) yet</h2>\s*<p[^>]*>(.*?)</p>", re.DOTALL)


def test_every_empty_list_says_what_fills_it(client: Client) -> None:
    client.force_login(User.objects.create_superuser("root-of-lab"))
    said: dict[str, str] = {}
    for model in admin.site._registry:
        try:
            address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        except NoReverseMatch:
            continue
        found = EMPTY.search(client.get(address).content.decode())
        if found:
            said[found[1]] = found[2].strip()
    assert "runs" in said
    assert {name for name, text in said.items() if not text.endswith(".")} == set()
