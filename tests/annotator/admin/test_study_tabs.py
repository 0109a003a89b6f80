"""The tabs over the pages of a study."""

from __future__ import annotations

import re

import pytest

from tests.factories import (
    make_study,
)

pytestmark = pytest.mark.django_db
PAGES = (
    "live/",
    "items/",
    "raters/",
    "payments/",
    "judgments/",
    "exclusions/",
    "exports/",
    "exam/",
    "change/",
)


def test_every_page_of_a_study_has_the_same_tabs(researcher_client, researcher):
    study = make_study(items=1, by=researcher)
    tabs = set()
    for one in PAGES:
        text = researcher_client.get(f"/admin/annotator/study/{study.pk}/{one}").content.decode()
        bar = text.split('aria-label="Study"')[1].split("</nav>")[0]
        tabs.add(tuple(re.findall(r'<a href="([^"]+)"', bar)))
        assert bar.count("aria-current") == 1, one
    assert len(tabs) == 1


def test_reports_have_the_tabs_of_their_study(researcher_client, researcher):
    study = make_study(items=1, by=researcher)
    text = researcher_client.get(f"/studies/{study.pk}/reports/").content.decode()
    bar = text.split('aria-label="Study"')[1].split("</nav>")[0]
    assert f"/admin/annotator/study/{study.pk}/live/" in bar
    assert bar.count("aria-current") == 1
