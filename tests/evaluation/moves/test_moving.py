"""A study with its people moves to another installation, and is the same there."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.hashers import is_password_usable
from django.core.files.storage import default_storage
from django.test import Client
from django.urls import reverse

from annotator.core import jobs
from annotator.models import AuditEntry, Judgment, Membership, Participation, Rater, Study, User, Workspace
from annotator.selectors.study import studies_for
from evaluation.models import AnalysisPlan, Call, Endpoint, Release, Report, Run
from evaluation.moves.reading import study_read
from evaluation.moves.sealed_file import MoveError, WrongKey
from evaluation.moves.tables import MOVED, Row
from evaluation.releases.contents import without_links
from evaluation.services.erasure import releases_holding
from evaluation.services.release import STORING
from evaluation.services.signing_key import signing_key_of
from tests.evaluation.moves.files import KEY, Key, forged, full_study, lines_of, rows_of, written
from tests.evaluation.reports import paper_studies
from tests.evaluation.reports.studies import computed, small_study
from tests.factories import make_study, make_user

pytestmark = pytest.mark.django_db


def elsewhere(study: Study) -> None:
    """As on another installation: the study, its people and its simulators aren't there."""
    Study.objects.filter(pk=study.pk).update(slug=f"old-{study.pk}")
    for user in User.objects.all():
        User.objects.filter(pk=user.pk).update(username=f"old-{user.pk}", email="")
    for rater in Rater.objects.all():
        Rater.objects.filter(pk=rater.pk).update(source=f"old {rater.source}")


def closed(study: Study) -> Study:
    Study.objects.filter(pk=study.pk).update(state="closed" if study.snapshot_id else "draft")
    study.refresh_from_db()
    return study


MAKES = [
    lambda: small_study(simulator=True),
    paper_studies.p1_study,
    paper_studies.p3_generalization_study,
    full_study,
]


@pytest.mark.parametrize("make", MAKES, ids=["small", "p1", "p3", "full"])
def test_the_report_is_the_same_on_the_other_side(make: Any) -> None:
    study = closed(make())
    Run.objects.update(state="done")
    before, file = computed(study).content, written(study)
    elsewhere(study)
    made = study_read(file=file, key=KEY, by=make_user("mia", staff=True))
    assert made.pk != study.pk
    assert without_links(computed(made).content) == without_links(before)


def numbered(lines: list[Row]) -> dict[str, list[Row]]:
    """Each table's rows, with the place of a row in its table for its number, and nothing that is an installation's own."""
    place = {(line["table"], line["row"]["id"]): n for n, line in enumerate(lines) if "table" in line}
    found = {}
    for table in MOVED:
        rows = rows_of(lines, table.name)
        for row in rows:
            row["id"] = 0
            for field in table.model._meta.concrete_fields:
                if field.remote_field and row.get(field.attname) is not None:
                    row[field.attname] = place.get(
                        (field.remote_field.model._meta.label_lower, row[field.attname]), 0
                    )
            for name in ("join_token", "file", "instance_id_of_item", "parts", "is_active", "raters_before"):
                row.pop(name, None)
        found[table.name] = rows
    return found


def test_a_file_of_the_moved_study_has_the_same_rows() -> None:
    study = full_study()
    first = written(study)
    elsewhere(study)
    made = study_read(file=first, key=KEY, by=make_user("mia", staff=True))
    before, after = numbered(lines_of(first)), numbered(lines_of(written(made)))
    assert {name for name, rows in before.items() if rows} >= {
        "annotator.review", "annotator.message", "annotator.qualification", "annotator.panelevent", "annotator.studyimage",
        "annotator.place", "annotator.ledgerentry", "evaluation.call", "evaluation.analysisplan", "evaluation.report",
        "annotator.declaration", "annotator.paybatch", "annotator.paypart", "annotator.payline", "annotator.reviewdecision",
        "annotator.personallink",
    }  # fmt: skip
    for name, rows in before.items():
        assert after[name] == rows, name


