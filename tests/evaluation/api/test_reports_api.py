"""Reports over the REST API."""

import pytest
from django.test import Client

from annotator.models import Membership, Study
from annotator.services.api_tokens import api_token_make
from evaluation.models import Report
from evaluation.services import report as service
from tests.evaluation.reports.studies import small_study, stored
from tests.factories import make_study, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued_reports")]


def api(study: Study, role: str = "owner") -> Client:
    user = make_user(staff=True)
    Membership.objects.update_or_create(study=study, user=user, defaults={"role": role})
    return Client(headers={"Authorization": f"Token {api_token_make(user=user)}"})


def test_a_report_is_requested_computed_and_exported(queued_reports, django_capture_on_commit_callbacks):
    study = small_study()
    client = api(study)
    with django_capture_on_commit_callbacks(execute=True):
        asked = client.post(
            f"/api/v1/studies/{study.slug}/reports/",
            {"replicates": 0, "min_overlap": 1},
            content_type="application/json",
        )
    assert asked.status_code == 202
    pk = asked.json()["id"]
    assert queued_reports == [pk]
    assert client.get(f"/api/v1/reports/{pk}/").json()["state"] == "queued"
    assert client.get(f"/api/v1/reports/{pk}/content/").status_code == 409
    service.report_compute(report_pk=pk)
    assert client.get(f"/api/v1/reports/{pk}/").json()["state"] == "done"
    content = client.get(f"/api/v1/reports/{pk}/content/").json()
    assert content["inputs_hash"] == Report.objects.get(pk=pk).inputs_hash
    assert content["sections"]
    assert b"0.739" in b"".join(client.get(f"/api/v1/reports/{pk}/export/csv/").streaming_content)
    assert [row["id"] for row in client.get(f"/api/v1/studies/{study.pk}/reports/").json()] == [pk]


def test_invalid_choices_are_named():
    study = small_study()
    answer = api(study).post(
        f"/api/v1/studies/{study.slug}/reports/",
        {"rule": "best", "colour": "red", "replicates": -1},
        content_type="application/json",
    )
    assert answer.status_code == 400
    assert set(answer.json()["errors"]) == {"rule", "colour", "replicates"}
    assert not Report.objects.exists()


def test_reports_follow_roles_and_other_studies_are_not_found():
    study = small_study()
    report = stored(study)
    stranger, viewer, editor = api(make_study()), api(study, "viewer"), api(study, "editor")
    for address in ("", "content/", "export/json/"):
        assert stranger.get(f"/api/v1/reports/{report.pk}/{address}").status_code == 404
    assert Client().get(f"/api/v1/reports/{report.pk}/").status_code in (401, 403)
    assert viewer.get(f"/api/v1/reports/{report.pk}/").status_code == 200
    assert viewer.post(f"/api/v1/studies/{study.slug}/reports/").status_code == 404
    assert viewer.delete(f"/api/v1/reports/{report.pk}/").status_code == 404
    assert editor.delete(f"/api/v1/reports/{report.pk}/").status_code == 204


def test_two_reports_are_compared():
    study = small_study()
    one, two = stored(study, restriction="common"), stored(study, restriction="all")
    client = api(study, "viewer")
    found = client.get(f"/api/v1/reports/{one.pk}/compare/{two.pk}/").json()
    assert found["same_inputs"] is False
    assert [set(choice) for choice in found["choices"]] == [{"choice", "first", "second"}]
    cell = found["tables"][0]["cells"][0]
    assert cell["first"] != cell["second"]
    assert client.get(f"/api/v1/reports/{one.pk}/compare/{one.pk}/").json()["tables"] == []
    assert api(make_study()).get(f"/api/v1/reports/{one.pk}/compare/{two.pk}/").status_code == 404
    Report.objects.filter(pk=two.pk).update(state=Report.State.QUEUED)
    assert client.get(f"/api/v1/reports/{one.pk}/compare/{two.pk}/").status_code == 409
