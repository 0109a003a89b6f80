"""The researchers' pages of docs/screens.md fit their window, and the document has a picture of each."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from foretell import env
from tests.e2e.page_pictures import LOOKS, MOST_BYTES, PAGES, pictures_take
from tests.e2e.world import world_make

DOCS = env.ROOT / "docs"


@pytest.mark.django_db(transaction=True)
def test_no_page_is_wider_than_its_window(browser: Browser, live_server: Any, tmp_path: Path) -> None:
    folder = Path(os.environ.get("PICTURES", tmp_path))
    wider = pictures_take(browser, live_server.url, world_make(), folder)
    assert {name: by for name, by in wider.items() if by > 0} == {}
    assert len(list(folder.glob("*.webp"))) >= len(PAGES) * len(LOOKS)


def test_the_document_has_every_picture_and_each_is_small() -> None:
    text = (DOCS / "screens.md").read_text("utf-8")
    for name in PAGES:
        for look in LOOKS:
            file = f"screens/{name}-{look}.webp"
            assert f"]({file})" in text, file
            assert 1_000 < (DOCS / file).stat().st_size <= MOST_BYTES, file
