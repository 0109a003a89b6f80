"""Who may ask for and see a report across studies: its pages, its admin form and the command."""

import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from annotator.models import Study
from annotator.services.study_removal import study_purge
from evaluation.models import Report
from evaluation.services import report as service
from tests.evaluation.reports.studies import cells_of, client_of, small_study

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued_reports")]


def test_a_report_across_studies_is_asked_for_and_seen_only_with_all_of_them():
    one, two, hidden = small_study(), small_study(), small_study()
    client = client_of(one, two, role="reviewer")
    address = reverse("evaluation:reports", args=[one.pk])
    assert f'value="{two.pk}"' in client.get(address).content.decode()
    assert f'id="join-{hidden.pk}"' not in client.get(address).content.decode()
    assert client.post(address, {"others": [hidden.pk]}).status_code == 404
    assert not Report.objects.exists()
    client.post(address, {"others": [two.pk], "replicates": "0", "min_overlap": "1"})
    report = Report.objects.get()
    assert report.studies == [one, two]
    service.report_compute(report_pk=report.pk)
    page = client.get(reverse("evaluation:report", args=[report.pk])).content.decode()
    assert "Report across 2 studies" in page
    for study in (one, two):  # it is listed under both
        assert (
            f"Report {report.pk}"
            in client.get(reverse("evaluation:reports", args=[study.pk])).content.decode()
        )
    half = client_of(one, role="reviewer")
    assert half.get(reverse("evaluation:report", args=[report.pk])).status_code == 404
    assert half.get(reverse("evaluation:report_export", args=[report.pk, "json"])).status_code == 404
    assert f"Report {report.pk}" not in half.get(address).content.decode()
    assert (
        f"Report {report.pk}" not in half.get(reverse("admin:evaluation_report_changelist")).content.decode()
    )


def test_a_report_across_studies_goes_with_each_of_them():
    """Otherwise a report on a study that is gone would be shown to everybody who may see the other one."""
    one, two = small_study(), small_study()
    across = Report.objects.create(study=one, choices={})
    across.others.add(two)
    own = Report.objects.create(study=one, choices={})
    Study.objects.filter(pk=two.pk).update(deleted_at=timezone.now())
    assert study_purge(study_pk=two.pk)
    assert list(Report.objects.all()) == [own]


def test_studies_are_chosen_in_the_admin(queued_reports, django_capture_on_commit_callbacks):
    one, two, hidden = small_study(), small_study(), small_study()
    client = client_of(one, two, role="reviewer")
    address = reverse("admin:evaluation_report_add")
    page = client.get(address).content.decode()
    assert one.title in page
    assert hidden.title not in page
    form = {
        "rule": "majority", "exclusions": "on", "labels": "all", "restriction": "common",
        "min_overlap": "1", "replicates": "0", "seed": "1", "encoder": "tfidf",
    }  # fmt: skip
    assert client.post(address, form | {"studies": [hidden.pk]}).status_code == 200
    assert client.post(address, form | {"studies": [one.pk], "rule": "best"}).status_code == 200
    assert not Report.objects.exists()
    with django_capture_on_commit_callbacks(execute=True):
        answer = client.post(address, form | {"studies": [one.pk, two.pk]})
    report = Report.objects.get()
    assert answer["Location"] == reverse("evaluation:report", args=[report.pk])
    assert queued_reports == [report.pk]
    service.report_compute(report_pk=report.pk)
    report.refresh_from_db()
    page = client.get(reverse("admin:evaluation_report_changelist")).content.decode()
    assert report.inputs_hash[:12] in page
    assert f"{one.title}, {two.title}" in page


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def test_the_command_takes_several_studies_and_can_keep_the_report():
    one, two = small_study(), small_study()
    options = ["--bootstrap", "0", "--min-overlap", "1"]
    content = json.loads(run("report", one.slug, two.slug, *options, "--format", "json"))
    assert content["title"] == "Report across 2 studies"
    assert "data" not in {
        s["id"]
        for s in json.loads(run("metrics", one.slug, two.slug, *options, "--format", "json"))["sections"]
    }
    assert not Report.objects.exists()
    said = run("report", two.slug, one.slug, *options, "--store")
    report = Report.objects.get()
    assert said == f"report {report.pk}: /reports/{report.pk}/\n"
    assert (report.state, report.studies) == ("done", [two, one])
    again = json.loads(run("report", one.slug, two.slug, *options, "--format", "json"))
    assert content == again
    assert report.content is not None
    assert cells_of(report.content, "p1-table-4").keys() == cells_of(content, "p1-table-4").keys()
    with pytest.raises(CommandError, match="no study has the slug 'nowhere'"):
        run("report", one.slug, "nowhere")
