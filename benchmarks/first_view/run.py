"""``python -m benchmarks first-view URL``: the first view of a page of a running Foretell, on a phone on a slow network.

Each visit has an empty cache: 1.6 Mbit/s down, 750 kbit/s up, 150 ms per round trip, a processor four times slower, 390 x 844.
Prints the number of responses and bytes, and the milliseconds until the page is painted and its keys and buttons work.
"""

from __future__ import annotations

import argparse
from statistics import median
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from tests.e2e.browser import launch

NETWORK = {"offline": False, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 93_750}
SLOWER = 4


def visit(browser: Browser, url: str) -> dict[str, float]:
    """One visit with an empty cache: responses, bytes transferred, milliseconds to the first paint and until it is usable."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    page = context.new_page()
    session = context.new_cdp_session(page)
    sizes: list[float] = []

    def finished(event: dict[str, Any]) -> None:
        sizes.append(event["encodedDataLength"])

    session.on("Network.loadingFinished", finished)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", NETWORK)
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    page.goto(url, wait_until="domcontentloaded", timeout=60_000)
    page.wait_for_selector("html[data-script]", state="attached", timeout=60_000)
    usable = page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
    page.wait_for_load_state("networkidle", timeout=60_000)
    painted = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN")
    context.close()
    return {"responses": len(sizes), "bytes": sum(sizes), "painted_ms": painted, "usable_ms": usable}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks first-view", description=__doc__)
    parser.add_argument("url", help="a page that needs no login, such as an invitation")
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    with sync_playwright() as playwright:
        browser = launch(playwright)
        visits = [visit(browser, chosen.url) for _ in range(chosen.rounds)]
        browser.close()
    for name in visits[0]:
        figures = [one[name] for one in visits]
        print(f"{name:12} {median(figures):10,.0f}   from {min(figures):,.0f} to {max(figures):,.0f}")


if __name__ == "__main__":
    main()
