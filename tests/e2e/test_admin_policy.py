"""Every page of the admin works under its content security policy (``page`` fails the test if one does not)."""

from __future__ import annotations

import pytest
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.urls import reverse
from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_the_admin_works_under_its_policy(live_server, page: Page) -> None:
    get_user_model().objects.create_superuser("root", password="a long password")
    page.goto(f"{live_server.url}/admin/")
    page.fill("input[name=username]", "root")
    page.fill("input[name=password]", "a long password")
    page.click("[type=submit]")
    expect(page.locator("input[name=password]")).to_have_count(0)
    visited = 0
    for model in admin.site._registry:
        label = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        for url in (reverse(f"{label}_changelist"), reverse(f"{label}_add")):
            response = page.goto(live_server.url + url)
            assert response is not None
            assert response.status in (200, 403), url  # some things are made elsewhere than in the admin
            visited += 1
    assert visited >= 4
