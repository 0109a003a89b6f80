"""``browser`` (one per session), ``page`` and ``phone`` (one per test, a fresh visitor each), ``lone_page`` (the same, in
a context of its own), ``style`` and ``server``.

At the end, a test fails if a script raised an error or the content security policy refused anything. A test that causes
either on purpose clears ``page.faults``. Open ``live_server.url``, or the address of a real web process (``tests/processes.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    CDPSession,
    ConsoleMessage,
    Frame,
    Page,
    expect,
    sync_playwright,
)

from tests.e2e.browser import launch
from tests.e2e.contexts import close, context_make, context_open, target_of
from tests.e2e.fake_server import Server
from tests.e2e.style_server import served
from tests.installation import Installation

LAPTOP = {"width": 1366, "height": 768}
PHONE = {"width": 390, "height": 844}
TIMEOUT_MS = 120_000
expect.set_options(timeout=TIMEOUT_MS)  # the default of five seconds is too short on a busy machine


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


def visitor(browser: Browser, **options: object) -> Iterator[Page]:
    """A fresh visitor with a browser context of its own, which takes about a second of processor time."""
    with context_open(browser, timeout_ms=TIMEOUT_MS, **options) as context:
        yield from watched(context.new_page())


def watched(page: Page) -> Iterator[Page]:
    """The page; afterwards it is closed, and what its scripts or the content security policy reported is an error."""
    faults: list[str] = []

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error" and "Content Security Policy" in message.text:
            faults.append(message.text)

    page.on("pageerror", lambda error: faults.append(f"script error: {error}"))
    page.on("console", on_console)
    page.faults = faults  # type: ignore[attr-defined]
    target = target_of(page)
    yield page
    close(page, target)
    assert not faults, "\n".join(faults)


class SharedContext:
    """A browser context for one test after another, each of which finds it empty.

    A page that stays open keeps the context's renderer process. Starting a context and its process for each test took
    more time than most tests. What can't be undone in a context, such as its clock, needs ``lone_page``.
    """

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.kept = context.new_page()
        self.devtools: CDPSession = context.new_cdp_session(self.kept)
        self.origins: set[str] = set()
        self.went_offline = False
        self._set_offline = context.set_offline
        context.set_offline = self._offline  # type: ignore[method-assign]
        context.on("page", lambda page: page.on("framenavigated", self._visited))

    def _offline(self, offline: bool) -> None:
        """Remembered, because the browser once never answered this request, for which its library has no limit: who needs it, sends it."""
        self.went_offline = offline
        self._set_offline(offline)

    def _visited(self, frame: Frame) -> None:
        parts = urlsplit(frame.url)
        if parts.scheme in ("http", "https"):
            self.origins.add(f"{parts.scheme}://{parts.netloc}")

    def visitors(self) -> Iterator[Page]:
        """One new page; afterwards the context is as it was before."""
        try:
            yield from watched(self.context.new_page())
        finally:
            self.empty()

    def empty(self) -> None:
        """Close the pages and delete cookies, permissions, routes, the cache and what origins have stored."""
        for page in self.context.pages:
            if page is not self.kept and not getattr(page, "left_open", False):
                close(page, target_of(page))
        self.context.unroute_all()
        if self.went_offline:
            self.context.set_offline(False)
        self.context.clear_cookies()
        self.context.clear_permissions()
        for origin in self.origins:
            self.devtools.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
        self.devtools.send("Network.clearBrowserCache")
        self.origins.clear()


@pytest.fixture(scope="session")
def laptops(browser: Browser) -> SharedContext:
    return SharedContext(context_make(browser, timeout_ms=TIMEOUT_MS, viewport=LAPTOP))


@pytest.fixture(scope="session")
def phones(browser: Browser) -> SharedContext:
    return SharedContext(
        context_make(
            browser,
            timeout_ms=TIMEOUT_MS,
            viewport=PHONE,
            device_scale_factor=3,
            is_mobile=True,
            has_touch=True,
        )
    )


@pytest.fixture
def page(laptops: SharedContext) -> Iterator[Page]:
    yield from laptops.visitors()


@pytest.fixture
def phone(phones: SharedContext) -> Iterator[Page]:
    yield from phones.visitors()


@pytest.fixture
def lone_page(browser: Browser) -> Iterator[Page]:
    yield from visitor(browser, viewport=LAPTOP)


@pytest.fixture
def no_script_page(browser: Browser) -> Iterator[Page]:
    yield from visitor(browser, viewport=LAPTOP, java_script_enabled=False)


@pytest.fixture(scope="module")
def style() -> Iterator[str]:
    """The address of the style gallery's screens."""
    with served() as address:
        yield f"{address}/style/screen/"


@pytest.fixture
def server(page: Page) -> Server:
    """Answers the requests of the page's scripts to ``/fake/``."""
    return Server(page)


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """`make run` in a directory of its own, for the tests of one file."""
    installation = Installation(tmp_path_factory.mktemp("make-run"))
    installation.start()
    yield installation
    installation.stop()
