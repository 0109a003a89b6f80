"""The pages of reports: who may see them, what they show, and that a request doesn't block a web process."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotator.models import Membership, Study
from evaluation.api.reports import ChoicesSerializer
from evaluation.forms.reports import NewReportForm, ReportForm
from evaluation.models import Report, ReportFile
from evaluation.reports.choices import Choices
from evaluation.reports.comparison import compare
from evaluation.services import report as service
from tests.evaluation.reports.studies import cells_of, client_of, small_study, stored
from tests.factories import make_item, make_judgment, make_rater, make_study, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued_reports")]


def test_a_report_page_shows_numbers_reasons_and_plots():
    study = small_study(simulator=True)
    report = stored(study)
    page = client_of(study).get(reverse("evaluation:report", args=[report.pk])).content.decode()
    assert "P1 Table 3" in page
    assert "0.739" in page  # 17/23
    assert report.inputs_hash in page
    for source in re.findall(r'<img class="plot__\w+" src="([^"]+)"', page):
        assert client_of(study).get(source)["Content-Type"] == "image/svg+xml"
    assert "style=" not in page
    assert "<script>" not in page


def test_a_stored_report_is_read_in_few_queries_whatever_its_size():
    small = small_study()
    large = make_study()
    raters = [make_rater(f"rater-{n}") for n in range(8)]
    for number in range(24):
        item = make_item(large, instance=f"x{number % 5}", system=f"robot-{number % 4}")
        for rater in raters:
            make_judgment(item, rater, "no" if number % 3 else "yes")

    def queries(study: Study) -> int:
        report, client = stored(study), client_of(study)
        with CaptureQueriesContext(connection) as captured:
            client.get(reverse("evaluation:report", args=[report.pk]))
        return len(captured)

    assert queries(small) == queries(large) <= 16


def test_the_lists_number_of_queries_is_independent_of_the_reports():
    study = small_study()
    client = client_of(study)
    address = reverse("evaluation:reports", args=[study.pk])

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert client.get(address).status_code == 200
        return len(captured)

    stored(study)
    before = queries()
    for seed in range(2, 5):
        stored(study, seed=seed)
    assert queries() == before <= 13


def test_requesting_a_report_queues_it_once(queued_reports, django_capture_on_commit_callbacks):
    study = small_study()
    with django_capture_on_commit_callbacks(execute=True):
        response = client_of(study, role="reviewer").post(
            reverse("evaluation:reports", args=[study.pk]), {"rule": "majority", "replicates": "200"}
        )
    report = Report.objects.get()
    assert response["Location"] == reverse("evaluation:report", args=[report.pk])
    assert queued_reports == [report.pk]
    assert (report.state, report.choices["replicates"]) == ("queued", 200)
    assert report.choices["exclusions"] is False  # an unticked box is not sent


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rule", "best"),
        ("rule", "single:"),
        ("replicates", "-1"),
        ("replicates", "7"),
        ("replicates", "many"),
        ("min_overlap", "0"),
        ("seed", "1.5"),
        ("labels", "some"),
        ("restriction", "none"),
    ],
)
def test_invalid_choices_are_shown_beside_their_field(field, value, queued_reports):
    study = small_study()
    response = client_of(study).post(reverse("evaluation:reports", args=[study.pk]), {field: value})
    assert response.status_code == 422
    assert 'class="field__error"' in response.content.decode()
    assert not Report.objects.exists()
    assert queued_reports == []


def test_a_waiting_report_says_how_far_it_is_and_then_reloads():
    study = small_study()
    report = service.report_create(study=study)
    client = client_of(study)
    assert (
        'http-equiv="refresh"' in client.get(reverse("evaluation:report", args=[report.pk])).content.decode()
    )
    Report.objects.filter(pk=report.pk).update(state="running", progress="Computing agreement (2 of 5)")
    status = client.get(reverse("evaluation:report_status", args=[report.pk]))
    assert "Computing agreement (2 of 5)" in status.content.decode()
    assert "HX-Refresh" not in status
    assert client.get(reverse("evaluation:report_export", args=[report.pk, "csv"])).status_code == 409
    service.report_compute(report_pk=report.pk)
    assert client.get(reverse("evaluation:report_status", args=[report.pk]))["HX-Refresh"] == "true"


def test_a_failed_report_says_why_and_can_be_computed_again():
    study = small_study()
    report = stored(study, rule="single:zoe")
    client = client_of(study)
    page = client.get(reverse("evaluation:report", args=[report.pk])).content.decode()
    assert "&#x27;zoe&#x27; is not a rater" in page
    client.post(reverse("evaluation:report_retry", args=[report.pk]))
    report.refresh_from_db()
    assert (report.state, report.error) == ("queued", "")


def test_other_peoples_studies_are_not_found():
    report = stored(small_study())
    other = client_of(make_study())
    for address in (
        reverse("evaluation:report", args=[report.pk]),
        reverse("evaluation:report_status", args=[report.pk]),
        reverse("evaluation:reports", args=[report.study_id]),
        reverse("evaluation:report_export", args=[report.pk, "json"]),
        reverse("evaluation:report_file", args=[report.pk, ReportFile.objects.first().name]),
        reverse("evaluation:report_compare", args=[report.study_id]) + f"?a={report.pk}&b={report.pk}",
    ):
        assert other.get(address).status_code == 404, address
    annotator = Client()
    annotator.force_login(make_user())
    assert annotator.get(reverse("evaluation:report", args=[report.pk])).status_code == 404
    assert Client().get(reverse("evaluation:report", args=[report.pk])).status_code == 302


@pytest.mark.parametrize(
    ("role", "create", "delete"), [("viewer", 404, 404), ("reviewer", 302, 404), ("editor", 302, 302)]
)
def test_reports_need_the_right_role(role, create, delete):
    study = small_study()
    report = stored(study)
    client = client_of(study, role=role)
    assert client.get(reverse("evaluation:report", args=[report.pk])).status_code == 200
    assert client.post(reverse("evaluation:reports", args=[study.pk])).status_code == create
    assert client.post(reverse("evaluation:report_delete", args=[report.pk])).status_code == delete


RATERS = (("ann", {}), ("bob", {}), ("gpt-4", {"kind": "simulator", "source": "simulator"}))
NASTY = "<img src=x onerror=alert(1)>\"'{{ 7|add:7 }}"


def test_texts_of_raters_and_material_are_shown_as_text():
    study = make_study(title=NASTY)
    for number in range(3):
        item = make_item(
            study, key=f"k{number}{NASTY}", instance=f"{number}{NASTY}", system=NASTY, generator=NASTY
        )
        make_judgment(item, make_rater(NASTY), "yes")
        make_judgment(item, make_rater("bob"), "no" if number else "yes")
    report = stored(study)
    client = client_of(study)
    for address in (
        reverse("evaluation:report", args=[report.pk]),
        reverse("evaluation:reports", args=[study.pk]),
        reverse("evaluation:report_compare", args=[study.pk]) + f"?a={report.pk}&b={report.pk}",
    ):
        page = client.get(address).content.decode()
        assert "<img src=x" not in page
        assert "&lt;img src=x onerror=alert(1)&gt;" in page
        assert "14" not in re.findall(r"'(\d+)", page)
    for file in report.files.filter(media_type="image/svg+xml"):
        assert b"<img" not in bytes(file.body)
        assert client.get(reverse("evaluation:report_file", args=[report.pk, file.name]))[
            "Content-Security-Policy"
        ].startswith("default-src 'none'")


@pytest.mark.parametrize("format", ["html", "latex", "csv", "json", "text"])
def test_reports_can_be_downloaded_in_every_format(format):
    study = small_study()
    report = stored(study)
    response = client_of(study).get(reverse("evaluation:report_export", args=[report.pk, format]))
    assert response.status_code == 200
    assert response["Content-Disposition"].startswith("attachment;")
    assert "0.739" in b"".join(response.streaming_content).decode()


def test_two_reports_side_by_side():
    study = small_study()
    one, two = stored(study, restriction="common"), stored(study, restriction="all")
    address = reverse("evaluation:report_compare", args=[study.pk])
    page = client_of(study).get(f"{address}?a={one.pk}&b={two.pk}").content.decode()
    assert "Systems are compared on" in page
    assert "−50.0" in page  # robot-b: 100 % on common instances, 50 % on all
    assert client_of(study).get(f"{address}?a={one.pk}&b=9999999").status_code == 404
    assert client_of(study).get(f"{address}?a={one.pk}&b=x").status_code == 404


def test_options_that_differ_are_written_in_words():
    study = small_study()
    one, two = (
        stored(study),
        stored(study, exclusions=False, rule="per_rater", by="system", only="kind=counterfactual"),
    )
    address = reverse("evaluation:report_compare", args=[study.pk])
    page = client_of(study).get(f"{address}?a={one.pk}&b={two.pk}").content.decode()
    rows = re.findall(
        r'<tr><th scope="row">([^<]*)</th><td[^>]*>([^<]*)</td><td[^>]*>([^<]*)</td></tr>', page
    )
    assert sorted(rows) == [
        ("Groups by", "none", "system"),
        (
            "How several raters’ labels are combined",
            "Majority (ties are left out)",
            "Each rater alone, then the mean",
        ),
        ("Leave out what is excluded", "yes", "no"),
        ("Only", "none", "kind: counterfactual"),
    ]
    listed = client_of(study).get(reverse("evaluation:reports", args=[study.pk])).content.decode()
    assert ">Each rater alone, then the mean<" in listed


def test_pages_do_not_import_numerical_libraries():
    """A web process that serves reports must not hold pandas, altair or scikit-learn."""
    import subprocess
    import sys

    code = (
        "import django, sys; django.setup();"
        "import evaluation.urls, evaluation.api.urls, evaluation.services.report;"
        "print([m for m in ('pandas', 'altair', 'vl_convert', 'sklearn', 'scipy', 'statsmodels', 'pyarrow', 'numpy', 'openai')"
        " if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip().splitlines()[-1] == "[]"


def test_the_admin_form_stores_a_report_when_saved_and_not_when_checked():
    study = small_study()
    user = make_user(staff=True)
    Membership.objects.create(study=study, user=user, role="owner")
    form = type("Own", (NewReportForm,), {"user": user})({"studies": [study.pk], "exclusions": "on"})
    assert form.is_valid(), form.errors
    assert not Report.objects.exists()
    assert form.save() == Report.objects.get(study=study)


def test_forms_and_api_ask_for_every_choice():
    names = set(Choices().to_json())
    study = small_study()
    assert set(ReportForm(study=study).fields) == names
    assert set(ChoicesSerializer().fields) == names | {"studies"}


def test_a_comparison_says_the_largest_changes_first():
    study = small_study()
    one, two = stored(study, restriction="common"), stored(study, restriction="all")
    found = compare(one, two)
    assert found.sentences[0].endswith(" values differ.") or found.sentences[0].endswith(" values differs.")
    sizes = [line.size for table in found.changed for line in table.differing]
    assert found.changed[0].size == max(sizes)
    changes = [sentence for sentence in found.sentences[1:] if "in neither report" not in sentence]
    assert changes[0].startswith("P1 Table 4, ")
    page = (
        client_of(study)
        .get(f"{reverse('evaluation:report_compare', args=[study.pk])}?a={one.pk}&b={two.pk}")
        .content.decode()
    )
    assert page.index("What changed") < page.index("The same in both")
    assert compare(one, one).sentences == [
        f"All {sum(len(t.lines) for t in found.tables):,} values are the same."
    ]


def test_a_comparison_leaves_out_values_that_neither_report_defines():
    """The reason for a missing mean of kappa names the least number of shared units: that isn't a change of a figure."""
    study = small_study(simulator=True)
    one, two = stored(study, min_overlap=40), stored(study, min_overlap=50)
    found = compare(one, two)
    undefined = [
        line for table in found.changed for line in table.differing if line.a.undefined and line.b.undefined
    ]
    assert undefined
    assert not any("not defined (" in text and "became not defined" in text for text in found.sentences)
    (said,) = [text for text in found.sentences if "defined in neither report" in text]
    assert said.startswith(f"{len(undefined):,} of them ")
    third = compare(one, stored(study, min_overlap=1))
    assert any("not defined (" in text and " became " in text for text in third.sentences)


