"""Every page that the URL resolver knows: no finding of axe in light or dark, no violation of the content policy.

Researchers' pages also have one main heading, tidy text, and text controls whose borders can be seen.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from playwright.sync_api import APIResponse, Browser, Page
from playwright.sync_api import Error as PlaywrightError
from pytest_django.live_server_helper import LiveServer

from tests.e2e.axe import violations
from tests.e2e.conftest import LAPTOP, visitor
from tests.e2e.page_checks import darken, faint_controls, outline_faults, text_faults
from tests.e2e.world import World, addresses, every_name, world_make

# In one process, so that the world is made once: see tests/groups.py.
pytestmark = [pytest.mark.browser, pytest.mark.django_db]


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: object) -> Iterator[World]:
    """Created once, because the tests of pages don't change it."""
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        try:
            yield world_make()
        finally:
            # Sequences continue, because the process caches snapshots by id.
            call_command("flush", interactive=False, verbosity=0, reset_sequences=False)
            connections.close_all()


@pytest.fixture(scope="module")
def address(world: World) -> Iterator[str]:
    server = LiveServer("127.0.0.1")
    yield server.url
    server.stop()


@pytest.fixture(scope="module")
def visitors(world: World, browser: Browser, address: str) -> Iterator[dict[str, Page]]:
    """A logged-in page for each kind of visitor, created on first use."""
    made: dict[str, Iterator[Page]] = {}

    class Visitors(dict[str, Page]):
        def __missing__(self, who: str) -> Page:
            made[who] = visitor(browser, viewport=LAPTOP)
            page = self[who] = next(made[who])
            if who in world.sessions:
                name, value = settings.SESSION_COOKIE_NAME, world.sessions[who]
                page.context.add_cookies([{"name": name, "value": value, "url": address}])
            return page

    yield Visitors()
    for one in made.values():
        next(one, None)


@pytest.fixture(scope="module")
def known(world: World) -> dict[str, bool]:
    """Path -> whether it's a page, for those that were asked for."""
    return {}


def page_at(page: Page, url: str) -> APIResponse | None:
    """The reply to a GET request, if it's a page: no file, and no error because only POST is allowed."""
    answer = page.request.get(url, max_redirects=0)
    if answer.status in (400, 403, 405):
        return None
    if answer.status == 302 and "/sso/" in url:
        return None  # names that allauth looks up; Foretell has pages of its own for them
    if answer.status == 302:
        assert "login" not in answer.headers["location"], f"{url} asks for a log-in"
        return None
    if answer.status == 404:
        # Without a panel there is no file of payments for it; without a plan, no file of it.
        without = ("/files/", "/exports/", "/payments/panel.csv", "/plan/plan.")
        assert any(part in url for part in without), f"{url} is not there"
        return None
    assert answer.status == 200 or (answer.status == 401 and "/sso/" in url), f"{url}: {answer.status}"
    file = answer.headers.get("content-disposition", "").startswith("attachment")
    whole = not file and answer.headers["content-type"].startswith("text/html")
    # What htmx fetches is looked at in the page that it becomes part of.
    return answer if whole and "<html" in answer.text() else None


def opens(page: Page, url: str) -> bool:
    """Open an address as a visitor does; whether it's a page, as ``page_at`` says."""
    try:
        answer = page.goto(url)
    except PlaywrightError:  # a file is downloaded, or there is nothing to show
        answer = None
    if answer is None or answer.status != 200 or answer.request.redirected_from is not None:
        if page_at(page, url) is None:
            return False
        answer = page.goto(url)
    assert answer is not None
    return answer.headers["content-type"].startswith("text/html") and "<html" in answer.text()


@pytest.mark.parametrize("name", every_name())
def test_pages_have_no_faults_in_light_or_dark(
    name: str, world: World, address: str, visitors: dict[str, Page], known: dict[str, bool]
) -> None:
    for who, path in addresses(name, world):
        page = visitors[who]
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        known[path] = opens(page, address + path)
        if not known[path]:
            continue
        page.wait_for_function("() => !document.querySelector('.htmx-request')")
        assert page.url == address + path
        found = violations(page)
        if who == "researcher":
            found += outline_faults(page) + text_faults(page) + faint_controls(page)
        darken(page)
        found += [f"dark: {one}" for one in violations(page, "color-contrast")]
        if who == "researcher":
            found += [f"dark: {one}" for one in faint_controls(page)]
        # 200 % zoom of a window of 640 pixels: nothing needs horizontal scrolling.
        page.set_viewport_size({"width": 320, "height": 640})
        wide = page.evaluate("document.documentElement.scrollWidth")
        page.set_viewport_size(LAPTOP)
        found += [f"scrolls sideways: {wide} pixels"] if wide > 320 else []
        assert found == [], f"{path}\n" + "\n".join(found)


def test_most_addresses_are_pages(
    world: World, address: str, visitors: dict[str, Page], known: dict[str, bool]
) -> None:
    """A mistake in the list of addresses mustn't leave this file without anything to check."""
    every = [one for name in every_name() for one in addresses(name, world)]
    for who, path in every:
        if path not in known:  # an earlier test of this process has asked for the others
            known[path] = page_at(visitors[who], address + path) is not None
    pages = [path for _, path in every if known[path]]
    assert len(pages) >= 90
    for word in (
        "/live/",
        "/preview/",
        "/reports/",
        "/compare/",
        "/run/",
        "/me/",
        "/exam/result/",
        "/task/",
        "/done/",
    ):
        assert any(word in path for path in pages), word
