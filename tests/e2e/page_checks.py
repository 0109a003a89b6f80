"""Checks of a page that axe doesn't make: one main heading, tidy text, borders that can be seen."""

from __future__ import annotations

import re
from typing import Literal

from playwright.sync_api import Page

#: Scripts have seen the change of a media query, and every transition to other colours has ended.
SETTLED = """
async () => {
    const frame = () => new Promise(done => requestAnimationFrame(done))
    await frame()
    await frame()
    const running = document.getAnimations().filter(one => one instanceof CSSTransition)
    await Promise.allSettled(running.map(one => one.finished))
}
"""

#: What a template leaves when a part of a sentence is empty -> what it is called in a failure.
UNTIDY = {
    "two spaces": re.compile(r"\S[ \u00a0]{2,}\S"),
    # "Press ? for all keys" names the key.
    "a space before punctuation": re.compile(r"\S(?<!Press) [.,;:!?](?=\s|$)"),
    "two separators": re.compile(r"·\s*·|,\s*,|;\s*;"),
    "a separator at the start or end": re.compile(r"^\s*[·,;]|[·,]\s*$"),
    "a separator without space": re.compile(r"[^\s·]·|·[^\s·]"),
    "empty parentheses": re.compile(r"\(\s*\)"),
    "a missing value": re.compile(r"\b(None|nan)\b"),
}

#: The text of a page, one line per block. Code, keys, form entries and what participants or files wrote are left out.
TEXT = """
() => {
    const left = "code, kbd, pre, textarea, select, .json, .fk-text:not(:has(*)), [dir=auto], script, style, svg, .material-symbols-outlined"
    const blocks = new Set(["block", "flex", "grid", "list-item", "table", "table-row", "table-cell", "table-caption"])
    const lines = [""]
    const walk = node => {
        if (node.nodeType === Node.TEXT_NODE) lines[lines.length - 1] += node.data
        if (node.nodeType !== Node.ELEMENT_NODE) return
        if (!node.checkVisibility({ visibilityProperty: true })) return
        if (node.matches(left)) { lines[lines.length - 1] += "\\u2022"; return }
        const style = getComputedStyle(node)
        const drawn = place => {
            const content = getComputedStyle(node, place).content
            return content.startsWith('"') ? JSON.parse(content) : ""
        }
        const block = blocks.has(style.display) || node.tagName === "BR"
        if (block) lines.push("")
        lines[lines.length - 1] += drawn("::before")
        node.childNodes.forEach(walk)
        lines[lines.length - 1] += drawn("::after")
        if (block) lines.push("")
    }
    walk(document.body)
    return lines
}
"""

#: Text controls whose border has less contrast with its surroundings than 3:1 (WCAG 1.4.11).
FAINT = """
() => {
    const parts = colour => {
        const canvas = document.createElement("canvas")
        canvas.width = canvas.height = 1
        const pen = canvas.getContext("2d")
        pen.fillStyle = colour
        pen.fillRect(0, 0, 1, 1)
        return [...pen.getImageData(0, 0, 1, 1).data]
    }
    const light = ([r, g, b]) => {
        const [x, y, z] = [r, g, b].map(one => one / 255)
            .map(one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4)
        return 0.2126 * x + 0.7152 * y + 0.0722 * z
    }
    const behind = node => {
        for (let one = node; one; one = one.parentElement) {
            const found = parts(getComputedStyle(one).backgroundColor)
            if (found[3] === 255) return found
        }
        return [255, 255, 255, 255]
    }
    const controls = document.querySelectorAll(
        "textarea, select, input:not([type=hidden], [type=radio], [type=checkbox], [type=submit], [type=file], [type=range], [type=button])"
    )
    return [...controls].filter(one => one.checkVisibility({ visibilityProperty: true })).flatMap(one => {
        const framed = [one, one.parentElement].find(box => parseFloat(getComputedStyle(box).borderBottomWidth) > 0)
        const style = getComputedStyle(framed || one)
        const drawn = parts(style.borderBottomColor)
        const around = behind((framed || one).parentElement)
        const [dark, bright] = [light(drawn), light(around)].sort((a, b) => a - b)
        const contrast = (bright + 0.05) / (dark + 0.05)
        const seen = parseFloat(style.borderBottomWidth) > 0 && style.borderBottomStyle !== "none" && drawn[3] > 200
        return seen && contrast >= 3 ? [] : [`${one.tagName} ${one.name || one.id}: ${seen ? contrast.toFixed(2) : "none"}`]
    })
}
"""


def outline_faults(page: Page) -> list[str]:
    """The page's main headings, unless there is exactly one."""
    headings = page.locator("h1:visible").all_inner_texts()
    return [] if len(headings) == 1 else [f"{len(headings)} main headings: {headings}"]


def text_faults(page: Page) -> list[str]:
    """Lines with what an empty part of a template leaves, such as two spaces or a space before a full stop."""
    found = []
    for line in page.evaluate(TEXT):
        text = re.sub(r"\s*\n\s*", " ", line)  # line breaks of the template
        found += [f"{name}: {text.strip()[:160]!r}" for name, fault in UNTIDY.items() if fault.search(text)]
    return found


def faint_controls(page: Page) -> list[str]:
    """Text controls without a border, or with one of less than 3:1 contrast with the page around it."""
    return [f"faint border: {one}" for one in page.evaluate(FAINT)]


def darken(page: Page) -> None:
    """Switch the device to dark, which pages follow without being loaded again."""
    switch(page, "dark")


def switch(page: Page, scheme: Literal["light", "dark"]) -> None:
    """Switch the device to light or dark, and wait until scripts and colours have followed."""
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.evaluate(SETTLED)
