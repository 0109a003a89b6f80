"""The page of a study's analysis plan, its files, its API and its command: the same plan in each."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse
from lxml import html

from evaluation.models import AnalysisPlan
from evaluation.planning.plan_document import Hypothesis, hypothesis_read
from evaluation.planning.plan_metrics import METRICS
from tests.evaluation.reports.studies import client_of
from tests.factories import make_item, make_study

pytestmark = pytest.mark.django_db
FORM = {
    "hypotheses": "H1: precision of robot-a > robot-b by 0.05\nH2: alpha of all > 0.6", "rule": "majority", "test": "t",
    "exclusion_rules": "Too fast: under 5 seconds", "correction": "holm", "alpha": "0.05", "stopping": "none",
}  # fmt: skip


def test_a_plan_is_written_read_sealed_and_downloaded(tmp_path: Path) -> None:
    study = make_study()
    for system in ("robot-a", "robot-b"):
        make_item(study, system=system)
    client = client_of(study)
    page, api = reverse("evaluation:plan", args=[study.pk]), f"/api/v1/studies/{study.slug}/plan/"
    opened = client.get(page)
    assert opened.status_code == client.head(page).status_code == 200
    assert f'<a href="{page}" aria-current="page">Analysis plan</a>' in opened.content.decode()
    assert client.get(api).status_code == 404
    wrong = client.post(page, FORM | {"hypotheses": "H1: precison of robot-a > robot-c", "looks": "1"})
    assert wrong.status_code == 422
    shown = wrong.content.decode()
    assert "hypotheses[0].metric: got &#x27;precison&#x27;; expected one of: precision" in shown
    assert "looks: got [1.0]; expected no looks" in shown
    assert not AnalysisPlan.objects.exists()

    assert client.post(page, FORM).status_code == 302
    assert (
        "The simulation precision of robot-a is greater than that of robot-b"
        in client.get(page).content.decode()
    )
    document = json.loads(client.get(f"{page}plan.json").content)
    assert document["plan"]["exclusion_rules"] == {"Too fast": "under 5 seconds"}
    put = client.put(api, {"hypotheses": []}, content_type="application/json")
    assert put.status_code == 400
    assert put.json()["errors"]["hypotheses"] == ["got []; expected a list of 1 to 50 hypotheses"]
    document["plan"]["notes"] = "From the *file*."
    assert (
        client.put(api, document, content_type="application/json").json()["plan"]["notes"]
        == "From the *file*."
    )

    file = tmp_path / "plan.json"
    file.write_text("{", encoding="utf-8")
    with pytest.raises(CommandError, match=r"file: line 1: .*expected a JSON file of a plan"):
        call_command("analysis_plan", study.slug, read=file)
    document["plan"]["notes"] = ""
    file.write_text(json.dumps(document), encoding="utf-8")
    out = io.StringIO()
    call_command("analysis_plan", study.slug, read=file, stdout=out)
    assert "## Notes" not in out.getvalue()
    assert "Not sealed yet." in out.getvalue()

    assert client.post(page, {"seal": "1"}).status_code == 302
    sealed = AnalysisPlan.objects.get()
    assert sealed.digest
    text = client.get(f"{page}plan.md").content.decode()
    assert sealed.digest in text
    assert client.get(api).json()["sha256"] == sealed.digest
    assert client.post(f"{api}seal/").status_code == 409
    assert "sealed" in client.post(page, FORM, follow=True).content.decode()
    assert AnalysisPlan.objects.get().document["notes"] == ""


def test_power_is_computed_and_drawn_on_the_page() -> None:
    study = make_study(pay_per_item="0.5", minutes_per_item=2)
    for number in range(20):
        make_item(study, instance=f"x{number // 2}", system="robot-ab"[:6] + "ab"[number % 2])
    client, page = client_of(study), reverse("evaluation:plan", args=[study.pk])
    spread = "\nH3: generality of robot-a > robot-b by 0.1 sd 0.2"
    assert client.post(page, FORM | {"hypotheses": FORM["hypotheses"] + spread}).status_code == 302
    out = io.StringIO()
    call_command("analysis_plan", study.slug, power=True, runs=5, stdout=out)
    assert "H2: the hypothesis names no smallest effect of interest" in out.getvalue()
    power = AnalysisPlan.objects.get().power
    assert power is not None
    planned = next(
        row for row in power["rows"] if (row["instances"], row["raters"]) == (10, study.redundancy)
    )
    assert planned["judgments"] == 20 * study.redundancy
    assert planned["cost"] == planned["judgments"] * 0.5
    shown = client.get(page).content.decode()
    assert "Power of H1 against instances" in shown
    assert f"<td>{planned['judgments']}</td>" in shown
    told = "H3: drawn from a normal distribution with the assumed standard deviation 0.2, one value for each instance"
    assert told in shown
    assert told in out.getvalue()
    wrong = client.post(page, {"power": "1", "precision": "7", "accuracy": "0.9", "clustering": "0.1"})
    assert wrong.status_code == 422
    assert "precision: got 7; expected a number between 0 and 1" in wrong.content.decode()


H1 = '{"name": "H1", "metric": "alpha", "value": 0.6}'


@pytest.mark.parametrize(
    "body",
    [
        '{"hypotheses": [{"name": "H\\ud800", "metric": "alpha", "value": 0.6}]}',
        '{"hypotheses": [{"name": "H1", "metric": "alpha", "value": 0.6, "\\ud800": 1}]}',
        f'{{"hypotheses": [{H1}], "exclusion_rules": {{"a\\u0000": "x"}}}}',
        f'{{"hypotheses": [{H1}], "options": {{"only": "rater:x=\\u0000"}}}}',
        f'{{"hypotheses": [{H1}], "options": {{"seed": NaN}}}}',
        f'{{"hypotheses": [{H1}], "exclusion_rules": {json.dumps(dict.fromkeys(map(str, range(51)), "x"))}}}',
        f'{{"hypotheses": [{H1.replace("0.6", "1" + "0" * 400)}]}}',
        f'{{"hypotheses": [{H1.replace("0.6", "1" + "0" * 5000)}]}}',
        "[" * 100_000,
        "\x00",
    ],
    ids=[
        "half",
        "half in a name",
        "NUL",
        "NUL in a choice",
        "NaN",
        "many",
        "large",
        "larger",
        "deep",
        "no JSON",
    ],
)
def test_what_cannot_be_stored_is_refused_in_words(body: str) -> None:
    study = make_study(items=2)
    client = client_of(study)
    page = reverse("evaluation:plan", args=[study.pk])
    file = SimpleUploadedFile("plan.json", body.encode())
    shown = client.post(page, {"plan": file}, follow=True)
    assert shown.status_code == 200
    assert "expected" in shown.content.decode()
    reply = client.put(f"/api/v1/studies/{study.slug}/plan/", body, content_type="application/json")
    assert reply.status_code == 400
    assert not AnalysisPlan.objects.exists()


def test_the_page_says_how_a_hypothesis_about_each_metric_is_written() -> None:
    """Each row of the guide names a metric, and an example of each form is one that the plan's own reader takes."""
    study = make_study()
    page = html.fromstring(client_of(study).get(reverse("evaluation:plan", args=[study.pk])).content)
    guide = page.xpath("//details[summary[text()='How to write a hypothesis']]")[0]
    assert [one.text for one in guide.xpath(".//tbody//th/code")] == [
        one.written(name) for name, one in METRICS.items()
    ]
    examples = guide.xpath(".//pre")[0].text.strip().splitlines()
    assert [str(Hypothesis(**hypothesis_read(line))) for line in examples] == examples
