"""A task page in a real browser whose requests a fake server answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs

import pytest
from django.template.loader import render_to_string
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Page, Request, Route

from annotator.web.style_gallery.samples import Screen, screens, task


class Server:
    """Answer the requests of a task in the browser and record what was sent."""

    def __init__(self, page: Page) -> None:
        self.sent: list[tuple[str, dict[str, list[str]]]] = []
        self.replies: dict[str, Callable[[Route], None]] = {}
        page.route("**/fake/*", self.answer)

    def answer(self, route: Route, request: Request) -> None:
        name = request.url.rsplit("/", 1)[1]
        self.sent.append((name, parse_qs(request.post_data or "", keep_blank_values=True)))
        self.replies[name](route)

    def of(self, name: str) -> list[dict[str, list[str]]]:
        return [data for other, data in self.sent if other == name]


def html(stage: Any = None, status: int = 200, **changes: Any) -> Callable[[Route], None]:
    body = render_to_string("annotator/_task.html", fake(stage, **changes) | {"csrf_token": "t"})
    return lambda route: route.fulfill(status=status, body=body, content_type="text/html")


def reply(data: Any, status: int = 200, **headers: str) -> Callable[[Route], None]:
    return lambda route: route.fulfill(
        status=status, body=json.dumps(data), content_type="application/json", headers=headers
    )


def gone(route: Route) -> None:
    route.abort("internetdisconnected")


def fake(stage: Any = None, **changes: Any) -> dict[str, Any]:
    """A task whose URLs are those of the fake server."""
    urls = {
        f"{name}_url": f"/fake/{name}"
        for name in ("submit", "draft", "undo", "more_time", "flag", "ask", "skip")
    }
    return task(*([stage] if stage else []), **(urls | {"undo_url": ""} | changes))


def open_task(
    style: str, page: Page, monkeypatch: pytest.MonkeyPatch, stage: Any = None, **changes: Any
) -> None:
    """Show this task in the style gallery under the name `task`."""
    made = Screen("task", "Task", "annotator/task.html", fake(stage, **changes))
    monkeypatch.setattr(
        "annotator.web.style_gallery.views.screens",
        lambda: [*(s for s in screens() if s.name != "task"), made],
    )
    page.goto(style + "task/")


def until_sent(page: Page) -> None:
    """Wait by polling: the policy forbids the eval that Playwright's own waiting needs."""
    until(page, "!Object.keys(localStorage).some(name => name.startsWith('foretell.outbox'))")


def soon(condition: Callable[[], Any], page: Page) -> None:
    """Wait for something outside of the page by polling, so that the browser continues meanwhile."""
    for _ in range(2400):
        if condition():
            return
        page.wait_for_timeout(50)
    raise AssertionError("after 120 s it is still not so")


def until(page: Page, condition: str) -> None:
    for _ in range(2400):
        with suppress(PlaywrightError):  # the page may be on its way to the next one
            if page.evaluate(condition):
                return
        page.wait_for_timeout(50)
    raise AssertionError(f"after 120 s it is still not so: {condition}")


def worker_ready(page: Page) -> None:
    """Wait for the page's service worker. Its promise ``ready`` would be waited for without end."""
    until(
        page, "navigator.serviceWorker.getRegistration().then(found => found?.active?.state === 'activated')"
    )


def chosen(page: Page) -> list[str]:
    return page.eval_on_selector_all(
        "[data-asked] :checked", "all => all.map(one => `${one.name}=${one.value}`)"
    )
