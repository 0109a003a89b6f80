"""CloudResearch Connect: its own parameters in, its redirect out for people who have completed, and for nobody else."""

from __future__ import annotations

import pytest
from django.test import Client

from annotator.models import User
from annotator.recruitment.panel import COMPLETED, DECLINED, PARTLY
from annotator.recruitment.registry import panel_get
from annotator.web.exits import way_back
from tests.annotator.web.sent_links import joins
from tests.factories import make_study


@pytest.mark.django_db
def test_people_join_by_connects_names_and_return_by_its_redirect(researcher: User) -> None:
    study = make_study(
        items=1, launched=True, by=researcher, panel="cloudresearch", panel_links="plain", panel_study_ids="4E9",
        completion_code="FF4E356E38", partly_code="PART1", declined_code="",
    )  # fmt: skip
    link = f"/join/{study.join_token}/?participantId=A1B2&assignmentId=C3&projectId="
    assert Client().get(link + "other").status_code == 403
    person = joins(Client(), link + "4E9")
    assert person is not None
    assert (person.recruiter, person.recruiter_id, person.recruiter_session) == (
        "cloudresearch",
        "A1B2",
        "C3",
    )
    ways = {one: way_back(study, one, person)["return_url"] for one in (COMPLETED, PARTLY, DECLINED)}
    assert ways[COMPLETED] == "https://connect.cloudresearch.com/participant/project/FF4E356E38/complete"
    assert ways[PARTLY] == "https://connect.cloudresearch.com/participant/dashboard"
    assert ways[DECLINED] == ""


def test_researchers_enter_the_bare_address() -> None:
    panel = panel_get("cloudresearch")
    assert panel is not None
    assert panel.link("https://lab.example/join/x/") == "https://lab.example/join/x/"
