"""The browser fixtures themselves."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

pytestmark = pytest.mark.browser


@pytest.mark.django_db(transaction=True)
def test_a_real_browser_reaches_the_admin_login(live_server, page: Page) -> None:
    page.goto(f"{live_server.url}/admin/")
    assert page.locator("input[name=password]").is_visible()


def test_a_script_error_is_noticed(page: Page) -> None:
    page.set_content("<p>still</p>")
    with page.expect_event("pageerror"):
        page.evaluate("setTimeout(() => { throw new Error('planted') }, 0)")
    assert "planted" in page.faults[0]  # type: ignore[attr-defined]
    page.faults.clear()  # type: ignore[attr-defined]


def test_a_refusal_by_the_content_policy_is_noticed(page: Page) -> None:
    policy = "<meta http-equiv=Content-Security-Policy content=\"default-src 'self'\">"
    page.set_content(f"{policy}<script>document.title = 'ran'</script><p>text</p>")
    assert page.title() != "ran"
    assert "Content Security Policy" in page.faults[0]  # type: ignore[attr-defined]
    page.faults.clear()  # type: ignore[attr-defined]