def test_a_report_begins_with_its_summary_and_explains_its_statistics():
    report = stored(small_study(simulator=True))
    sections = report.content["sections"]
    assert sections[0]["id"] == "summary"
    assert 3 <= len(sections[0]["prose"]) <= 5
    assert [block["kind"] for block in sections[0]["blocks"]] == ["figure"]
    page = client_of(report.study).get(reverse("evaluation:report", args=[report.pk])).content.decode()
    assert page.index('id="summary"') < page.index('id="data"') < page.index('id="method"')
    assert '<abbr title="Agreement of any number of raters' in page
    assert "What the statistics mean" in page


def test_simulators_have_short_names_and_their_full_ones_in_a_note():
    study = make_study()
    name = "gpt-4 · simulation v1 · prompt 154222cf"
    gpt = make_rater(name, kind="simulator", source="simulator")
    for number in range(3):
        item = make_item(study, key=f"k{number}", instance=f"x{number}")
        make_judgment(item, gpt, "yes")
        make_judgment(item, make_rater("ann"), "no" if number else "yes")
    content = stored(study).content
    method = content["sections"][-1]
    assert method["notes"] == [f"Simulators in full: gpt-4 is {name}."]
    texts = [
        text for s in content["sections"][:-1] for text in [*s["prose"], *(b["title"] for b in s["blocks"])]
    ]
    assert not any(name in text for text in texts)
    assert any("gpt-4" in text for text in texts)
    cell = cells_of(content, "p1-table-4-details")["gpt-4 robot-a", "Simulatable"]
    assert cell["rule"] == f"single:{name}"


