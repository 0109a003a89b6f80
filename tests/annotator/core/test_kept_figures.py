"""Figures of large studies: stored for pages, counted again in the background; not for services or small studies."""

from __future__ import annotations

import time
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
from annotator.admin.study_pages import home as home_page
from annotator.core import kept_figures
from annotator.core.kept_figures import BeingCounted, StudyCount, figures_changed, figures_kept, first_limit
from annotator.core.time_limit import in_time
from annotator.models import Study, User
from annotator.selectors import judgment as judgment_selectors
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
        "slow in a test", "SELECT (SELECT count(*) FROM annotator_study WHERE id = %s), pg_sleep(0.3)::text"
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


@pytest.mark.parametrize("where", ["in a statement", "in Python"])
def test_a_page_does_not_wait_for_a_long_function(
    where: str, study: Study, asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def count(study_pk: int) -> list[tuple[int]]:
        if where == "in a statement":
            Study.objects.extra(where=["(SELECT pg_sleep(0.3)) IS NOT NULL"]).get(pk=study_pk)
            return [(1,)]
        for _ in in_time(range(3)):
            time.sleep(0.1)
        return [(1,)]

    function = StudyCount("a function in a test", count=count)
    monkeypatch.setitem(StudyCount.declared, "a function in a test", function)
    with figures_kept(study.pk, limit=0.05):
        with pytest.raises(BeingCounted):
            function.rows([study.pk])
        figures_renew_task(**asked[0])
        assert function.rows([study.pk]) == [(1,)]


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


@pytest.fixture
def slow_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of judgments that take longer than the limit."""
    found = judgment_selectors.judgments_filter

    def slowly(**about: Any) -> Any:
        return found(**about).extra(where=["(SELECT pg_sleep(0.1)) IS NOT NULL"])

    monkeypatch.setattr(judgment_selectors, "judgments_filter", slowly)
    monkeypatch.setattr(judgment_selectors, "SLOW_FILTER_SECONDS", 0.05)


def test_a_job_looks_for_what_filters_find_slowly(
    study: Study, researcher: User, asked: list[dict[str, Any]], request: pytest.FixtureRequest
) -> None:
    client = Client()
    client.force_login(researcher)
    address = f"/admin/annotator/study/{study.pk}/judgments/?rater=ann"
    page = client.get(address)
    assert (page.status_code, len(page.context["rows"])) == (200, 1)
    judge(study)
    make_judgment(make_item(study, key="new"), make_rater("ann"), "no")
    page = client.get(address)
    assert len(page.context["rows"]) == 2, "what is found quickly is never kept"
    assert page.context["counted_at"] is None
    request.getfixturevalue("slow_filters")
    assert client.get(address).status_code == 202
    assert [one["figures"] for one in asked] == ["judgments that filters find"]
    figures_renew_task(**asked[0])
    page = client.get(address)
    assert (page.status_code, len(page.context["rows"])) == (200, 2)
    assert page.context["counted_at"] is not None, "the page says how old the list is"


def test_a_small_studys_filters_are_never_given_up(researcher: User, slow_filters: None) -> None:
    small = make_study(by=researcher)
    make_judgment(make_item(small, key="a"), make_rater("ann"), "yes")
    client = Client()
    client.force_login(researcher)
    assert len(client.get(f"/admin/annotator/study/{small.pk}/judgments/").context["rows"]) == 1


def test_the_list_of_studies_does_not_wait_for_a_large_ones_first_figures(
    study: Study, researcher: User, asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = make_study(by=researcher, slug="small", title="The small one", items=3)
    monkeypatch.setattr(study_selectors, "LARGE", 1)
    items = StudyCount.declared["items of studies"]
    sleeping = f"study_id = ANY(%s) AND (study_id <> {study.pk} OR pg_sleep(0.3)::text IS NOT NULL)"
    monkeypatch.setattr(items, "sql", items.sql.replace("study_id = ANY(%s)", sleeping))
    monkeypatch.setattr(home_page, "FIRST_SECONDS", 0.1)
    client = Client()
    client.force_login(researcher)
    page = client.get("/admin/annotator/study/")
    rows = {row.study.pk: row for row in page.context["rows"]}
    assert (rows[small.pk].counting, rows[small.pk].items) == (False, 3)
    assert rows[study.pk].counting
    assert "Its figures are being counted" in page.content.decode()
    assert page["Refresh"] == "5"
    assert asked == [{"figures": "items of studies", "values": [[study.pk]]}]
    figures_renew_task(**asked[0])
    page = client.get("/admin/annotator/study/")
    assert [row.items for row in page.context["rows"] if row.study == study] == [1]
    assert "Refresh" not in page


def test_a_page_waits_for_all_its_long_figures_together(
    slow: StudyCount, study: Study, asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each takes 0.3 seconds, so one of them is counted and the others are not."""
    monkeypatch.setattr(kept_figures, "NEXT_SECONDS", 0.01)
    with figures_kept(study.pk, limit=0.5):
        assert slow.rows([study.pk]) == [(1, "")]
        for value in (-1, study.pk + 1_000):
            with pytest.raises(BeingCounted):
                slow.rows([value])
        assert first_limit() == 0.01
    assert [one["values"] for one in asked] == [[-1], [study.pk + 1_000]]


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
