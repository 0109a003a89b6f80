"""Takes the pictures of docs/screens.md: ``PICTURES=docs/screens .venv/bin/pytest tests/e2e/test_page_pictures.py``.

The pages are those of researchers that were rebuilt most, each on a laptop in light and on a phone in dark.
"""

from __future__ import annotations

import io
from pathlib import Path

from django.conf import settings
from PIL import Image
from playwright.sync_api import Browser

from tests.e2e.contexts import context_open
from tests.e2e.world import World

#: Name of the picture -> address, with the world's objects.
PAGES = {
    "home": "/admin/annotator/study/",
    "new-study": "/admin/annotator/study/add/",
    "inbox": "/admin/annotator/message/",
    "raters": "/admin/annotator/study/{study.pk}/raters/",
    "contested": "/admin/annotator/study/{study.pk}/contested/",
    "item-correction": "/admin/annotator/study/{study.pk}/items/{item.pk}/edit/",
    "audit": "/admin/annotator/study/{study.pk}/audit/",
    "reports": "/studies/{study.pk}/reports/",
    "users": "/admin/annotator/user/",
    "qualifications": "/admin/annotator/qualification/",
}
LAPTOP, PHONE = {"width": 1366, "height": 768}, {"width": 390, "height": 844}
LOOKS = {"laptop": (LAPTOP, "light"), "phone": (PHONE, "dark")}
#: The most bytes of a picture in the documentation.
MOST_BYTES = 60_000


def picture(png: bytes) -> bytes:
    """A screenshot as WebP, in as many colours as fit into ``MOST_BYTES``."""
    image = Image.open(io.BytesIO(png)).convert("RGB")
    for quality in (80, 60, 40, 20):
        buffer = io.BytesIO()
        image.save(buffer, "WEBP", quality=quality, method=6)
        if buffer.tell() <= MOST_BYTES:
            break
    return buffer.getvalue()


def pictures_take(browser: Browser, url: str, world: World, folder: Path) -> dict[str, int]:
    """Store a picture of each page in each look; returns by how many pixels a page is wider than its window."""
    wider = {}
    for look, (size, scheme) in LOOKS.items():
        with context_open(browser, viewport=size, color_scheme=scheme) as context:
            context.add_cookies(
                [{"name": settings.SESSION_COOKIE_NAME, "value": world.sessions["researcher"], "url": url}]
            )
            page = context.new_page()
            for name, address in PAGES.items():
                page.goto(url + address.format(study=world.study, item=world.objects["item"]))
                page.wait_for_load_state("networkidle")
                wider[f"{name}, {look}"] = page.evaluate(
                    "document.documentElement.scrollWidth - document.documentElement.clientWidth"
                )
                if name == "raters" and look == "laptop":
                    wider["raters, table"] = page.evaluate(
                        "(one => one.scrollWidth - one.clientWidth)(document.querySelector('.fk-scroll'))"
                    )
                (folder / f"{name}-{look}.webp").write_bytes(picture(page.screenshot()))
    return wider