def test_viewers_see_no_form_that_they_may_not_send():
    study = small_study()
    report = stored(study)
    for role, forms in (("viewer", 0), ("reviewer", 1)):
        client = client_of(study, role=role)
        for address in (
            reverse("evaluation:reports", args=[study.pk]),
            reverse("evaluation:report", args=[report.pk]),
        ):
            page = client.get(address).content.decode().replace('<form id="logout-form" method="post"', "")
            assert page.count('method="post"') == forms, (role, address)


def test_agreement_links_to_the_items_that_raters_disagree_on():
    study = small_study()
    report = stored(study)
    client = client_of(study)
    where = reverse("admin:study_contested", args=[study.pk])
    page = client.get(reverse("evaluation:report", args=[report.pk])).content.decode()
    assert f'href="{where}"' in page
    assert client.get(where).status_code == 200
    Report.objects.filter(pk=report.pk).update(choices=report.choices | {"count": "rehearsal"})
    page = client.get(reverse("evaluation:report", args=[report.pk])).content.decode()
    assert f'href="{where}?count=rehearsal"' in page


def test_a_pairs_kappa_links_to_its_disagreements():
    study = small_study(simulator=True)
    client = client_of(study)
    page = client.get(reverse("evaluation:report", args=[stored(study, min_overlap=1).pk])).content.decode()
    where = reverse("admin:study_contested", args=[study.pk])
    links = re.findall(
        rf'<a href="{where}\?raters=(\d+)-(\d+)" title="The items on which they disagree">', page
    )
    ann, bob, gpt = (make_rater(name, **more).pk for name, more in RATERS)
    assert {frozenset(map(int, pair)) for pair in links} == {
        frozenset(pair) for pair in ((ann, bob), (ann, gpt), (bob, gpt))
    }
    shown = client.get(f"{where}?raters={ann}-{bob}").content.decode()
    assert "Where ann and bob disagree" in shown
    assert "They gave the same answer to 5 of 6 shared items." in shown
