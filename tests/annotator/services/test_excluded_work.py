"""Excluded work is named in a study's progress, excluded together or not at all, and a closed study can be reopened."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from annotator.models import Exclusion, Judgment, Study, User
from annotator.selectors.home import home_rows
from annotator.selectors.progress import study_progress
from annotator.services.assignment import assignment_next
from annotator.services.exclusion import exclusion_lift, exclusion_make, judgments_exclude
from annotator.services.items import item_withdraw
from annotator.services.study import study_close
from annotator.services.submit_and_next import turn_take
from tests.factories import make_item, make_judgment, make_participation, make_rater, make_study, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(researcher: User) -> Study:
    """Three items of two places; two people have judged them all."""
    study = make_study(items=3, redundancy=2, launched=True, by=researcher)
    for _ in range(2):
        person = make_participation(study, make_user())
        while (task := assignment_next(participation=person)) is not None:
            turn_take(user_id=person.rater.user_id, assignment_pk=task.pk, stage=0, raw={"helpful": "no"})
    return study


def test_progress_names_excluded_work(study: Study, researcher: User) -> None:
    first = study.judgments.order_by("pk").first()
    own = exclusion_make(study=study, by=researcher, reason="Odd", judgment=first)
    assert (study_progress(study).done, study_progress(study).done_excluded) == (6, 1)
    exclusion_make(study=study, by=researcher, reason="A bot", rater=first.rater)
    assert study_progress(study).done_excluded == 3, "a judgment excluded twice counts once"
    for lifted in Exclusion.objects.exclude(pk=own.pk):
        exclusion_lift(exclusion=lifted)
    assert study_progress(study).done_excluded == 1
    client = Client()
    client.force_login(researcher)
    page = client.get(f"/admin/annotator/study/{study.pk}/live/").content.decode()
    assert "but 1 judgment is excluded." in page
    assert "1 of those done are excluded and not replaced" in page
    assert client.get(f"/api/v1/studies/{study.slug}/progress/").json()["done_excluded"] == 1


def test_withdrawn_items_are_in_no_figure(study: Study, researcher: User) -> None:
    item_withdraw(item=study.items.first(), by=researcher, reason="misprint")
    progress = study_progress(study)
    assert (progress.items, progress.places, progress.done, progress.percent) == (2, 4, 4, 100)
    [row] = home_rows([study])
    assert (row.items, row.places, row.done) == (2, 4, 4)


def test_several_judgments_are_excluded_all_or_none(researcher: User) -> None:
    study = make_study()
    good = [make_judgment(make_item(study, key=str(n)), make_rater(f"r{n}")) for n in range(3)]
    foreign = make_judgment(make_item(make_study()), make_rater("far"))
    arguments: dict[str, Any] = {"study": study, "by": researcher, "reason": "Too fast"}
    with pytest.raises(ValidationError, match="does not belong"):
        judgments_exclude(judgments=[*good, foreign], **arguments)
    assert not Exclusion.objects.exists()
    exclusion_make(judgment=good[1], **arguments)
    assert len(judgments_exclude(judgments=good, **arguments)) == 2
    assert judgments_exclude(judgments=good, **arguments) == []


def test_the_page_excludes_several_judgments(study: Study, researcher: User) -> None:
    client = Client()
    client.force_login(researcher)
    pks = list(study.judgments.values_list("pk", flat=True))[:4]
    address = f"/admin/annotator/study/{study.pk}/exclude/judgments/?" + "&".join(f"pk={pk}" for pk in pks)
    answer = client.post(address, {"reason": "Too fast"}, follow=True)
    assert "4 judgments excluded; 0 were already excluded." in answer.content.decode()
    answer = client.post(address, {"reason": "Too fast"}, follow=True)
    assert "0 judgments excluded; 4 were already excluded." in answer.content.decode()
    assert set(Exclusion.objects.values_list("judgment", flat=True)) == set(pks)


def test_a_reopened_study_takes_corrections_and_gives_out_tasks_again(study: Study, researcher: User) -> None:
    study_close(study=study)
    client = Client()
    client.force_login(researcher)
    for name, state in (("reopen", "paused"), ("resume", "live")):
        client.post(f"/admin/annotator/study/{study.pk}/do/{name}/")
        study.refresh_from_db()
        assert study.state == state
    item_withdraw(item=study.items.first(), by=researcher, reason="misprint")
    assert Judgment.objects.filter(study=study).count() == 6
