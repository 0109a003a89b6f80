"""Nobody can hold places without using them: one open task for a guest, limits on joining and on unfinished tasks."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.utils import timezone

from annotator.core.errors import Refused
from annotator.models import Assignment, Participation, Study, User
from annotator.services.assignment import assignment_next, assignment_return, leases_expire
from annotator.services.judgment_undo import judgment_undo
from annotator.services.participation import annotator_create, participation_join, rater_for
from annotator.services.stage_submit import stage_submit
from annotator.services.study import study_update
from annotator.services.submit_and_next import turn_take
from tests.factories import make_participation, make_study, make_user

pytestmark = pytest.mark.django_db
ANSWER = {"helpful": "no"}


def live(**fields: object) -> Study:
    return make_study(items=4, launched=True, **fields)


def take(participation: Participation) -> Assignment:
    assignment = assignment_next(participation=participation)
    assert assignment is not None
    return assignment


@pytest.fixture
def guest() -> User:
    return annotator_create()


def test_a_guest_has_one_open_task_across_all_studies(guest: User) -> None:
    first, second = live(), live()
    here, there = make_participation(first, guest), make_participation(second, guest)
    held = take(here)
    with pytest.raises(Refused, match=first.title) as refused:
        assignment_next(participation=there)
    assert (refused.value.kind, refused.value.slug) == ("elsewhere", first.slug)
    assert not second.places.filter(assignment__isnull=False).exists()
    assert take(here).pk == held.pk, "the open task is still theirs"
    stage_submit(user_id=guest.pk, assignment_pk=held.pk, stage=0, raw=ANSWER)
    assert take(there).participation_id == there.pk


def test_the_other_studys_page_links_to_the_open_task(guest: User) -> None:
    first, second = live(), live()
    for study in (first, second):
        Client().get(f"/join/{study.join_token}/")
    client = Client()
    client.force_login(guest, backend="annotator.accounts.sessions.LoginBackend")
    for study in (first, second):
        client.post(f"/join/{study.join_token}/")
        page = client.post(f"/study/{study.slug}/instructions/", follow=True)
    assert b"You have a task open in another study" in page.content
    assert f'href="/study/{first.slug}/"' in page.content.decode()
    assert Assignment.objects.filter(state="leased").count() == 1


def test_after_skipping_or_losing_a_task_a_guest_can_join_another_study(guest: User) -> None:
    here, there = make_participation(live(), guest), make_participation(live(), guest)
    assignment_return(user_id=guest.pk, assignment_pk=take(here).pk, reason="unclear")
    take(there)
    Assignment.objects.filter(state="leased").update(lease_until=timezone.now() - timedelta(seconds=1))
    leases_expire()
    take(here)
    with pytest.raises(Refused, match="one task open"):
        assignment_next(participation=there)  # neither a new one nor the one that ran out


def test_an_account_works_on_several_studies_at_once() -> None:
    user = make_user()
    take(make_participation(live(), user))
    take(make_participation(live(), user))
    assert Assignment.objects.filter(state="leased", rater__user=user).count() == 2


def test_after_an_undo_a_guest_has_one_open_task(guest: User) -> None:
    participation = make_participation(live(undo_seconds=60), guest)
    first = take(participation)
    turn = turn_take(user_id=guest.pk, assignment_pk=first.pk, stage=0, raw=ANSWER)
    assert turn.assignment is not None
    judgment_undo(user_id=guest.pk, assignment_pk=first.pk)
    assert [one.pk for one in Assignment.objects.filter(state="leased")] == [first.pk]
    again = turn_take(user_id=guest.pk, assignment_pk=first.pk, stage=0, raw=ANSWER)
    assert again.assignment is not None
    assert again.assignment.pk == turn.assignment.pk, "they get the task back that they had"


def test_new_participants_per_hour_are_limited() -> None:
    study = live(joins_per_hour=2)
    for _ in range(2):
        participation_join(study=study, user=make_user())
    with pytest.raises(Refused, match="new participants for this hour") as refused:
        participation_join(study=study, user=make_user())
    assert refused.value.kind == "too_many"
    assert Client().post(f"/join/{study.join_token}/").status_code == 429
    Participation.objects.update(joined_at=timezone.now() - timedelta(minutes=61))
    participation_join(study=study, user=make_user())
    study_update(study=study, joins_per_hour=None)
    study.refresh_from_db()
    for _ in range(3):
        participation_join(study=study, user=make_user())


def test_people_who_have_joined_can_return_at_any_time() -> None:
    study, user = live(joins_per_hour=1), make_user()
    mine = participation_join(study=study, user=user)
    assert participation_join(study=study, user=user).pk == mine.pk


def test_guests_from_one_address_are_limited_in_each_study() -> None:
    study, other = live(joins_per_address=2), live()
    for _ in range(2):
        assert Client().post(f"/join/{study.join_token}/").status_code == 302
    people = User.objects.count()
    assert Client().post(f"/join/{study.join_token}/").status_code == 429
    assert User.objects.count() == people, "no account is left behind"
    assert Client().post(f"/join/{other.join_token}/").status_code == 302
    assert Client(REMOTE_ADDR="10.9.8.7").post(f"/join/{study.join_token}/").status_code == 302


def test_one_account_joins_a_limited_number_of_studies_a_day(settings: Any) -> None:
    settings.JOINS_PER_ACCOUNT = 2
    user = make_user()
    for _ in range(2):
        participation_join(study=live(), user=user)
    with pytest.raises(Refused) as refused:
        participation_join(study=live(), user=user)
    assert refused.value.kind == "too_many_studies"
    Participation.objects.update(joined_at=timezone.now() - timedelta(hours=25))
    participation_join(study=live(), user=user)


def test_skipped_tasks_per_hour_are_limited() -> None:
    participation = make_participation(live(unfinished_per_hour=2))
    user_id = participation.rater.user_id or 0
    for _ in range(2):
        assignment_return(user_id=user_id, assignment_pk=take(participation).pk, reason="too hard")
    with pytest.raises(Refused, match="not finished 2 tasks") as refused:
        assignment_next(participation=participation)
    assert refused.value.kind == "wait"
    assert not Assignment.objects.filter(state="leased").exists()
    Assignment.objects.update(closed_at=timezone.now() - timedelta(minutes=61))
    take(participation)


def test_a_study_limits_how_often_a_task_gets_more_time() -> None:
    participation = make_participation(live(extra_time=0))
    assignment = take(participation)
    client = Client()
    client.force_login(participation.rater.user)
    assert client.post(f"/task/{assignment.pk}/more-time/").status_code == 409


def test_rehearsal_raters_are_not_limited(settings: Any) -> None:
    settings.JOINS_PER_ACCOUNT = 1
    study = live(joins_per_hour=1)
    for _ in range(2):
        user = annotator_create()
        rater = rater_for(user=user)
        rater.rehearsal = True
        rater.save()
        participation_join(study=study, user=user)
    participation_join(study=study, user=make_user())


@pytest.mark.parametrize("name", ["joins_per_hour", "joins_per_address", "unfinished_per_hour"])
def test_a_limit_of_zero_people_is_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        study_update(study=live(), **{name: 0})
