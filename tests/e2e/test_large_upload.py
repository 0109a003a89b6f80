"""A large file in the browser: sent in pieces, some of them twice, and imported by a worker."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Page, Route, expect

from annotator.models import FileImport
from annotator.services.imports.file_imports import file_import_run
from annotator.services.study import study_create
from tests.annotator.services.imports.material_files import material
from tests.factories import make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_large_file_is_sent_in_pieces_and_imported_in_the_background(
    live_server: Any, page: Page, settings: Any, queued: list[Any]
) -> None:
    settings.IMPORT_PIECE_BYTES = settings.IMPORT_BACKGROUND_BYTES = 1500
    ada = make_user("ada", staff=True)
    study = study_create(by=ada, hit_type="simulation", slug="owls", title="Owls")
    client = Client()
    client.force_login(ada)
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    page.context.add_cookies(
        [{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": live_server.url}]
    )
    sent: list[str] = []

    def lose_the_second_reply(route: Route) -> None:
        if "offset" not in route.request.url:
            route.continue_()
            return
        sent.append(route.request.url)
        if len(sent) == 2:
            route.fetch()
            route.fulfill(status=502, body="Bad gateway")
        else:
            route.continue_()

    page.route("**/import/upload/**", lose_the_second_reply)
    page.goto(f"{live_server.url}/admin/annotator/study/{study.pk}/import/")
    data = material(20)
    page.set_input_files(
        "input[type=file]", {"name": "m.jsonl", "mimeType": "application/x-ndjson", "buffer": data}
    )
    page.get_by_role("button", name="Check file").click()
    expect(page.get_by_role("button", name="Import in the background")).to_be_visible(timeout=120_000)
    pieces = -(-len(data) // 1500)
    assert len(sent) == pieces + 1, "one piece was sent twice"
    page.get_by_role("button", name="Import in the background").click()
    expect(page.get_by_text("Waiting for a worker.")).to_be_visible(timeout=120_000)
    file_import_run(file_import_pk=FileImport.objects.get().pk)
    expect(page.get_by_text("Imported 20 items from 20 rows")).to_be_visible(timeout=120_000)
    assert study.items.count() == 20
