"""Figures of large studies: stored for pages, counted again in the background; not for services or small studies."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotator.admin.study_pages import frame
from annotator.core import kept_figures
from annotator.core.kept_figures import BeingCounted, StudyCount, figures_changed, figures_kept
from annotator.models import Study, User
from annotator.selectors import study as study_selectors
from annotator.tasks import figures_renew_task
from tests.factories import make_item, make_judgment, make_rater, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What was queued; no worker runs here."""
    found: list[dict[str, Any]] = []
    monkeypatch.setattr(kept_figures, "enqueue", lambda name, **arguments: found.append(arguments))
    cache.clear()
    return found


@pytest.fixture
def counted() -> Iterator[StudyCount]:
    yield StudyCount("judgments in a test", "SELECT count(*) FROM annotator_judgment WHERE study_id = %s")
    del StudyCount.declared["judgments in a test"]


@pytest.fixture
def study(researcher: User, monkeypatch: pytest.MonkeyPatch) -> Study:
    """One judgment, which makes it large here."""
    monkeypatch.setattr(study_selectors, "LARGE", 1)
    made = make_study(by=researcher)
    make_judgment(make_item(made, key="a"), make_rater("ann"), "yes")
    return made


def judge(study: Study) -> None:
    make_judgment(make_item(study, key=f"item-{study.items.count()}"), make_rater("ben"), "yes")


