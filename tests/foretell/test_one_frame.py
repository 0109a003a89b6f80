"""Researchers' pages have one frame: whatever page of theirs is opened, it has the sidebar of all others."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import get_resolver
from lxml import html

from annotator.models import User
from tests.e2e.world import addresses, every_name, world_make
from tests.evaluation.reports.studies import small_study, stored
from tests.foretell.addresses import fill, routes

pytestmark = pytest.mark.django_db
RESEARCHERS = ("/admin/", "/studies/", "/reports/", "/releases/", "/two-factor/", "/sso/", "/api/v1/docs/")
#: Files, and pages for people who aren't logged in.
NO_PAGES = re.compile(r"/(export|files|download|login|authenticate|cancelled|error|inactive|signup|new)/?")
#: Addresses that lead elsewhere, are denied to everyone, or only take what is sent.
ELSEWHERE = (302, 403, 405)
#: Name and status of addresses that answer with no whole page.
NO_DOCUMENT = {
    "admin:evaluation_pipeline_progress 200",  # parts of pages
    "admin:evaluation_run_progress 200",
    "admin:search 200",
    "evaluation:kept_job_status 200",
    "evaluation:release_status 200",
    "evaluation:report_status 200",
    "evaluation:report_export 200",  # a file in HTML
    "admin:study_export_file 404",  # files that the objects here don't have
    "admin:study_panel_payments 404",
    "evaluation:report_file 404",
    "evaluation:plan_json 404",
    "evaluation:plan_markdown 404",
}
#: Icons that screen readers would read aloud, each as its name in letters ("list_alt").
ICONS = "//*[@id='nav-sidebar']//*[contains(@class, 'material-symbols-outlined')][not(ancestor-or-self::*[@aria-hidden='true'])]"
#: The sidebar's link to the studies where it's marked as the open page, and what stands in the bar above a page.
STUDIES_MARKED = "//*[@id='nav-sidebar']//a[@href='/admin/annotator/study/'][contains(@class, 'active')]"
BAR = "//*[@id='header-inner']//*[self::h1 or self::p]"
SIDEBAR = re.compile(r'id="nav-sidebar"')


def of_a_study(path: str) -> bool:
    return bool(re.match(r"/(admin/annotator/study|studies|reports|releases)/\d+/", path))


def documents(client: Client, values: dict[str, str]) -> dict[str, str]:
    """Address -> page, of every whole page of a researcher that opens with these values."""
    found = {}
    for route in routes(get_resolver().url_patterns):
        path = fill(route, values)
        if not path.startswith(RESEARCHERS) or (NO_PAGES.search(route) and "/admin/" not in route):
            continue
        reply = client.get(path)
        if reply.status_code != 200 or reply.streaming or "html" not in reply.headers.get("Content-Type", ""):
            continue
        page = reply.content.decode()
        if "<!doctype html" in page[:300].lower():
            found[path] = page
    return found


def test_every_page_of_researchers_has_the_sidebar(client: Client) -> None:
    boss = User.objects.create_superuser("root-of-lab")
    client.force_login(boss)
    study = small_study()
    report = stored(study)
    item, judgment = study.items.first(), study.judgments.first()
    assert item is not None
    assert judgment is not None
    values = {
        "pk": str(study.pk), "study_pk": str(study.pk), "slug": "de", "which": "exam", "item_pk": str(item.pk),
        "judgment_pk": str(judgment.pk), "rater_pk": str(judgment.rater_id), "target_pk": str(item.pk), "name": "launch",
        "object_id": str(study.pk), "code": "de",
    }  # fmt: skip
    pages = documents(client, values) | documents(client, values | {"pk": str(report.pk)})
    assert [path for path, page in pages.items() if not SIDEBAR.search(page)] == []
    assert [path for path, page in pages.items() if len(re.findall(r"<h1\b", page)) != 1] == []
    assert [path for path, page in pages.items() if page.count('id="main"') != 1] == []
    studies = {path: html.document_fromstring(page) for path, page in pages.items() if of_a_study(path)}
    assert len(studies) > 20
    assert [path for path, page in studies.items() if not page.xpath(STUDIES_MARKED)] == []
    assert [path for path, page in studies.items() if not page.xpath(BAR)[0].text_content().strip()] == []
    for part in (
        "/reports/",
        "/two-factor/",
        "/api/v1/docs/",
        "/messages/",
        "/admin/annotator/message/",
        "/sso/connections/",
    ):
        assert any(part in path for path in pages), part
    assert len(pages) > 60


def test_every_address_of_researchers_is_known_and_its_page_has_the_frame(client: Client) -> None:
    """With objects of every kind, so that no page is passed over because its object is missing; ``addresses`` raises for an
    address that it doesn't know."""
    world = world_make()
    client.force_login(world.researcher)
    others, framed, unframed = set(), set(), []
    for name in every_name():
        for who, path in addresses(name, world):
            if who != "researcher" or name.startswith("annotator:"):
                continue
            reply = client.get(path)
            page = "" if reply.streaming else reply.content.decode("utf-8", "replace")
            if reply.status_code in ELSEWHERE or "html" not in reply.headers.get("Content-Type", "html"):
                continue
            if reply.status_code != 200 or "<!doctype html" not in page[:300].lower():
                others.add(f"{name} {reply.status_code}")
                continue
            framed.add(name)
            headings = len(re.findall(r"<h1\b", page))
            if not SIDEBAR.search(page) or headings != 1 or page.count('id="main"') != 1:
                unframed.append((path, headings))
            icons = html.document_fromstring(page).xpath(ICONS)
            assert not icons, (path, [html.tostring(one)[:200] for one in icons[:3]])
    assert unframed == []
    assert sorted(others) == sorted(NO_DOCUMENT), "\n".join(sorted(others))
    assert len(framed) > 100
