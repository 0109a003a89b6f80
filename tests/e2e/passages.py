"""Where words of a block are on the page, and passages that an annotator marks by mouse or keyboard."""

from __future__ import annotations

from playwright.sync_api import Page, expect

_BOX = """([block, word]) => {
    const place = document.querySelector(`[data-block=${block}] .block__text`);
    let at = place.textContent.indexOf(word);
    const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const node = walker.currentNode;
        if (at < node.length) {
            const range = document.createRange();
            range.setStart(node, at);
            range.setEnd(node, Math.min(node.length, at + word.length));
            const box = range.getBoundingClientRect();
            return [box.left + 1, box.right - 1, box.top + box.height / 2];
        }
        at -= node.length;
    }
}"""


def word_box(page: Page, block: str, word: str) -> tuple[float, float, float]:
    """The left and right end of a word where it first occurs in the block, and the middle of its height."""
    left, right, middle = page.evaluate(_BOX, [block, word])
    return left, right, middle


def drag_over(page: Page, block: str, first: str, last: str) -> None:
    """Select with the mouse, from the start of one word to the end of another."""
    left, _, y = word_box(page, block, first)
    _, right, _ = word_box(page, block, last)
    page.mouse.move(left, y)
    page.mouse.down()
    page.mouse.move(right, y, steps=4)
    page.mouse.up()


def select_with_keys(page: Page, block: str, words: str) -> None:
    """Select whole words with the arrow keys and Shift."""
    place = page.locator(f"[data-block={block}] .block__text")
    before = place.inner_text().split(words)[0].split()
    page.evaluate("getSelection().removeAllRanges()")
    place.focus()
    page.keyboard.press("Home")
    for _ in before:
        page.keyboard.press("ArrowRight")
    for _ in words.split()[1:]:
        page.keyboard.press("Shift+ArrowRight")
    expect(page.locator(".passages__now")).to_have_text(f"“{words}”")
