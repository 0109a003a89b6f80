"""axe in a page: once loaded, asked for nothing but what it found."""

from __future__ import annotations

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
#: Without everything that axe looked at and found right, which is most of its result and slow to send.
RUN = """([within, options]) => axe.run(within, options).then(({ violations }) => violations.flatMap(
    ({ id, nodes }) => nodes.map(({ target, html, failureSummary }) => `${id}: ${target} ${html.slice(0, 160)} ${failureSummary}`)
))"""


def violations(page: Page, *rules: str, within: str = "html", every_rule: bool = False) -> list[str]:
    """What axe finds wrong: by the rules named, else by those of WCAG 2.2 A and AA and of best practice.

    ``every_rule`` adds the rules that axe has beside these; ``within`` is the CSS selector of the part to look at.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    options: dict[str, object] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = {"type": "rule", "values": list(rules)}
    elif not every_rule:
        options["runOnly"] = {"type": "tag", "values": TAGS}
    return [str(one) for one in page.evaluate(RUN, [within, options])]
