"""What people are told about places: on the invitation, during the study, at the end, and when there are places again."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core import mail
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone
from lxml import html

from annotator.core.errors import Refused
from annotator.models import Assignment, ExamAttempt, Item, Participation, PlaceAlert, Study, User
from annotator.selectors.participation import progress_of
from annotator.selectors.places import places_for, places_of
from annotator.services.assignment import assignment_next, leases_expire
from annotator.services.exam import exam_start
from annotator.services.participation import participation_join, rater_for
from annotator.services.place_alert import place_alert_make, place_alerts_sweep
from annotator.tasks import place_alerts_sweep_task
from tests.factories import make_item, make_participation, make_study, make_user

pytestmark = pytest.mark.django_db


def text_of(client: Client, path: str) -> str:
    return " ".join(
        html.fromstring(client.get(path, follow=True).content).find("body").text_content().split()
    )


def invitation(study: Study) -> str:
    return f"/join/{study.join_token}/"


def take_every_task(study: Study) -> list[Assignment]:
    """Others take all the places; returns what they hold."""
    held = []
    while not places_of(study).full:
        assignment = assignment_next(participation=make_participation(study))
        assert assignment
        held.append(assignment)
    return held


def give_back(held: Assignment) -> None:
    Assignment.objects.filter(pk=held.pk).update(lease_until=timezone.now() - timedelta(minutes=1))
    leases_expire()


def full_study(**fields: object) -> tuple[Study, list[Assignment]]:
    study = make_study(items=2, redundancy=1, launched=True, **fields)
    return study, take_every_task(study)


def test_the_invitation_shows_the_places_left_and_the_preparation():
    study = make_study(
        items=3, redundancy=2, launched=True, consent_text="word " * 400, practice_required=True,
        exam_required=True, exam_questions=4, pass_mark=3, minutes_per_item=0.5, exam_pay="1.50",
    )  # fmt: skip
    text = text_of(Client(), invitation(study))
    assert "6 tasks, shared between all participants" in text
    assert "2 for the exam" in text
    assert "The exam pays 1.50 USD once, whatever your result. The rest of this time is not paid." in text


def test_the_invitation_of_a_full_study_lets_nobody_join():
    study, held = full_study()
    text = text_of(Client(), invitation(study))
    assert "All places are taken at the moment" in text
    assert "None at the moment" in text
    client = Client()
    assert "All places are taken" in client.post(invitation(study), follow=True).content.decode()
    assert Participation.objects.filter(study=study).count() == len(held)
    assert not client.session.get("_auth_user_id"), "an account was left behind"


def test_participants_of_a_full_study_can_still_use_the_invitation():
    study, held = full_study()
    client = Client()
    client.force_login(held[0].rater.user)
    assert "Continue as" in text_of(client, invitation(study))


@pytest.mark.parametrize("path", ["", "exam/"])
def test_no_exam_is_offered_without_free_tasks(path: str):
    study = make_study(
        items=1, redundancy=1, launched=True, exam_required=True, exam_questions=2, pass_mark=1
    )
    late = make_participation(study)
    quick = make_participation(study)
    Study.objects.filter(pk=study.pk).update(exam_required=False)
    # Taken as one that has passed would take it.
    from annotator.services.exam import qualification_grant

    qualification_grant(rater=quick.rater, hit_type="simulation", workspace=study.workspace, by=None)
    Study.objects.filter(pk=study.pk).update(exam_required=True)
    assert assignment_next(participation=Participation.objects.get(pk=quick.pk))
    client = Client()
    client.force_login(late.rater.user)
    text = text_of(client, f"/study/{study.slug}/{path}")
    assert "Others are doing the last tasks that you could do" in text
    assert "Get an email when places open again" in text
    with pytest.raises(Refused) as refused:
        exam_start(participation=late)
    assert refused.value.kind == "no_places"
    assert not ExamAttempt.objects.exists()


def test_a_started_exam_can_be_finished():
    study = make_study(
        items=1, redundancy=1, launched=True, exam_required=True, exam_questions=2, pass_mark=1
    )
    person = make_participation(study)
    attempt = exam_start(participation=person)
    study.places.all().delete()
    assert exam_start(participation=person) == attempt
    client = Client()
    client.force_login(person.rater.user)
    assert "Submit exam" in client.get(f"/study/{study.slug}/exam/").content.decode()


def test_progress_counts_the_tasks_that_the_person_can_still_get():
    study = make_study(items=6, redundancy=2, launched=True)
    first, second, third = (make_participation(study) for _ in range(3))
    assert progress_of(first).total == 6
    for person in (first, second):
        for number in range(4):
            held = assignment_next(participation=Participation.objects.get(pk=person.pk))
            assert held
            Assignment.objects.filter(pk=held.pk).update(state="submitted", closed_at=timezone.now())
            assert progress_of(person).done == number + 1
    free = study.places.filter(assignment=None).values("item").distinct().count()
    assert free < 6
    assert (progress_of(third).done, progress_of(third).total) == (0, free)
    assert progress_of(first).total == 4 + places_for(first).free
    assert progress_of(first).total <= 6


def test_progress_counts_an_instance_once_with_one_condition_per_instance():
    study = make_study(one_condition_per_instance=True)
    for number in range(6):
        make_item(study, key=f"i{number}", instance=f"instance {number % 2}", system=f"robot-{number}")
    from annotator.services.study import study_launch

    study_launch(study=study)
    study.refresh_from_db()
    person = make_participation(study)
    assert progress_of(person).total == 2
    assert assignment_next(participation=person)
    assert progress_of(person).total == 2
    assert places_for(person).free == 1


@pytest.mark.parametrize(("one_condition", "total"), [(True, 3), (False, 90)])
def test_progress_far_from_the_end_is_what_one_person_can_do(one_condition: bool, total: int) -> None:
    """270 free places of three instances: more than are counted with each answer, where every item can be done."""
    study = make_study(one_condition_per_instance=one_condition)
    made = make_item(study, key="i", instance="instance 0", system="robot")
    instances = [
        made.instance,
        *(make_item(study, key=f"j{n}", instance=f"instance {n}").instance for n in (1, 2)),
    ]
    Item.objects.bulk_create(
        Item(study=study, key=f"more-{n}", payload=made.payload, instance=instances[n % 3]) for n in range(87)
    )
    from annotator.services.study import study_launch

    study_launch(study=study)
    person = make_participation(Study.objects.get(pk=study.pk))
    assert study.places.filter(assignment=None).count() == 270
    assert progress_of(person).total == total
    assert assignment_next(participation=person)
    assert progress_of(person).total == total


def test_the_final_page_shows_code_earnings_and_whether_more_may_come(client: Client):
    study = make_study(items=2, redundancy=2, launched=True, pay_per_item="0.5", completion_code="C0DE-77")
    other = make_participation(study)
    assert assignment_next(participation=other)
    me = make_participation(study)
    client.force_login(me.rater.user)
    for _ in range(2):
        held = assignment_next(participation=Participation.objects.get(pk=me.pk))
        assert held
        client.post(f"/task/{held.pk}/", {"stage": "0", "helpful": "no"})
    text = text_of(client, f"/study/{study.slug}/task/")
    assert "You're done. Thank you." in text
    assert "1.00 USD" in text
    assert "C0DE-77" in text
    assert "All the tasks that you could do are done" not in text
    assert "Get an email when places open again" in text


def test_people_without_judgments_get_no_completion_code(client: Client):
    study = make_study(items=1, redundancy=1, launched=True, completion_code="C0DE-77")
    late = make_participation(study)
    take_every_task(study)
    client.force_login(late.rater.user)
    text = text_of(client, f"/study/{study.slug}/task/")
    assert "No tasks left for you right now" in text
    assert "C0DE-77" not in text
    assert "0 tasks" in text


# -- being told --------------------------------------------------------------------------------------


def test_a_visitor_is_told_once_by_email_and_on_their_page():
    study, held = full_study()
    client = Client()
    client.post(f"{invitation(study)}tell-me/", {"email": "kim@example.org"})
    assert "We'll tell you" in text_of(client, invitation(study))
    assert place_alerts_sweep() == 0, "there is no place yet"
    give_back(held[0])
    assert place_alerts_sweep_task() == 1
    assert place_alerts_sweep_task() == 0, "told once"
    [letter] = mail.outbox
    assert letter.to == ["kim@example.org"]
    assert invitation(study) in letter.body
    assert PlaceAlert.objects.get().email == "", "the address is not kept"
    assert f"Places are open again in {study.title}" in text_of(client, "/me/")


def test_without_an_email_address_the_own_page_tells_them():
    study, held = full_study()
    user = make_user()
    place_alert_make(study=study, rater=rater_for(user=user), url="http://testserver/")
    client = Client()
    client.force_login(user)
    assert "We'll tell you here when" in text_of(client, "/me/")
    give_back(held[0])
    assert place_alerts_sweep() == 1
    assert mail.outbox == []
    assert "Places are open again in" in text_of(client, "/me/")
    participation_join(study=study, user=user)


def test_an_invalid_email_address_is_refused_with_an_explanation():
    study, _ = full_study()
    client = Client()
    reply = client.post(f"{invitation(study)}tell-me/", {"email": "kim"}, follow=True)
    assert "Enter an address like name@example.org" in reply.content.decode()
    assert not PlaceAlert.objects.exists()


def test_people_are_notified_in_order_and_only_as_many_as_there_are_places():
    study, held = full_study()
    raters = [rater_for(user=make_user()) for _ in range(3)]
    for rater in raters:
        place_alert_make(study=study, rater=rater, url="http://testserver/", email=f"r{rater.pk}@example.org")
    give_back(held[0])
    assert place_alerts_sweep() == 1
    assert place_alerts_sweep() == 0, "the place is meant for whoever was told"
    assert [letter.to for letter in mail.outbox] == [[f"r{raters[0].pk}@example.org"]]
    PlaceAlert.objects.filter(told_at__isnull=False).update(told_at=timezone.now() - timedelta(hours=2))
    assert place_alerts_sweep() == 1, "they didn't come, so the next one is told"


def test_an_email_that_cannot_be_sent_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch):
    study, held = full_study()
    for _ in range(2):
        rater = rater_for(user=make_user())
        place_alert_make(study=study, rater=rater, url="http://testserver/", email="x@example.org")

    def refuse(*_: object, **__: object) -> None:
        raise OSError("no mail server")

    monkeypatch.setattr("annotator.services.place_alert.send_mail", refuse)
    for one in held:
        give_back(one)
    assert place_alerts_sweep() == 2
    assert PlaceAlert.objects.filter(told_at=None).count() == 0


def test_paused_and_closed_studies_notify_nobody_and_old_requests_are_deleted():
    study, held = full_study()
    place_alert_make(study=study, rater=rater_for(user=make_user()), url="http://testserver/")
    give_back(held[0])
    Study.objects.filter(pk=study.pk).update(state="paused")
    assert place_alerts_sweep() == 0
    PlaceAlert.objects.update(asked_at=timezone.now() - timedelta(days=61))
    place_alerts_sweep()
    assert not PlaceAlert.objects.exists()


def test_the_database_keeps_one_request_each_and_deletes_used_addresses():
    study, _ = full_study()
    rater = rater_for(user=make_user())
    place_alert_make(study=study, rater=rater, url="http://testserver/", email="a@example.org")
    place_alert_make(study=study, rater=rater, url="http://testserver/", email="b@example.org")
    assert PlaceAlert.objects.get().email == "b@example.org"
    with pytest.raises(IntegrityError), transaction.atomic():
        PlaceAlert.objects.update(told_at=timezone.now())


def test_no_account_is_created_for_a_request_about_a_closed_study():
    study, _ = full_study()
    Study.objects.filter(pk=study.pk).update(join_open=False)
    before = User.objects.count()
    Client().post(f"{invitation(study)}tell-me/", {"email": "kim@example.org"})
    assert (User.objects.count(), PlaceAlert.objects.count()) == (before, 0)
