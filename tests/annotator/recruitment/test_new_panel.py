"""The file in docs/add-a-panel.md is a panel that works everywhere; without it, its studies say what is missing."""

from __future__ import annotations

import hashlib
import hmac
import inspect
import json
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from annotator.api.serializers import StudySerializer
from annotator.models import Assignment, Participation, Study, User
from annotator.recruitment.panel import Panel
from annotator.recruitment.registry import PANELS
from annotator.services.assignment import assignment_next
from annotator.services.panel_events import panel_secret_set
from annotator.services.study import study_launch, study_update
from evaluation.releases.screening import TextScreen
from tests.annotator.admin.study_forms import ROOT
from tests.contracts import test_panels
from tests.factories import make_study
from tests.new_panel import campus  # noqa: F401

pytestmark = pytest.mark.django_db
SECRET = "a secret of sixteen"


def signed(text: bytes) -> str:
    return hmac.new(b"shared with Campus", text, hashlib.sha256).hexdigest()


def query(worker: str, visit: str, project: str = "p1") -> str:
    ids = {"worker": worker, "visit": visit, "project": project}
    return urlencode(ids | {"sig": signed("|".join(ids.values()).encode())})


@pytest.fixture
def study(campus: Panel, researcher: User) -> Study:  # noqa: F811
    return make_study(
        items=2, launched=True, by=researcher, exam_required=False, practice_required=False, consent_text="",
        panel="campus", panel_study_ids="p1", completion_code="DONE", nothing_left_code="NONE",
    )  # fmt: skip


@pytest.fixture
def researcher_client(researcher: User) -> Client:
    client = Client()
    client.force_login(researcher)
    return client


def page(client: Client, study: Study, name: str) -> str:
    return client.get(f"{ROOT}{study.pk}/{name}").content.decode()


def join(study: Study, worker: str = "cw-000001") -> Client:
    client = Client()
    address = f"/join/{study.join_token}/?{query(worker, 'v-' + worker)}"
    assert client.get(address).status_code == 200
    assert client.post(address)["Location"] == f"/study/{study.slug}/"
    return client


def test_the_new_panel_fulfils_the_contract(campus: Panel) -> None:  # noqa: F811
    checks = [check for name, check in vars(test_panels).items() if name.startswith("test_")]
    assert len(checks) > 10
    arguments: dict[str, Any] = {
        "panel": campus,
        "value": "a b",
        "token": "x",
        "body": b"{}",
        "language": "de",
    }
    for check in checks:
        check(**{name: arguments[name] for name in inspect.signature(check).parameters})


def test_researchers_can_choose_it_and_see_its_words(study: Study, researcher_client: Client) -> None:
    recruitment = page(researcher_client, study, "recruitment/")
    for text in (
        f"/join/{study.join_token}/?worker=[worker]&amp;visit=[visit]&amp;project=[project]",
        "Enter this as the URL of the study on Campus.",
        "Only links that Campus has signed are accepted.",
        f"http://testserver/recruitment/campus/{study.join_token}/",
        "Address for Campus",
    ):
        assert text in recruitment
    assert "Code for failing the exam" not in recruitment
    settings = page(researcher_client, study, "change/")
    assert '<option value="campus" selected>Campus</option>' in settings
    assert "Studies on Campus" in settings
    assert "Campus calls it the project number." in settings


def test_the_api_takes_it(study: Study, researcher_client: Client) -> None:
    assert researcher_client.get(f"/api/v1/studies/{study.slug}/").json()["panel"] == "campus"
    assert StudySerializer(study, data={"panel": "campus"}, partial=True).is_valid()
    assert not StudySerializer(study, data={"panel": "nowhere"}, partial=True).is_valid()


def test_a_study_is_launched_only_with_the_settings_that_it_needs(campus: Panel, researcher: User) -> None:  # noqa: F811
    draft = make_study(items=2, by=researcher, exam_required=False)
    study_update(study=draft, panel="campus")  # Campus gives the id once the study is there, with our link
    with pytest.raises(ValidationError, match="Enter the id of the study on Campus"):
        study_launch(study=draft, by=researcher)
    study_update(study=draft, panel="campus", panel_study_ids="p1")
    study_launch(study=draft, by=researcher)
    with pytest.raises(ValidationError, match="Enter the id of the study on Campus"):
        study_update(study=draft, panel_study_ids="")


