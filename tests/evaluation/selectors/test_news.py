"""News for researchers: agreement that is low beyond doubt, and runs that need help."""

from __future__ import annotations

from typing import Any

import pytest
from django.core import mail
from django.utils import timezone

from annotator.models import Study
from annotator.services.exclusion import exclusion_make
from annotator.services.notices import notice_choices_set, notices_sweep
from evaluation.models import Run
from evaluation.selectors.news import quality_news
from tests.evaluation.run_factories import make_endpoint, make_run
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_judgment, make_rater, make_study, make_user

pytestmark = pytest.mark.django_db


def judged(*, agree: bool, items: int = 12) -> Study:
    """A live study in which two people agree, or do on the first item only."""
    ada = make_user("ada", staff=True, email="ada@example.org")
    study = make_study(by=ada, items=items, launched=True, title="Owls")
    first, second = make_rater("first"), make_rater("second")
    for number, item in enumerate(study.items.order_by("pk")):
        answer, other = ("yes", "no") if number % 2 else ("no", "yes")
        make_judgment(item, first, answer)
        make_judgment(item, second, answer if agree or not number else other)
    return study


def test_agreement_is_news_only_if_its_whole_interval_is_low() -> None:
    low = judged(agree=False)
    [news] = quality_news([low])
    assert news.kind == "quality"
    assert news.text.startswith("Agreement is low: alpha -0.")
    assert str(low.snapshot_id) in news.key


def test_agreement_is_computed_again_only_after_a_judgment_or_an_exclusion(
    django_assert_num_queries: Any,
) -> None:
    low = judged(agree=False)
    [news] = quality_news([low])
    with django_assert_num_queries(3):  # the latest judgment, the latest change, and runs
        assert list(quality_news([low])) == [news]
    third = make_rater("third")
    for number, item in enumerate(low.items.order_by("pk")):
        make_judgment(item, third, "no" if number % 2 else "yes")
    [later] = quality_news([low])
    assert later.text != news.text
    exclusion_make(study=low, by=None, reason="always the other way", rater=third)
    assert list(quality_news([low])) == [news]


def test_good_agreement_and_too_little_to_say_are_no_news() -> None:
    assert list(quality_news([judged(agree=True)])) == []


def test_three_items_are_too_few_to_say() -> None:
    assert list(quality_news([judged(agree=False, items=3)])) == []


def test_a_paused_study_has_no_news_about_agreement() -> None:
    study = judged(agree=False)
    study.state = Study.State.PAUSED
    assert list(quality_news([study])) == []


def test_a_run_that_stops_by_itself_is_sent_once_and_one_that_was_paused_by_hand_is_not(
    scripted: ScriptedProcess,
) -> None:
    ada = make_user("ada", staff=True, email="ada@example.org")
    study = make_study(by=ada, items=2, launched=True, title="Owls")
    notice_choices_set(user=ada, site="https://lab.example", choices={"quality": "now"})
    run = make_run(make_endpoint(scripted, by=ada), study, started=False)
    Run.objects.filter(pk=run.pk).update(state=Run.State.PAUSED, reason="")
    assert notices_sweep() == 0
    Run.objects.filter(pk=run.pk).update(
        state=Run.State.PAUSED, reason="Too many calls failed.", heartbeat_at=timezone.now()
    )
    assert notices_sweep() == 1
    assert notices_sweep() == 0
    assert f"is paused: https://lab.example/admin/evaluation/run/{run.pk}/change/" in mail.outbox[0].body
    Run.objects.filter(pk=run.pk).update(state=Run.State.FAILED, finished_at=timezone.now())
    assert notices_sweep() == 1
    assert "has failed" in mail.outbox[1].body