def test_people_come_with_their_work_and_without_passwords_or_rights() -> None:
    study = full_study()
    file = written(study)
    elsewhere(study)
    mia = make_user("mia", staff=True)
    made = study_read(file=file, key=KEY, by=mia, name="From the other lab")
    ann = User.objects.get(email="ann@people.example")
    assert (ann.first_name, ann.is_active, ann.is_staff, is_password_usable(ann.password)) == (
        "Ann",
        True,
        False,
        False,
    )
    lee = User.objects.get(username="lee")
    assert (lee.email, lee.is_active, lee.is_staff, is_password_usable(lee.password)) == (
        "lee@lab.example",
        False,
        False,
        False,
    )
    person = Participation.objects.get(study=made, rater__user=ann)
    assert (person.recruiter_id, person.recruiter_session) == ("5f00aa", "s1")
    assert made.exclusions.get().created_by == lee
    assert made.ledger.get().amount == Decimal(2)
    assert Judgment.objects.get(study=made, exclusions__isnull=False).seconds == 10.123456789012345
    assert made.workspace is not None
    assert made.workspace.name == "From the other lab"
    assert list(studies_for(user=mia)) == [made]
    assert list(Membership.objects.filter(study=made)) == [Membership.objects.get(study=made, user=mia)]


def test_times_seals_and_transcripts_are_as_they_were() -> None:
    study = full_study()
    plan, created = (
        AnalysisPlan.objects.get(),
        list(study.judgments.order_by("pk").values_list("created_at", flat=True)),
    )
    file = written(study)
    elsewhere(study)
    made = study_read(file=file, key=KEY, by=make_user("mia", staff=True))
    moved = AnalysisPlan.objects.get(study=made)
    assert (moved.digest, moved.sealed_at, moved.created_at) == (plan.digest, plan.sealed_at, plan.created_at)
    assert list(made.judgments.order_by("pk").values_list("created_at", flat=True)) == created
    call = Call.objects.get(run__study=made)
    assert (call.request, call.reply, call.cost) == (
        {"messages": ["Hello"]},
        {"text": "yes"},
        Decimal("0.00000123"),
    )
    assert Report.objects.get(study=made).content == Report.objects.get(study=study).content


def test_no_sweep_deletes_the_files_of_an_import_that_takes_hours() -> None:
    """The lock is held to the end of the transaction, which is this test's."""
    study = full_study()
    moved = written(study)
    elsewhere(study)
    assert jobs.locks_free([(STORING,)])
    study_read(file=moved, key=KEY, by=make_user("mia", staff=True))
    assert not jobs.locks_free([(STORING,)])


def test_releases_come_with_their_archives_and_still_know_who_is_in_them() -> None:
    study = full_study()
    release = Release.objects.get()
    person = study.participations.order_by("pk").first()
    assert person is not None
    assert releases_holding(study=study.pk, rater=person.rater_id)
    with default_storage.open(release.file) as file:
        archive = file.read()
    moved = written(study)
    elsewhere(study)
    made = study_read(file=moved, key=KEY, by=make_user("mia", staff=True))
    found = Release.objects.get(report__study=made)
    assert found.file != release.file
    with default_storage.open(found.file) as file:
        assert file.read() == archive, "whoever has its DOI finds the same bytes"
    assert (found.sha256, found.findings, found.finished_at) == (
        release.sha256,
        release.findings,
        release.finished_at,
    )
    signed = signing_key_of(study.workspace).public
    mia = Client()
    mia.force_login(made.memberships.get().user)
    page, api = reverse("evaluation:release", args=[found.pk]), f"/api/v1/releases/{found.pk}/"
    assert "has no key yet" in mia.get(page).content.decode()
    own = signing_key_of(made.workspace).public
    shown = mia.get(page).content.decode()
    assert signed != own
    assert re.search(
        rf"verifies this file:.*{re.escape(signed)}.*doesn't verify this file:.*{re.escape(own)}", shown, re.S
    )
    found_keys = mia.get(api).json()
    assert (found_keys["signing_key"], found_keys["workspace_key"]) == (signed, own)
    there = made.participations.order_by("pk").first()
    assert there is not None
    assert there.rater_id != person.rater_id
    assert releases_holding(study=made.pk, rater=there.rater_id)
    default_storage.delete(release.file)
    with pytest.raises(MoveError, match="is missing on the server"):
        written(study)


