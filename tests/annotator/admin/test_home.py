"""The home page: a researcher's own studies, what needs them, and what is running."""

from __future__ import annotations

from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotator.models import Judgment, Rehearsal, Study, User
from annotator.services.assignment import assignment_next
from annotator.services.message import message_send
from annotator.services.rehearsal.run import rehearsal_request
from annotator.services.submit_and_next import turn_take
from annotator.services.workspace import workspace_create
from tests.factories import make_participation, make_study, make_user

pytestmark = pytest.mark.django_db
HOME = "/admin/annotator/study/"


def text(client: Client, **query: Any) -> str:
    return unescape(" ".join(client.get(HOME, query).content.decode().split()))


def work(study: Study, *, seconds: float = 60) -> None:
    person = make_participation(study)
    task = assignment_next(participation=person)
    turn_take(user_id=person.rater.user_id, assignment_pk=task.pk, stage=0, raw={"helpful": "no"})
    Judgment.objects.filter(assignment=task).update(seconds=seconds)


def test_a_newcomer_is_told_what_to_do(researcher_client: Client) -> None:
    assert "You have no studies yet." in text(researcher_client)


def test_each_study_lists_what_needs_the_researchers_attention(
    researcher_client: Client, researcher: User
) -> None:
    make_study(by=researcher, slug="draft", title="A draft")
    study = make_study(
        by=researcher, items=3, launched=True, pay_per_item="0.10", minutes_per_item=0.1, pay_floor_per_hour="9", instructions_text="Guess.",
        title="A study that runs",
    )  # fmt: skip
    work(study, seconds=120)
    message_send(participation=make_participation(study), kind="question", text="Why?")
    Judgment.objects.update(created_at=timezone.now() - timedelta(days=2))
    shown = text(researcher_client)
    assert "1 study needs your attention: “A study that runs”." in shown
    for need in (
        "1 message to answer", "1 judgment to accept", "Nothing submitted for a day",
        "Pays 2.57 USD an hour, below your minimum",
    ):  # fmt: skip
        assert need in shown
    page = researcher_client.get(HOME).content.decode()
    payments = reverse("admin:study_payments", args=[study.pk])
    assert f'<a href="{payments}">1 judgment to accept</a>' in page
    rows = {row.study.slug: row.next.says for row in researcher_client.get(HOME).context["rows"]}
    assert rows == {"draft": "Import material", study.slug: "1 message to answer"}


def test_other_peoples_archived_and_deleted_studies_are_not_listed(
    researcher_client: Client, researcher: User
) -> None:
    make_study(by=make_user(staff=True), title="Somebody else's")
    make_study(by=researcher, slug="old", title="Archived one")
    make_study(by=researcher, slug="gone", title="Deleted one")
    Study.objects.filter(slug="old").update(archived_at=timezone.now())
    Study.objects.filter(slug="gone").update(deleted_at=timezone.now())
    shown = text(researcher_client)
    for title in ("Somebody else's", "Archived one", "Deleted one"):
        assert title not in shown
    assert "Archived one" in text(researcher_client, archived="1")


def test_studies_are_found_by_title_and_state(researcher_client: Client, researcher: User) -> None:
    make_study(by=researcher, title="Owls")
    make_study(by=researcher, title="Hawks", items=1, launched=True)
    assert "Hawks" not in text(researcher_client, q="owl")
    assert "Owls" not in text(researcher_client, state="live")
    assert "No study matches." in text(researcher_client, q="crows")


def test_a_member_of_several_workspaces_chooses_one(researcher_client: Client, researcher: User) -> None:
    make_study(by=researcher, title="Alone")
    assert 'name="workspace"' not in text(researcher_client), "there is nothing to choose"
    lab = workspace_create(by=researcher, name="Owl lab")
    make_study(by=researcher, title="Together", workspace=lab)
    assert "Owl lab</option>" in text(researcher_client)
    chosen = text(researcher_client, workspace=str(lab.pk))
    assert "Together" in chosen
    assert "Alone" not in chosen
    strangers = workspace_create(by=make_user("otto", staff=True), name="Their lab")
    shown = text(researcher_client, workspace=str(strangers.pk))
    assert "Their lab" not in shown
    assert "Alone" in shown, "a workspace of others is no choice"


def test_running_work_is_listed(researcher_client: Client, researcher: User) -> None:
    study = make_study(by=researcher, items=1, title="Owls")
    rehearsal_request(study=study, by=researcher, raters=2, accuracy=0.9, seed=1)
    assert "Rehearsal of Owls" in text(researcher_client)
    Rehearsal.objects.update(state="failed")
    assert "The rehearsal failed" in text(researcher_client)


def test_the_number_of_queries_is_independent_of_the_number_of_studies(
    researcher_client: Client, researcher: User
) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            assert researcher_client.get(HOME).status_code == 200
        return len(seen)

    make_study(by=researcher, items=1, launched=True)
    queries()
    few = queries()
    for _ in range(4):
        work(make_study(by=researcher, items=2, launched=True))
    assert queries() == few <= 20
