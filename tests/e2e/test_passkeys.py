"""Passkeys in a browser, with Chromium's own virtual authenticator: added, used instead of password and code, refused, removed."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest
from allauth.mfa.models import Authenticator
from django.core.cache import cache
from playwright.sync_api import Page, expect

from annotator.models import AuditEntry, User
from tests.e2e.axe import violations
from tests.factories import make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PASSWORD = "a-long-password-7"


@pytest.fixture(autouse=True)
def _no_limits_from_before() -> None:
    cache.clear()


@pytest.fixture
def rosa() -> User:
    return make_user("rosa", staff=True)


@pytest.fixture
def site(live_server: Any, settings: Any) -> str:
    """By name: browsers have no passkeys for bare addresses."""
    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, "localhost"]
    return f"http://localhost:{urlsplit(live_server.url).port}"


@pytest.fixture
def device(lone_page: Page) -> Page:
    """A page in a browser that has an authenticator, which finds its owner's finger at once."""
    session = lone_page.context.new_cdp_session(lone_page)
    session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
        "isUserVerified": True, "automaticPresenceSimulation": True,
    }  # fmt: skip
    session.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    return lone_page


def log_in(page: Page, site: str) -> None:
    page.goto(f"{site}/login/")
    page.fill("[name=username]", "rosa")
    page.fill("[name=password]", PASSWORD)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def add(page: Page, site: str) -> None:
    log_in(page, site)
    page.goto(f"{site}/two-factor/")
    page.click("a:text-is('Add a passkey')")
    page.fill("[name=name]", "Rosa's laptop")
    assert violations(page) == []
    with page.expect_navigation():
        page.click("#passkey_add")
    expect(page.locator("h1")).to_have_text("Recovery codes")


def log_out(page: Page) -> None:
    page.context.clear_cookies()


def test_a_passkey_logs_in_without_password_and_code(device: Page, site: str, rosa: User) -> None:
    add(device, site)
    log_out(device)
    device.goto(f"{site}/login/?next=/admin/annotator/study/")
    assert violations(device) == []
    with device.expect_navigation():
        device.click("#passkey_login")
    expect(device).to_have_url(f"{site}/admin/annotator/study/")
    assert Authenticator.objects.get(type="webauthn").last_used_at is not None
    assert AuditEntry.objects.filter(after={"added": "webauthn"}).count() == 1


def test_a_passkey_replaces_the_code_after_the_password(device: Page, site: str, rosa: User) -> None:
    add(device, site)
    log_out(device)
    log_in(device, site)
    expect(device.locator("h1")).to_have_text("Enter your code")
    assert violations(device) == []
    with device.expect_navigation():
        device.click("#passkey_use")
    device.goto(f"{site}/admin/")
    expect(device.locator("[name=password]")).to_have_count(0)


def test_a_removed_passkey_is_refused_with_what_to_do(device: Page, site: str, rosa: User) -> None:
    add(device, site)
    device.goto(f"{site}/two-factor/webauthn/")
    expect(device.locator("section h2")).to_have_text("Rosa's laptop")
    device.click("text=Rename")
    device.fill("[name=name]", "Old laptop")
    with device.expect_navigation():
        device.click("text=Save")
    expect(device.locator("section h2")).to_have_text("Old laptop")
    device.click("text=Remove")
    with device.expect_navigation():
        device.click("button:has-text('Remove')")
    log_out(device)
    device.goto(f"{site}/login/")
    with device.expect_navigation():
        device.click("#passkey_login")
    expect(device.locator("#passkey_note")).to_contain_text("wasn't accepted")
    device.goto(f"{site}/admin/")
    expect(device.locator("[name=password]")).to_have_count(1)


def test_a_disabled_account_is_refused(device: Page, site: str, rosa: User) -> None:
    add(device, site)
    log_out(device)
    User.objects.filter(pk=rosa.pk).update(is_active=False)
    device.goto(f"{site}/login/")
    with device.expect_navigation():
        device.click("#passkey_login")
    device.goto(f"{site}/admin/")
    expect(device.locator("[name=password]")).to_have_count(1)
