"""A researcher starts, watches, stops and clears a rehearsal on the screen."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from annotator.models import Judgment, Rehearsal, Study, User
from annotator.services.rehearsal.run import rehearsal_run
from tests.factories import make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def draft(researcher: User) -> Study:
    return make_study(items=2, redundancy=2, by=researcher)


def url(study: Study) -> str:
    return f"/admin/annotator/study/{study.pk}/rehearsal/"


def text(client: Client, study: Study) -> str:
    reply = client.get(url(study))
    assert reply.status_code == 200
    return " ".join(reply.content.decode().split())


def test_a_rehearsal_is_started_watched_and_cleared(researcher_client: Client, draft: Study) -> None:
    assert "Start a rehearsal" in text(researcher_client, draft)
    sent: dict[str, Any] = {"start": "1", "raters": 3, "accuracy": "0.9", "seed": 7}
    assert researcher_client.post(url(draft), sent).status_code == 302
    rehearsal = Rehearsal.objects.get()
    assert (rehearsal.raters, rehearsal.accuracy, rehearsal.seed) == (3, 0.9, 7)
    shown = text(researcher_client, draft)
    assert (
        "<strong>0 of 4</strong> rehearsal places are filled; the rehearsal is waiting for a worker" in shown
    )
    assert "every 2s" in shown
    rehearsal_run(rehearsal_pk=rehearsal.pk)
    shown = text(researcher_client, draft)
    assert "<strong>4 of 4</strong> rehearsal places are filled; the rehearsal has finished" in shown
    assert "every 2s" not in shown
    reply = researcher_client.post(url(draft), {"clear": "1"}, follow=True)
    assert "Rehearsal cleared: 4 judgments removed." in reply.content.decode()
    assert not Judgment.objects.exists()


def test_a_running_rehearsal_is_stopped(researcher_client: Client, draft: Study) -> None:
    sent: dict[str, Any] = {"start": "1", "raters": 3, "accuracy": "0.9", "seed": 7}
    researcher_client.post(url(draft), sent)
    again = researcher_client.post(url(draft), sent)
    assert again.status_code == 400
    assert "already running" in again.content.decode()
    refused = researcher_client.post(url(draft), {"clear": "1"}, follow=True)
    assert "Stop it first" in refused.content.decode()
    researcher_client.post(url(draft), {"stop": "1"})
    assert Rehearsal.objects.get().state == "stopped"


def test_a_value_out_of_range_is_reported_at_its_field(researcher_client: Client, draft: Study) -> None:
    reply = researcher_client.post(url(draft), {"start": "1", "raters": 3, "accuracy": "1.2", "seed": 7})
    assert reply.status_code == 400
    assert 'id="id_accuracy_error"' in reply.content.decode()
    assert not Rehearsal.objects.exists()


def test_a_study_without_items_says_what_is_missing(researcher_client: Client, researcher: User) -> None:
    shown = text(researcher_client, make_study(by=researcher))
    assert "Import material first" in shown
    assert 'name="start"' not in shown