def test_people_come_work_return_and_are_paid(study: Study, researcher_client: Client) -> None:
    assert Client().get(f"/join/{study.join_token}/").status_code == 403
    forged = Client().get(f"/join/{study.join_token}/?{query('cw-000001', 'v')}0")
    assert forged.status_code == 403
    assert "Go back to Campus and open the study again from there." in forged.content.decode()
    client = join(study)
    person = study.participations.get()
    assert (person.recruiter, person.recruiter_id, person.recruiter_session) == (
        "campus", "cw-000001", "v-cw-000001",
    )  # fmt: skip
    assert person.recruiter_verified
    assert person.join_parameters == {"worker": "cw-000001", "visit": "v-cw-000001", "project": "p1"}
    Participation.objects.update(finished_at=person.joined_at)
    done = client.get(f"/study/{study.slug}/done/").content.decode()
    assert 'href="https://campus.example/finish/v-cw-000001?code=DONE"' in done
    assert "Return to Campus" in done
    assert "cw-000001" in page(researcher_client, study, "participants/")
    payments = page(researcher_client, study, "payments/")
    assert "Download for Campus payments" in payments
    file = researcher_client.get(f"{ROOT}{study.pk}/payments/panel.csv")
    assert file.content.decode() == "worker,amount\n"
    assert file["Content-Disposition"] == f'attachment; filename="{study.slug}-campus-bonuses.csv"'


def test_its_webhooks_free_places(study: Study) -> None:
    join(study)
    panel_secret_set(study=study, by=None, secret=SECRET)
    task = assignment_next(participation=study.participations.get())
    assert task is not None
    body = json.dumps({"id": "e1", "visit": "v-cw-000001", "worker": "cw-000001", "state": "gone"}).encode()
    url = f"/recruitment/campus/{study.join_token}/"
    for signature, status, outcome in (("x", 401, None), (None, 200, "applied"), (None, 200, "repeated")):
        headers = {"X-Campus-Signature": signature or signed(SECRET.encode() + body)}
        reply = Client().post(url, body, content_type="application/json", headers=headers)
        assert (reply.status_code, reply.json().get("outcome")) == (status, outcome)
    task.refresh_from_db()
    assert task.state == Assignment.State.EXPIRED
    assert study.participations.get().panel_status == "RETURNED"


def test_its_ids_are_removed_from_what_is_published(campus: Panel) -> None:  # noqa: F811
    screen = TextScreen()
    assert screen.text("I am cw-123456.") == "I am [Campus id removed]."


def test_a_study_whose_panel_is_gone_says_so(study: Study, researcher_client: Client) -> None:
    client = join(study)
    PANELS._places.pop("campus")
    PANELS._made.pop("campus")
    assert "isn’t installed" in page(researcher_client, study, "recruitment/").replace("'", "’")
    for name in ("payments/", "participants/", "live/"):
        assert researcher_client.get(f"{ROOT}{study.pk}/{name}").status_code == 200
    assert researcher_client.get(f"{ROOT}{study.pk}/payments/panel.csv").status_code == 404
    assert '<option value="campus" selected>campus (not installed)</option>' in page(
        researcher_client, study, "change/"
    )
    with pytest.raises(ValidationError, match="The panel campus isn't installed on this server"):
        study_update(study=study, title="New")
    study_update(study=study, title="New", panel="")
    Study.objects.update(panel="campus")
    new = Client().get(f"/join/{study.join_token}/?{query('cw-000002', 'v2')}")
    assert new.status_code == 503
    assert "This server can&#x27;t check links from campus." in new.content.decode()
    assert client.get(f"/study/{study.slug}/", follow=True).status_code == 200
    Participation.objects.update(finished_at=study.participations.get().joined_at)
    assert client.get(f"/study/{study.slug}/done/").status_code == 200
    assert Client().post(f"/recruitment/campus/{study.join_token}/").status_code == 404
