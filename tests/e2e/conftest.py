"""``browser`` (one per session), ``page`` and ``phone`` (one per test, a fresh visitor each), ``style`` and ``server``.

At the end, a test fails if a script raised an error or the content security policy refused anything. A test that causes
either on purpose clears ``page.faults``. Open ``live_server.url``, or the address of a real web process (``tests/processes.py``).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests.e2e.browser import launch
from tests.e2e.fake_server import Server
from tests.e2e.style_server import served
from tests.installation import Installation

LAPTOP = {"width": 1366, "height": 768}
PHONE = {"width": 390, "height": 844}
TIMEOUT_MS = 120_000
expect.set_options(timeout=TIMEOUT_MS)  # the default of five seconds is too short on a busy machine


# Last, so that the order of pytest-randomly remains among the tests with a browser and among the others.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that take longest, so that no process is left with one at the end."""
    items.sort(key=lambda item: item.get_closest_marker("browser") is None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


def visitor(browser: Browser, **options: object) -> Iterator[Page]:
    context = browser.new_context(locale="en-GB", **options)  # type: ignore[arg-type]
    context.set_default_timeout(TIMEOUT_MS)
    page = context.new_page()
    faults: list[str] = []

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error" and "Content Security Policy" in message.text:
            faults.append(message.text)

    page.on("pageerror", lambda error: faults.append(f"script error: {error}"))
    page.on("console", on_console)
    page.faults = faults  # type: ignore[attr-defined]
    yield page
    context.close()
    assert not faults, "\n".join(faults)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    yield from visitor(browser, viewport=LAPTOP)


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    yield from visitor(browser, viewport=PHONE, device_scale_factor=3, is_mobile=True, has_touch=True)


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