def test_no_secret_of_the_installation_is_in_the_file() -> None:
    study = full_study()
    lines = str(lines_of(written(study)))
    hashes = list(User.objects.values_list("password", flat=True))
    assert "Ann" in lines
    assert not [
        secret
        for secret in ("LAB_SECRET_KEY", "hidden-header", "a sealed secret", *hashes)
        if secret in lines
    ]
    elsewhere(study)
    made = study_read(file=written(study), key=KEY, by=make_user("mia", staff=True), slug="second")
    endpoint = Endpoint.objects.get(workspace=made.workspace)
    assert (endpoint.base_url, endpoint.key_variable, endpoint.headers) == (
        "https://moved.invalid/v1",
        "",
        {},
    )


def test_importing_twice_is_refused_or_makes_a_second_study_of_the_same_people() -> None:
    study = full_study()
    file, people = written(study), User.objects.count()
    mia = make_user("mia", staff=True)
    with pytest.raises(MoveError, match="give it another short name"):
        study_read(file=file, key=KEY, by=mia)
    file.seek(0)
    second = study_read(file=file, key=KEY, by=mia, slug="second")
    assert User.objects.count() == people + 1
    assert second.join_token != study.join_token
    raters = [set(one.participations.values_list("rater", flat=True)) for one in (study, second)]
    assert raters[0] == raters[1]


def test_another_person_of_the_same_name_keeps_their_account() -> None:
    study = full_study()
    file, [name] = (
        written(study),
        User.objects.filter(email="ann@people.example").values_list("username", flat=True),
    )
    elsewhere(study)
    other = make_user(name.upper(), email="somebody@else.example")
    made = study_read(file=file, key=KEY, by=make_user("mia", staff=True))
    assert not Rater.objects.filter(user=other).exists()
    assert made.participations.filter(rater__user__username=f"{name}-2").exists()


@pytest.mark.parametrize("state", ["live", "paused"])
def test_a_study_that_people_work_on_is_not_written(state: str) -> None:
    study = make_study(items=1, launched=True)
    Study.objects.filter(pk=study.pk).update(state=state)
    with pytest.raises(MoveError, match="close it first"):
        written(study)


def test_a_study_with_a_run_under_way_is_not_written() -> None:
    study = full_study()
    Run.objects.update(state="running")
    with pytest.raises(MoveError, match="1 run under way"):
        written(study)


TABLES = (Study, User, Rater, Workspace, Judgment, AuditEntry)


def refused(file: Any, message: str, key: Key = KEY, error: type[MoveError] = MoveError) -> None:
    """The file is refused, and nothing of it is in the database."""
    mia = User.objects.filter(username="mia").first() or make_user("mia", staff=True)
    before = [model._default_manager.count() for model in TABLES]
    file.seek(0)
    with pytest.raises(error, match=message):
        study_read(file=file, key=key, by=mia, slug="forged")
    assert [model._default_manager.count() for model in TABLES] == before


def test_nothing_is_made_with_another_key_or_of_a_damaged_file() -> None:
    file = written(small_study())
    refused(file, "is not the one", Key.of_file(b"k" * 40), WrongKey)
    damaged = bytearray(file.getvalue())
    damaged[-20] ^= 1
    refused(type(file)(bytes(damaged)), "damaged or cut off")


def changed(table: str, **values: Any) -> Any:
    def change(lines: list[Row]) -> None:
        rows_of(lines, table)[0].update(values)

    return change


def without(table: str) -> Any:
    def change(lines: list[Row]) -> None:
        lines.remove(next(line for line in lines if line.get("table") == table))

    return change


