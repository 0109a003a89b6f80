"""The browser fixtures themselves."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from tests import apt
from tests.e2e import browser
from tests.e2e.conftest import SharedContext
from tests.e2e.fake_server import worker_ready

pytestmark = pytest.mark.browser
#: What a page finds of earlier visitors.
LEFT = """async () => ({
    cookies: document.cookie,
    local: localStorage.length,
    session: sessionStorage.length,
    databases: (await indexedDB.databases()).length,
    caches: (await caches.keys()).length,
    workers: (await navigator.serviceWorker.getRegistrations()).length,
    location: (await navigator.permissions.query({ name: "geolocation" })).state,
    online: navigator.onLine,
})"""
NOTHING = {
    "cookies": "", "local": 0, "session": 0, "databases": 0, "caches": 0, "workers": 0, "location": "prompt", "online": True,
}  # fmt: skip


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
    with page.expect_console_message(lambda message: "Content Security Policy" in message.text):
        page.set_content(f"{policy}<script>document.title = 'ran'</script><p>text</p>")
    assert page.title() != "ran"
    assert "Content Security Policy" in page.faults[0]  # type: ignore[attr-defined]
    page.faults.clear()  # type: ignore[attr-defined]


def test_a_visitor_finds_nothing_of_the_one_before(style: str, laptops: SharedContext) -> None:
    first = laptops.visitors()
    page = next(first)
    page.context.route("**/screen/task/", lambda route: route.continue_())
    page.goto(style + "task/")
    page.evaluate("navigator.serviceWorker.register(document.querySelector('meta[name=worker]').content)")
    worker_ready(page)
    page.evaluate("document.cookie = 'theme=dark'; localStorage.a = sessionStorage.a = 1")
    page.evaluate("caches.open('a').then(cache => cache.put('/a', new Response('a')))")
    page.evaluate("new Promise(done => { indexedDB.open('a').onsuccess = done }).then(() => true)")
    page.context.grant_permissions(["geolocation"])
    other = page.context.new_page()
    other.emulate_media(color_scheme="dark")
    page.context.set_offline(True)
    left = page.evaluate(LEFT)
    assert all(left[name] != nothing for name, nothing in NOTHING.items()), left
    next(first, None)

    second = laptops.visitors()
    page = next(second)
    assert len(page.context.pages) == 2, "the new page, and the one that keeps the renderer process"
    page.goto(style.replace("/style/screen/", "/static/js/core.js"))  # stores nothing itself
    found = page.evaluate(LEFT)
    next(second, None)
    assert found == NOTHING


@pytest.fixture(autouse=True)
def failures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No failure of an earlier session."""
    monkeypatch.setattr(apt, "FAILED", tmp_path)
    return tmp_path


def test_processes_that_need_a_browser_at_the_same_time_install_one(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[str] = []

    def found(playwright: Any) -> str:
        if not any("install" in command for command in commands):
            raise browser.NoBrowser("no chromium on PATH")
        return "/usr/bin/chromium"

    def run(command: list[str], environment: dict[str, str]) -> None:
        time.sleep(0.05)
        commands.append(" ".join(command))

    monkeypatch.setattr(browser, "debian_chromium", found)
    monkeypatch.setattr(apt, "run", run)
    monkeypatch.setattr(apt.os, "geteuid", lambda: 0)
    monkeypatch.setattr(apt.shutil, "which", lambda name: f"/usr/bin/{name}")
    with ThreadPoolExecutor(3) as pool:
        assert set(pool.map(browser.apt_chromium, range(3))) == {"/usr/bin/chromium"}
    assert len(commands) == 2, "one update, one installation"


@pytest.fixture
def without_shell(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A machine with Debian's Chromium, whose root asks for the shell; the commands that it runs, all of which fail."""
    commands: list[str] = []

    def run(command: list[str], environment: dict[str, str]) -> None:
        commands.append(" ".join(command))
        raise apt.NotInstalled("no network")

    monkeypatch.setattr(
        browser.shutil, "which", lambda name: None if name == browser.SHELL else f"/usr/bin/{name}"
    )
    monkeypatch.setattr(browser, "debian_chromium", lambda playwright: "/usr/bin/chromium")
    monkeypatch.setattr(apt, "run", run)
    monkeypatch.setattr(apt.os, "geteuid", lambda: 0)
    monkeypatch.delenv("CHROMIUM", raising=False)
    return commands


def test_without_a_network_the_browser_is_debians_chromium(without_shell: list[str]) -> None:
    class Chromium:
        def launch(self, executable_path: str, args: list[str]) -> str:
            return executable_path

    class Installed:
        chromium = Chromium()

    assert [browser.launch(Installed()) for _ in range(2)] == ["/usr/bin/chromium"] * 2  # type: ignore[arg-type]
    assert len(without_shell) == 1, "the second process doesn't try again"


def test_the_headless_shell_comes_first(without_shell: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser.shutil, "which", lambda name: f"/usr/bin/{name}")
    assert browser.debian_shell(None) == "/usr/bin/chromium-headless-shell"  # type: ignore[arg-type]
    assert without_shell == []
