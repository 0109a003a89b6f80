"""Erasure of personal data: by the study's policy, from every table, for good, and after the retention period."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotator.models import (
    DataRequest,
    Judgment,
    LedgerEntry,
    Message,
    PanelEvent,
    PanelLink,
    Participation,
    Rater,
    Review,
    Study,
    Tombstone,
    User,
)
from annotator.services.assignment import assignment_next
from annotator.services.erasure import (
    data_request_carry_out,
    data_request_decline,
    erasures_replay,
    retention_sweep,
)
from annotator.services.erasure_texts import names_remove
from annotator.services.exam import qualification_grant
from annotator.services.exclusion import exclusion_make
from annotator.services.message import message_send
from annotator.services.review import judgments_accept
from annotator.services.stage_submit import stage_submit
from annotator.services.study import study_close
from tests.factories import make_judgment, make_participation, make_rater, make_study, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("stored_files")]
NAME, PANEL, MAIL, TEXT = "Zephyrine", "5f3e9panel", "zephyrine@example.org", "My cat is called Moritz"


def worker(study: Study, user: User) -> Participation:
    """Somebody who has left a trace in every table that can hold one, and has a task open."""
    participation = make_participation(study, user)
    participation.recruiter, participation.recruiter_id = "prolific", f"{PANEL}-{user.pk}"
    participation.join_parameters = {"PROLIFIC_PID": PANEL}
    participation.recruiter_session = f"{PANEL}-session-{user.pk}"
    participation.save()
    now = timezone.now()
    about = {"study": study, "participation": participation}
    PanelLink.objects.create(**about, digest=f"{PANEL}-link-{participation.pk}", expires_at=now)
    PanelEvent.objects.create(
        **about, event_id=f"{PANEL}-{user.pk}", signature_digest=str(user.pk), kind="submission.status.change",
        subject="digest", status="ACTIVE", at=now, outcome="applied",
    )  # fmt: skip
    for number in range(3):
        assignment = assignment_next(participation=participation)
        assert assignment is not None
        if number == 2:
            assignment.draft = {"helpful": TEXT}
            assignment.save()
            break
        stage_submit(
            user_id=user.pk, assignment_pk=assignment.pk, stage=0, raw={"helpful": "no"}, signals={"left": 3}
        )
    message_send(participation=participation, kind="question", text=TEXT, item=assignment.item)
    for kind in ("bonus", "payment"):
        LedgerEntry.objects.create(
            study=study, rater=participation.rater, kind=kind, amount="1.5", reason="batch 7"
        )
    first = study.judgments.filter(rater=participation.rater).order_by("id")[0]
    judgments_accept(judgments=study.judgments.filter(pk=first.pk), by=None)
    exclusion_make(study=study, by=None, reason="too fast", rater=participation.rater)
    qualification_grant(rater=participation.rater, hit_type="simulation", workspace=study.workspace, by=None)
    message_send(participation=participation, kind="deletion", text="Please delete my data.")
    return participation


def everything() -> str:
    """Every row of the two applications as text."""
    found = []
    for model in apps.get_models():
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT t::text FROM {connection.ops.quote_name(model._meta.db_table)} t")
            found += [row[0] for row in cursor.fetchall()]
    return "\n".join(found)


@pytest.fixture
def study() -> Study:
    return make_study(items=4, launched=True, redundancy=2)


@pytest.fixture
def person(study: Study) -> User:
    user = make_user(NAME, email=MAIL)
    worker(study, user)
    return user


@pytest.mark.parametrize("policy", ["anonymise", "delete"])
def test_no_data_of_an_erased_person_remain(
    study: Study, person: User, policy: str, mailoutbox: Any, django_capture_on_commit_callbacks: Any
) -> None:
    Study.objects.update(erasure_policy=policy)
    before = everything()
    for trace in (NAME, PANEL, MAIL, TEXT):
        assert trace in before
    with django_capture_on_commit_callbacks(execute=True):
        data_request_carry_out(request=DataRequest.objects.get(), by=None)
    after = everything()
    for trace in (NAME, PANEL, MAIL, TEXT):
        assert trace not in after
    assert not User.objects.filter(pk=person.pk).exists()
    assert Judgment.objects.count() == (2 if policy == "anonymise" else 0)
    assert LedgerEntry.objects.get(kind="payment").amount == 1.5, "what was paid stays in the accounts"
    assert [mail.to for mail in mailoutbox] == [[MAIL]]
    assert DataRequest.objects.get().state == "done"


def test_anonymised_answers_still_count_and_deleted_ones_free_their_places(
    study: Study, person: User
) -> None:
    other = worker(study, make_user())
    data_request_carry_out(request=DataRequest.objects.get(rater__user=person), by=None)
    assert (
        Judgment.objects.filter(rater__source="erased", standing="counted", place__isnull=False).count() == 2
    )
    assert all(set(one.signals) == {"stages"} for one in Judgment.objects.filter(rater__source="erased"))
    assert Review.objects.count() == 2
    Study.objects.update(erasure_policy="delete")
    data_request_carry_out(request=DataRequest.objects.get(rater=other.rater), by=None)
    assert study.places.filter(assignment__isnull=True).count() == 8 - 2
    assert study.places.filter(freed=True).count() >= 2
    assert make_participation(study)


def test_erasure_from_one_study_keeps_the_account_and_other_studies(study: Study, person: User) -> None:
    elsewhere = make_study(items=3, launched=True)
    worker(elsewhere, person)
    data_request_carry_out(request=DataRequest.objects.get(study=study), by=None)
    assert Participation.objects.get(rater__user=person).study == elsewhere
    assert Judgment.objects.filter(rater__user=person).count() == 2
    client = Client()
    client.force_login(person)
    page = client.get("/me/").content.decode()
    assert f"Your data was removed from “{study.title}”" in page
    assert "The researchers have until" in page, "the other study's request is open"


def test_of_equal_answers_one_is_read_for_names(study: Study) -> None:
    said = {"helpful": "no", "comment": f"as {NAME} said"}
    for item in study.items.all():
        for name in ("one", "two"):
            make_judgment(item, make_rater(name), "no")
    Judgment.objects.filter(rater__name="one").update(response=said)
    with CaptureQueriesContext(connection) as done:
        names_remove(study=study, identifiers=[NAME])
    read = [
        one["sql"] for one in done.captured_queries if 'response" FROM "annotator_judgment"' in one["sql"]
    ]
    assert [one for one in read if "DISTINCT" in one]
    assert (
        Judgment.objects.filter(response={"helpful": "no", "comment": "as [name removed] said"}).count() == 4
    )
    assert NAME not in everything()


def test_a_request_has_a_deadline_and_can_be_declined_with_a_reason(study: Study, person: User) -> None:
    participation = study.participations.get()
    message_send(participation=participation, kind="deletion", text="Please!")
    request = DataRequest.objects.get()
    assert timedelta(days=29) < request.due_at - request.asked_at <= timedelta(days=30)
    with pytest.raises(ValidationError):
        data_request_decline(request=request, by=None, note=" ")
    data_request_decline(request=request, by=None, note="The law asks us to keep it.")
    assert not Message.objects.filter(kind="deletion", settled_at__isnull=True).exists()
    with pytest.raises(ValidationError):
        data_request_carry_out(request=request, by=None)
    client = Client()
    client.force_login(person)
    assert "The law asks us to keep it." in client.get("/me/").content.decode()


def test_erasures_are_repeated_after_a_restore(
    study: Study, person: User, django_capture_on_commit_callbacks: Any
) -> None:
    rater = study.participations.get().rater
    born = rater.created_at
    with django_capture_on_commit_callbacks(execute=True):
        data_request_carry_out(request=DataRequest.objects.get(), by=None)
    # As after restoring a backup from before: the rows are there again, and the database has no tombstone.
    Tombstone.objects.all().delete()
    user = make_user(NAME, email=MAIL)
    again = Rater.objects.create(pk=rater.pk, kind="human", source="login", name=NAME, user=user)
    Rater.objects.filter(pk=again.pk).update(created_at=born)
    worker(study, user)
    stranger = worker(study, make_user())
    assert erasures_replay() == 1
    assert NAME not in everything()
    assert Participation.objects.filter(pk=stranger.pk, rater=stranger.rater).exists()
    assert erasures_replay() == 0, "twice is once"


def test_an_id_reused_by_another_person_is_not_erased(
    study: Study, person: User, django_capture_on_commit_callbacks: Any
) -> None:
    pk = study.participations.get().rater_id
    with django_capture_on_commit_callbacks(execute=True):
        data_request_carry_out(request=DataRequest.objects.get(), by=None)
    newcomer = make_user()
    Rater.objects.create(pk=pk, kind="human", source="login", name="newcomer", user=newcomer)
    worker(study, newcomer)
    assert erasures_replay() == 0
    assert Participation.objects.filter(rater_id=pk).exists()


def test_personal_data_are_removed_at_the_end_of_the_retention_period(study: Study, person: User) -> None:
    Study.objects.update(retention_days=30)
    assert retention_sweep() == 0, "the study is still running"
    study_close(study=study)
    Study.objects.update(closed_at=timezone.now() - timedelta(days=29))
    assert retention_sweep() == 0
    Study.objects.update(closed_at=timezone.now() - timedelta(days=31))
    assert retention_sweep() == 1
    assert retention_sweep() == 0
    text = everything()
    assert NAME not in text
    assert PANEL not in text
    assert Judgment.objects.count() == 2


def test_requests_can_be_handled_on_the_command_line(study: Study, person: User, capsys: Any) -> None:
    request = DataRequest.objects.get()
    call_command("data_requests", "list")
    assert f"{request.pk}  {study.slug}" in capsys.readouterr().out
    with pytest.raises(CommandError, match="reason"):
        call_command("data_requests", "decline", str(request.pk))
    call_command("data_requests", "carry-out", str(request.pk))
    with pytest.raises(CommandError, match="already carried out"):
        call_command("data_requests", "carry-out", str(request.pk))
    assert NAME not in everything()