def without_pieces(lines: list[Row]) -> None:
    lines[:] = [line for line in lines if "piece" not in line]


FORGED = {
    "another study's row": (changed("annotator.item", study_id=10**9), "refers to annotator.study 1000000000, which isn't in the file"),
    "another workspace's explanation": (changed("annotator.item", parts={"before": 10**9}), "explanation that isn't in the file"),
    "somebody's rater": (changed("annotator.judgment", rater_id=10**9), "which isn't in the file"),
    "a number that is none": (changed("annotator.item", instance_id="1 OR 1=1"), "which isn't in the file"),
    "the same number twice": (lambda lines: lines.insert(2, lines[1]), "one that another row has"),
    "a list for a text": (changed("annotator.user", username=["x"]), "is a list or an object"),
    "a time that is none": (changed("annotator.judgment", created_at="not a time"), "refuses a row"),
    "a live study": (changed("annotator.study", state="live"), "is live; expected draft or closed"),
    "an unknown type": (changed("annotator.study", hit_type="../../etc", declaration_id=None), "has no HIT type"),
    "another type than its file's": (changed("annotator.study", hit_type="simulation"), "is of another type"),
    "a file of a type that isn't there": (changed("annotator.study", declaration_id="0" * 64), "HIT type's file isn't there"),
    "another file of the type": (changed("annotator.declaration", source="name: other"), "another than its hash says"),
    "a payment under way": (changed("annotator.paybatch", finished_at=None), "under way"),
    "a decision under way": (changed("annotator.reviewdecision", done_at=None), "under way"),
    "a row less": (without("annotator.payline"), "number of rows that its last line says"),
    "no end": (lambda lines: lines.pop(), "ends without its last line"),
    "an unknown table": (lambda lines: lines.insert(5, {"table": "annotator.apitoken", "row": {}}), "where none can be"),
    "tables out of order": (lambda lines: lines.insert(-1, lines[1]), "where none can be"),
    "a later version": (lambda lines: lines[0].update(format=2), "reads format 1"),
    "a column of a later version": (lambda lines: lines[0]["columns"]["annotator.item"].append("colour"), "doesn't have; update it"),
    "a password": (lambda lines: lines[0]["columns"]["annotator.user"].append("password"), "doesn't have; update it"),
    "a missing column": (lambda lines: lines[0]["columns"]["annotator.item"].remove("payload"), "lacks payload"),
    "another archive": (changed("evaluation.release", sha256="e" * 64), "is another than its SHA-256 says"),
    "a release without its archive": (without_pieces, "has no archive in the file"),
    "an archive of nothing": (lambda lines: lines.insert(1, {"piece": "AAAA"}), "where none can be"),
    "another image": (changed("annotator.studyimage", digest="e" * 64), "no image"),
}  # fmt: skip


def test_forged_files_are_refused_and_leave_nothing() -> None:
    file = written(full_study())  # once: making it takes longer than refusing all of them
    for name, (change, message) in FORGED.items():
        try:
            refused(forged(file, change), message)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None


def test_what_a_file_says_of_rights_paths_and_going_runs_is_not_believed() -> None:
    def change(lines: list[Row]) -> None:
        for row in rows_of(lines, "annotator.user"):
            row.update(is_staff=True, is_superuser=True, is_active=True)
        rows_of(lines, "annotator.studyimage")[0]["file"] = "../../../etc/passwd"
        rows_of(lines, "evaluation.run")[0]["state"] = "running"

    study = full_study()
    file = forged(written(study), change)
    elsewhere(study)
    made = study_read(file=file, key=KEY, by=make_user("mia", staff=True), slug="second")
    assert not User.objects.filter(is_superuser=True).exists()
    assert not User.objects.get(username="lee").is_active
    image = made.images.get()
    assert image.file == f"images/workspace-{made.workspace_id}/{image.digest[:2]}/{image.digest}"
    assert made.runs.get().state == "paused"
