"""Browser contexts and pages that are closed without waiting for ever.

On a busy machine ``Page.close`` and ``BrowserContext.close`` once in some thousand times wait for a page that never answers,
and the browser's library has no limit for them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, BrowserContext, Page
from playwright.sync_api import TimeoutError as PlaywrightTimeout

CLOSING_MS = 60_000


def context_make(browser: Browser, *, timeout_ms: int = 30_000, **options: object) -> BrowserContext:
    context = browser.new_context(**{"locale": "en-GB", **options})  # type: ignore[arg-type]
    context.set_default_timeout(timeout_ms)
    return context


@contextmanager
def context_open(
    browser: Browser, *, timeout_ms: int = 30_000, **options: object
) -> Iterator[BrowserContext]:
    """A context, closed afterwards if all of its pages are: it would wait for one that stays open."""
    context = context_make(browser, timeout_ms=timeout_ms, **options)
    try:
        yield context
    finally:
        for page in context.pages:
            if not getattr(page, "left_open", False):
                close(page, target_of(page))
        if not context.pages:
            context.close()


def target_of(page: Page) -> str:
    """The name of a page in the browser."""
    devtools = page.context.new_cdp_session(page)
    found = devtools.send("Target.getTargetInfo")["targetInfo"]["targetId"]
    devtools.detach()
    return str(found)


def close(page: Page, target: str) -> None:
    """Close a page; one that isn't closed after a minute is left open, with a warning."""
    browser = page.context.browser
    if page.is_closed() or browser is None:
        return
    devtools = browser.new_browser_cdp_session()
    try:
        with page.expect_event("close", timeout=CLOSING_MS):
            devtools.send("Target.closeTarget", {"targetId": target})
    except PlaywrightTimeout:
        page.left_open = True  # type: ignore[attr-defined]
        warnings.warn(f"the browser did not close {page.url}", stacklevel=2)
    devtools.detach()
