"""Takes the pictures of the documentation's pages from the demo studies: `make pictures`, while `make run` is running.

DATA_DIR and PORT are those of `make run`. The pictures of docs/screens.md come from the tests' own studies, which have every state.
"""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Error, Page, sync_playwright

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent))
from tests.e2e.browser import launch  # noqa: E402

#: File -> the address in the demo, found by the links that it follows from the list of studies.
PICTURES = {
    "task.png": ("a[href*='/preview/']",),
    "tutorials/study.webp": (),
    "tutorials/report.webp": ("a[href$='/reports/']", "a[href^='/reports/']"),
}
#: The demo study that they show: its title begins so.
STUDY = "What will the robot answer?"
WINDOW = {"width": 1366, "height": 768}
MOST_BYTES = 90_000


def stored(png: bytes, file: Path) -> None:
    """Write a screenshot in as many colours as fit into ``MOST_BYTES``."""
    image = Image.open(io.BytesIO(png)).convert("RGB")
    kind = file.suffix[1:].upper()
    buffer = io.BytesIO()
    for quality in (80, 60, 40):
        buffer = io.BytesIO()
        if kind == "PNG":
            image.quantize(2 * quality, dither=Image.Dither.NONE).save(buffer, kind, optimize=True)
        else:
            image.save(buffer, kind, quality=quality, method=6)
        if buffer.tell() <= MOST_BYTES:
            break
    file.write_bytes(buffer.getvalue())
    print(f"{file.relative_to(DOCS.parent)}: {buffer.tell() // 1000} kB")


def take(page: Page, base: str, links: tuple[str, ...]) -> bytes:
    """The screenshot of the page to which the links lead from the demo study's page."""
    page.goto(f"{base}/admin/annotator/study/")
    page.locator("main a", has_text=STUDY).first.click()
    for link in links:
        address = page.locator(link).first.get_attribute("href")
        page.goto(base + str(address))
    page.wait_for_load_state("networkidle")
    # What only a preview has above the task.
    page.evaluate("document.querySelector('.preview-steps')?.remove()")
    return page.screenshot()


def main() -> int:
    data = Path(os.environ.get("DATA_DIR", DOCS.parent / ".data"))
    base = f"http://127.0.0.1:{os.environ.get('PORT', '8000')}"
    try:
        entrances = json.loads((data / "demo.json").read_text(encoding="utf-8"))
    except OSError:
        print(f"{data}/demo.json is missing: start `make run` first, with the same DATA_DIR", file=sys.stderr)
        return 1
    login = next(one for one in entrances if one["label"] == "researcher")
    with sync_playwright() as playwright:
        browser = launch(playwright)
        page = browser.new_context(viewport=WINDOW, color_scheme="light", locale="en-GB").new_page()  # type: ignore[arg-type]
        try:
            page.goto(f"{base}/login/?next=/admin/")
            page.fill("input[name=username]", login["username"])
            page.fill("input[name=password]", login["password"])
            page.press("input[name=password]", "Enter")
            page.wait_for_url("**/admin/**")
            for name, links in PICTURES.items():
                stored(take(page, base, links), DOCS / name)
        except Error as error:
            print(f"{page.url}: {error.message}", file=sys.stderr)
            return 1
        finally:
            browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
