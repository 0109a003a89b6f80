"""The ids that a panel puts on a join link are kept with the participation."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotator.models import Participation
from annotator.services.study import study_update
from tests.factories import make_study, make_user

pytestmark = pytest.mark.django_db
IDS = {"PROLIFIC_PID": "p-1", "STUDY_ID": "s-1", "SESSION_ID": "x" * 300, "utm": "other"}


def test_the_links_ids_survive_the_form_and_a_login() -> None:
    study = make_study(items=1, launched=True)
    link = reverse("annotator:invitation", args=[study.join_token])
    shown = Client().get(link, IDS)
    assert "PROLIFIC_PID=p-1" in shown.context["join_url"]
    assert "PROLIFIC_PID%3Dp-1" in shown.context["login_url"]
    assert Client().post(shown.context["join_url"]).status_code == 302
    kept = Participation.objects.get().join_parameters
    assert kept == {"PROLIFIC_PID": "p-1", "STUDY_ID": "s-1", "SESSION_ID": "x" * 200}


def test_only_ids_that_the_study_lists_are_stored() -> None:
    study = make_study(items=1, launched=True)
    study_update(study=study, join_parameters="workerId")
    client = Client()
    client.force_login(make_user())
    client.post(reverse("annotator:invitation", args=[study.join_token]) + "?workerId=w&PROLIFIC_PID=p")
    assert Participation.objects.get().join_parameters == {"workerId": "w"}