def older(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let the clock of kept figures go forward."""
    now = kept_figures.time.time()
    monkeypatch.setattr(kept_figures.time, "time", lambda: now + seconds)


def test_figures_are_stored_for_pages_only(counted: StudyCount, study: Study) -> None:
    with figures_kept(study.pk) as page:
        assert counted.rows([study.pk]) == [(1,)]
        assert page.since is None, "it was counted for this page"
        judge(study)
        assert counted.rows([study.pk]) == [(1,)]
        assert page.since is not None
    assert counted.rows([study.pk]) == [(2,)], "services count"
    with figures_kept():
        assert counted.rows([study.pk]) == [(2,)], "small studies are counted"


def test_old_figures_are_counted_again_by_a_job_once(
    counted: StudyCount, study: Study, asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with figures_kept(study.pk):
        counted.rows([study.pk])
        judge(study)
        older(monkeypatch, kept_figures.FRESH_SECONDS + 1)
        for _ in range(2):
            assert counted.rows([study.pk]) == [(1,)]
        assert asked == [{"figures": "judgments in a test", "values": [study.pk]}]
        for _ in range(2):  # the job may run twice
            figures_renew_task(**asked[0])
        assert counted.rows([study.pk]) == [(2,)]
    figures_renew_task(figures="of an older version", values=[])


def test_a_researchers_change_is_counted_at_once(counted: StudyCount, study: Study) -> None:
    with figures_kept(study.pk):
        counted.rows([study.pk])
        judge(study)
        figures_changed(study.pk)
        assert counted.rows([study.pk]) == [(2,)]


def test_after_a_change_what_takes_long_is_counted_by_a_job(
    counted: StudyCount, study: Study, asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_figures, "SLOW_SECONDS", 0)
    with figures_kept(study.pk) as page:
        counted.rows([study.pk])
        judge(study)
        figures_changed(study.pk)
        assert counted.rows([study.pk]) == [(1,)]
        assert page.since is not None, "the page says how old the figures are"
        figures_renew_task(**asked[0])
        assert counted.rows([study.pk]) == [(2,)]
    assert len(asked) == 1


@pytest.fixture
def slow() -> Iterator[StudyCount]:
    yield StudyCount(
        "slow in a test", "SELECT count(*), pg_sleep(0.3)::text FROM annotator_study WHERE id = %s"
    )
    del StudyCount.declared["slow in a test"]


def test_a_page_does_not_wait_for_a_long_first_count(
    slow: StudyCount, study: Study, asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with figures_kept(study.pk, limit=0.05):
        for _ in range(2):
            with pytest.raises(BeingCounted):
                slow.rows([study.pk])
        assert asked == [{"figures": "slow in a test", "values": [study.pk]}], (
            "one job, however often it's asked"
        )
        with CaptureQueriesContext(connection) as seen, pytest.raises(BeingCounted):
            slow.rows([study.pk])
        assert len(seen) == 0, "nothing is counted while a job does it"
        figures_renew_task(**asked[0])
        assert slow.rows([study.pk]) == [(1, "")]
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == ("0",), "what follows may take as long as it likes"


@pytest.mark.parametrize("why", ["no worker", "no cache"])
def test_a_long_first_count_is_made_in_the_request_if_no_job_does_it(
    why: str, slow: StudyCount, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why == "no cache":
        monkeypatch.setattr(kept_figures.cache, "get_many", lambda keys: {})
        monkeypatch.setattr(kept_figures.cache, "get", lambda key: None)
    with figures_kept(study.pk, limit=0.05):
        if why == "no worker":
            with pytest.raises(BeingCounted):
                slow.rows([study.pk])
            older(monkeypatch, kept_figures.ASKED_SECONDS + 1)
        assert slow.rows([study.pk]) == [(1, "")]


def test_a_page_that_is_being_counted_says_so_and_opens_itself_again(
    study: Study, researcher: User, asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    raters = StudyCount.declared["raters of a study"]
    sleeping = "FROM (SELECT pg_sleep(0.3)) long CROSS JOIN annotator_judgment j"
    monkeypatch.setattr(raters, "sql", raters.sql.replace("FROM annotator_judgment j", sleeping))
    monkeypatch.setattr(frame, "FIRST_SECONDS", 0.05)
    client = Client()
    client.force_login(researcher)
    address = f"/admin/annotator/study/{study.pk}/raters/"
    page = client.get(address)
    assert (page.status_code, page["Refresh"]) == (202, "5")
    assert "Figures are being counted" in page.content.decode()
    part = client.get(address, headers={"HX-Request": "true"})
    assert (part.status_code, part.content) == (204, b"")
    figures_renew_task(**asked[0])
    assert "Counted at" in client.get(address).content.decode()
    assert len(asked) == 1


def test_types_that_json_lacks_are_restored(study: Study) -> None:
    now = timezone.now()
    kinds = StudyCount(
        "types in a test", "SELECT %s::numeric, %s::timestamptz, NULL, 'a', 1.5::float, ARRAY[1, 2]"
    )
    values = ["1.50", now.isoformat()]
    try:
        with figures_kept(study.pk):
            first, again = kinds.rows(values), kinds.rows(values)
    finally:
        del StudyCount.declared["types in a test"]
    assert first == again == [(Decimal("1.50"), now, None, "a", 1.5, [1, 2])]


def test_without_a_cache_figures_are_counted(
    counted: StudyCount, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_figures.cache, "get_many", lambda keys: {})
    with figures_kept(study.pk):
        counted.rows([study.pk])
        judge(study)
        assert counted.rows([study.pk]) == [(2,)]


def test_pages_of_a_large_study_say_when_they_were_counted(researcher: User, study: Study) -> None:
    client = Client()
    client.force_login(researcher)
    root = f"/admin/annotator/study/{study.pk}/"
    for page in (
        f"{root}live/",
        f"{root}raters/",
        f"{root}payments/",
        f"{root}contested/",
        f"{root}versions/",
        "/admin/annotator/study/",
    ):
        client.get(page)
        with CaptureQueriesContext(connection) as seen:
            assert "ounted at" in client.get(page).content.decode(), page
        assert len(seen) <= 20, page
    judge(study)
    client.post(f"{root}exclude/rater/{make_rater('ann').pk}/", {"reason": "odd"})
    assert "ounted at" not in client.get(f"{root}raters/").content.decode(), "counted for this page"


def test_pages_of_a_small_study_are_always_counted(researcher: User) -> None:
    small = make_study(by=researcher)
    client = Client()
    client.force_login(researcher)
    for _ in range(2):
        assert "ounted at" not in client.get(f"/admin/annotator/study/{small.pk}/live/").content.decode()
