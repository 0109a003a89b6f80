"""``manage.py report`` and ``manage.py metrics``."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from tests.evaluation.reports.studies import small_study
from tests.factories import make_item, make_judgment, make_rater, make_study

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def test_report_prints_text_and_writes_files(tmp_path):
    study = small_study()
    assert "P1 Table 4" in run("report", study.slug, "--bootstrap", "0", "--min-overlap", "1")
    target = tmp_path / "report.json"
    assert run("report", study.slug, "--bootstrap", "0", "--format", "json", "--output", str(target)) == ""
    assert json.loads(target.read_text())["sections"]


def test_metrics_leaves_agreement_out():
    content = json.loads(run("metrics", small_study().slug, "--bootstrap", "0", "--format", "json"))
    names = {section["id"] for section in content["sections"]}
    assert "p1-table-4" in names
    assert not names & {"agreement", "data", "method"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rule", "best"], "--rule: expected one of"),
        (["--bootstrap", "some"], "--bootstrap: expected a whole number"),
        (["--min-overlap", "0"], "--min-overlap: expected a whole number from 1"),
        (["--rule", "single:zoe"], "'zoe' is not a rater"),
    ],
)
def test_bad_arguments_say_what_was_expected(arguments, message):
    with pytest.raises(CommandError, match=message):
        run("report", small_study().slug, *arguments)


def test_an_unknown_study_and_an_unwritable_file(tmp_path):
    with pytest.raises(CommandError, match="no study has the slug 'nowhere'"):
        run("report", "nowhere")
    study = make_study()
    make_judgment(make_item(study), make_rater("ann"))
    with pytest.raises(CommandError, match="No such file or directory"):
        run("report", study.slug, "--bootstrap", "0", "--output", str(tmp_path / "no" / "file"))
