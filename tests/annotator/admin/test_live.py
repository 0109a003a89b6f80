"""The live page: its statements are true, its figures link to their rows, and it takes few queries."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotator.admin.study_pages.live import going_words, needs_words, trust_words
from annotator.models import Judgment, Message, Participation, Study, User
from annotator.selectors.live import Live, Pace, pace_of, study_live
from annotator.selectors.progress import study_progress
from annotator.services.assignment import assignment_next
from annotator.services.exclusion import exclusion_make
from annotator.services.message import message_send
from annotator.services.rehearsal.fill import rehearsal_raters, rehearse
from annotator.services.study import study_close, study_launch, study_pause, study_update
from annotator.services.submit_and_next import turn_take
from tests.factories import (
    make_item,
    make_judgment,
    make_participation,
    make_rater,
    make_study,
    make_user,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def researcher() -> User:
    return make_user("ada", staff=True)


@pytest.fixture
def study(researcher: User) -> Study:
    """Two conditions of six items each, two raters per item."""
    made = make_study(by=researcher, slug="owls", redundancy=2, pay_per_item="0.50", min_seconds=5)
    for number in range(12):
        make_item(made, key=f"owl-{number}", condition="normal" if number < 6 else "forced")
    study_launch(study=made)
    made.refresh_from_db()
    return made


def work(study: Study, turns: int, *, condition: str = "", who: Participation | None = None) -> Participation:
    """One person answers ``turns`` tasks with alternating answers; only those of one condition, if it is given."""
    participation = who or make_participation(study)
    done = 0
    while done < turns:
        assignment = assignment_next(participation=participation)
        assert assignment is not None
        if condition and assignment.item.condition != condition:
            turn = {"helpful": "no"}
        else:
            turn = {"helpful": "yes", "answer": "yes" if done % 2 else "no"}
            done += 1
        turn_take(user_id=participation.rater.user_id, assignment_pk=assignment.pk, stage=0, raw=turn)
    return participation


def address(study: Study) -> str:
    return reverse("admin:study_live", args=[study.pk])


def text(client: Client, study: Study) -> str:
    return unescape(" ".join(re.sub(r"<[^>]+>", " ", client.get(address(study)).content.decode()).split()))


def figures(study: Study) -> Live:
    return study_live(study, study_progress(study))


def seconds(study: Study, value: float) -> None:
    Judgment.objects.filter(study=study).update(seconds=value)


def test_the_page_describes_a_study_before_during_and_after_the_work(
    researcher_client: Client, study: Study, researcher: User
) -> None:
    draft = make_study(by=researcher, items=2)
    assert "Ready to launch" in text(researcher_client, draft)
    assert "Nobody has submitted anything yet; 0 tasks are in progress." in text(researcher_client, study)
    first = work(study, 12)
    seconds(study, 20)
    shown = text(researcher_client, study)
    assert "Yes: 50 % is done, the rest by " in shown
    assert "6.00 USD" in shown
    assert "12.00 USD once everything is done" in shown
    work(study, 12)
    assert "Complete: all 24 places are filled, for 12.00 USD." in text(researcher_client, study)
    assert first.assignments.count() == 12


def test_a_stalled_or_paused_study_says_so(researcher_client: Client, study: Study) -> None:
    work(study, 6)
    Judgment.objects.filter(study=study).update(created_at=timezone.now() - timedelta(days=3))
    assert "Stalled: 25 % is done, and nothing has been submitted for 3" in text(
        researcher_client, study
    ).replace("\xa0", " ")
    study_pause(study=study)
    assert "The study is paused: 25 % is done, and no more tasks are given out." in text(
        researcher_client, study
    )
    study.refresh_from_db()
    study_close(study=study)
    shown = text(researcher_client, study)
    assert "The study is closed" in shown
    assert "this page doesn't update" in shown


def test_each_condition_has_a_progress_bar_and_the_slowest_is_named(
    researcher_client: Client, study: Study
) -> None:
    work(study, 6, condition="normal")
    found = {one.name: one for one in figures(study).conditions}
    assert {one.places for one in found.values()} == {12}
    assert sum(one.done for one in found.values()) == Judgment.objects.filter(study=study).count()
    behind, ahead = sorted(found.values(), key=lambda one: one.share)
    assert (f"“{behind.name}” lags behind." in text(researcher_client, study)) is (
        ahead.share - behind.share > 0.2
    )


def test_the_pace_is_computed_from_enough_recent_judgments() -> None:
    now = timezone.now()
    assert pace_of([now] * 4, now=now) == Pace(None, now, None)
    hourly = [now - timedelta(hours=hours) for hours in range(1, 11)]
    pace = pace_of(hourly, now=now)
    assert pace.per_hour == 1
    end = pace.end(5)
    assert end is not None
    assert abs(end - now - timedelta(hours=5)) < timedelta(minutes=1)
    assert pace_of([now - timedelta(days=2)] * 9, now=now).end(5) is None


def test_unusual_raters_are_listed_with_reasons_until_excluded(
    researcher_client: Client, study: Study
) -> None:
    fast, steady = work(study, 12), work(study, 10)
    Judgment.objects.filter(study=study, rater=fast.rater).update(seconds=1.5, signals={"pastes": 2})
    Judgment.objects.filter(study=study, rater=steady.rater).update(seconds=30)
    flagged = figures(study).flagged
    assert [(one.name, one.reasons) for one in flagged] == [
        (fast.rater.name, ("12 of 12 in under 5 s", "pasted text into 12 of 12"))
    ]
    shown = text(researcher_client, study)
    assert "1 of 2 raters stands out" in shown
    assert "12 judgments took under 5 s" in shown
    assert "1 rater to check." in shown
    exclusion_make(study=study, by=None, reason="too fast", rater=fast.rater)
    assert figures(study).flagged == ()


def test_leaving_the_page_is_flagged_only_if_others_stay(study: Study) -> None:
    leaver, stayer = work(study, 10), work(study, 10)
    everybody = Judgment.objects.filter(study=study)
    everybody.update(seconds=20)
    everybody.filter(rater=leaver.rater).update(signals={"left": 2})
    assert [(one.name, one.reasons) for one in figures(study).flagged] == [
        (leaver.rater.name, ("left the page during 10 of 10",))
    ]
    everybody.filter(rater=stayer.rater).update(signals={"leaves": 1})
    assert figures(study).flagged == (), "where everybody looks things up, nobody stands out"


def test_repeating_one_answer_is_flagged_only_if_others_vary(study: Study) -> None:
    for _ in range(2):
        work(study, 10)
    everybody = Judgment.objects.filter(study=study)
    everybody.update(seconds=20)
    one = everybody.order_by("rater_id").first()
    assert one is not None
    everybody.filter(rater=one.rater).update(digest=one.digest)
    assert [found.reasons for found in figures(study).flagged] == [("the same answer in 10 of 10",)]
    everybody.update(digest=one.digest)
    assert figures(study).flagged == (), "where everybody says the same, nobody stands out"


def test_failed_attention_checks_are_flagged(researcher: User) -> None:
    study = make_study(by=researcher, redundancy=1)
    for number in range(6):
        gold = {"helpful": "no"} if number < 3 else None
        make_item(study, key=f"k{number}", gold=gold, role="gold" if gold else "ordinary")
    study_launch(study=study)
    study.refresh_from_db()
    work(study, 6)
    seconds(study, 20)
    assert [one.reasons for one in figures(study).flagged] == [("3 of 3 checks failed",)]


def test_open_messages_are_counted_by_kind_and_the_latest_shown(
    researcher_client: Client, study: Study
) -> None:
    participation = make_participation(study)
    assert needs_words(figures(study)) == "Nothing needs your attention."
    for kind, words in (
        ("question", "Do bats count?"),
        ("flag", "<b>Broken</b>"),
        ("deletion", "Please."),
        ("flag", "No text"),
    ):
        message_send(participation=participation, kind=kind, text=words)
    shown = researcher_client.get(address(study)).content.decode()
    assert "1 deletion request to answer, 1 question to answer and 2 problems reported with items." in shown
    assert "&lt;b&gt;Broken&lt;/b&gt;" in shown
    Message.objects.update(settled_at=timezone.now())
    assert needs_words(figures(study)) == "Nothing needs your attention."


def test_every_figure_links_to_its_rows(researcher_client: Client, study: Study) -> None:
    fast = work(study, 12)
    Judgment.objects.filter(study=study, rater=fast.rater).update(seconds=1.5)
    work(study, 5)
    Judgment.objects.filter(study=study).exclude(rater=fast.rater).update(seconds=70)
    message_send(participation=fast, kind="question", text="Why?")
    html = researcher_client.get(address(study)).content.decode()
    part = html[html.index('id="live-part"') : html.index("live-agreement-title")]
    links = {unescape(url) for url in re.findall(r'href="([^"]+)"', part)}
    assert len(links) > 15
    for link in links:
        assert researcher_client.get(link).status_code == 200, link
    rows = reverse("admin:study_judgments", args=[study.pk])
    for query, n in (("seconds_from=0&seconds_below=5", 12), ("seconds_from=40&seconds_below=80", 5)):
        assert f"{rows}?{query}" in links
        assert researcher_client.get(f"{rows}?{query}").content.decode().count("/judgments/") - 1 >= n
    assert researcher_client.get(f"{rows}?seconds_from=nan").status_code == 400


def test_polling_returns_nothing_if_nothing_has_changed(researcher_client: Client, study: Study) -> None:
    html = researcher_client.get(address(study)).content.decode()
    again = unescape(re.findall(r'id="live-part" hx-get="([^"]+)"', html)[0])
    headers = {"HX-Request": "true"}
    assert researcher_client.get(again, headers=headers).status_code == 204
    work(study, 1)
    changed = researcher_client.get(again, headers=headers)
    assert changed.status_code == 200
    assert changed.content.decode().startswith("\n<div") or 'id="live-part"' in changed.content.decode()[:200]
    assert (
        "hx-get"
        not in researcher_client.get(address(study), {"still": ""})
        .content.decode()
        .split("live-agreement-title")[0]
        .split("fk-tabs")[1]
    )


def test_the_live_pages_number_of_queries_is_constant(study: Study, researcher: User) -> None:
    def queries() -> int:
        client = Client()
        client.force_login(researcher)
        client.get(address(study))
        with CaptureQueriesContext(connection) as seen:
            client.get(address(study))
        return len(seen)

    work(study, 2)
    few = queries()
    for _ in range(2):
        work(study, 8)
    most = queries()
    assert most <= few + 1
    assert most <= 20


def test_the_live_page_is_for_the_studys_researchers_only(study: Study) -> None:
    client = Client()
    assert client.get(address(study)).status_code == 302
    client.force_login(make_user("otto", staff=True))
    assert client.get(address(study)).status_code == 404


def test_a_study_without_judgments_is_described(study: Study) -> None:
    live: Any = figures(study)
    assert going_words(study, live) == "Nobody has submitted anything yet; 0 tasks are in progress."
    assert (
        trust_words(live, study_progress(study), study)
        == "Too early to say: nobody has submitted five judgments yet."
    )


def test_rehearsal_raters_and_imports_change_no_figure_of_participants(
    researcher_client: Client, study: Study
) -> None:
    """A rehearsal takes milliseconds and earns nothing; imported raters were never paid here."""
    work(study, 3)
    seconds(study, 40)
    before, money = study_progress(study), figures(study).spent
    raters = rehearsal_raters(study=study, count=6, accuracy=0.9, spread=0, seed=1)
    assert rehearse(study=study, raters=raters, seed=1) == 24
    make_judgment(study.items.get(key="owl-0"), make_rater("worker-1"))
    after, live = study_progress(study), figures(study)
    for name in ("people", "web", "done", "median_seconds", "pay_per_hour", "fast", "surplus"):
        assert getattr(after, name) == getattr(before, name), name
    assert (after.people, after.rehearsal_raters, after.imported_raters) == (1, 6, 1)
    assert live.spent == money == Decimal("1.50")
    assert live.raters == 0, "nobody has left five judgments"
    assert sum(one.n for one in live.times) == 3
    shown = text(researcher_client, study)
    assert "1.50 USD" in shown
    assert "6 rehearsal raters and 1 imported rater are not counted" in shown


def test_work_is_costed_at_the_rate_at_which_it_was_paid(study: Study) -> None:
    work(study, 2)
    study_update(study=study, pay_per_item="1.00")
    study.refresh_from_db()
    work(study, 1)
    live = figures(study)
    assert live.spent == Decimal("2.00")
    assert live.whole == Decimal("2.00") + 21 * Decimal("1.00")
