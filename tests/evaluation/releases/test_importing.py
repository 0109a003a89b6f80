"""A release becomes a study again, whose report is the released one."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotator.models import (
    AuditAction,
    AuditEntry,
    Declaration,
    DeclaredType,
    Item,
    Judgment,
    Rater,
    Study,
    Workspace,
)
from annotator.selectors.contested import contested_items
from annotator.selectors.declaration import declaration_forget
from annotator.selectors.study import studies_for
from annotator.services.study import snapshot_freeze
from annotator.services.workspace import workspace_create
from evaluation.models import Report, Run
from evaluation.releases.archive import ArchiveError
from evaluation.releases.importing import release_import
from evaluation.releases.reading import release_open
from evaluation.releases.reproduce import release_reproduce
from evaluation.releases.tables import TABLES
from evaluation.selectors.live import agreement_so_far
from evaluation.services.imported_report import imported_report
from tests.annotator.declared import clarity, clarity_study
from tests.evaluation.releases.releases import PRIVATE, built, files_of, rebuilt, renamed_away
from tests.evaluation.reports import paper_studies
from tests.evaluation.reports.studies import paid_study, small_study, stored
from tests.factories import make_rater, make_user, record_judgment

pytestmark = pytest.mark.django_db
MAKES = [
    lambda: small_study(simulator=True),
    paid_study,
    paper_studies.p1_study,
    paper_studies.p2_study,
    paper_studies.p3_utility_study,
    paper_studies.p3_generalization_study,
    paper_studies.p3_properties_study,
]
NAMES = ["small", "paid", "p1", "p2", "p3 utility", "p3 generalization", "p3 properties"]


def released(make: Callable[[], Study], **about: Any) -> io.BytesIO:
    _, file = built(stored(make(), replicates=100), **about)
    renamed_away()
    return file


@pytest.mark.parametrize("make", MAKES, ids=NAMES)
def test_the_imported_studys_report_is_the_released_one(make: Callable[[], Study]) -> None:
    release, owner = release_open(released(make)), make_user("mia", staff=True)
    studies = release_import(release, by=owner)
    report, found = imported_report(studies=studies, release=release, user=owner)
    assert found.differing == 0, "\n".join(found.sentences)
    assert found.exact
    assert report.inputs_hash == release.manifest["inputs_hash"]


def test_a_release_of_the_imported_study_has_the_same_data() -> None:
    report = stored(small_study(simulator=True), replicates=100)
    Run.objects.update(state="done")
    _, file = built(report, title="Owls")
    renamed_away()
    release, owner = release_open(file), make_user("mia", staff=True)
    studies = release_import(release, by=owner)
    report, _ = imported_report(studies=studies, release=release, user=owner)
    _, again = built(report, title="Owls", key="another key")
    before, after = files_of(file), files_of(again)
    assert set(before) == set(after)
    for table in TABLES:
        if table.model is not Workspace and f"tables/{table.name}.jsonl" in before:
            assert rows_without_place(before, table.name) == rows_without_place(after, table.name), table.name
    assert before["ratings.csv"] == after["ratings.csv"]
    assert before["report.json"] == after["report.json"]


def test_two_answers_are_the_same_after_an_import_where_they_were_before() -> None:
    """By their digests contested items are found, and agreement so far is computed."""
    study = small_study(simulator=True)

    def told(of: Study) -> tuple[list[tuple[str, int, float]], Any]:
        contested = [(one.item.key, one.answers, one.entropy) for one in contested_items(of)]
        found = agreement_so_far(study=of)
        assert found is not None
        return contested, found.points[-1].alpha

    before = told(study)
    [made] = release_import(release_open(released(lambda: study)), by=make_user("mia", staff=True))
    assert told(made) == before
    assert before[0]


def rows_without_place(files: dict[str, bytes], name: str) -> list[dict[str, Any]]:
    """A table's rows, apart from their workspace and whether the study is closed."""
    rows = [json.loads(line) for line in files[f"tables/{name}.jsonl"].splitlines()]
    return [
        {k: v for k, v in row.items() if k != "workspace_id" and (name, k) != ("study", "state")}
        for row in rows
    ]


def test_the_studies_are_closed_and_only_their_owner_sees_them() -> None:
    study = paid_study()
    snapshot_freeze(study=study, by=None)
    file = released(lambda: study)
    owner, stranger = make_user("mia", staff=True), make_user("leo", staff=True)
    [study] = release_import(release_open(file), by=owner, workspace="From the owls")
    assert study.state == Study.State.CLOSED
    assert study.snapshot is not None
    assert study.workspace.name == "From the owls"
    assert list(studies_for(user=owner)) == [study]
    assert not studies_for(user=stranger).exists()
    people = Rater.objects.filter(judgments__study=study, kind="human").distinct()
    assert people.exists()
    assert all(one.user is None and one.name.startswith("rater-") for one in people)


def test_a_study_of_that_name_is_not_touched_and_nothing_is_half_made() -> None:
    _, file = built(stored(paid_study(), replicates=0))
    counts = [model.objects.count() for model in (Study, Item, Judgment, Rater, Workspace, Report)]
    with pytest.raises(ArchiveError, match="there is a study named"):
        release_import(release_open(file), by=make_user("mia", staff=True))
    assert [model.objects.count() for model in (Study, Item, Judgment, Rater, Workspace, Report)] == counts


def test_a_release_can_be_imported_beside_its_own_raters_and_simulators() -> None:
    """Names of raters and simulators are the same; they stay apart."""
    before = Rater.objects.count()
    release = release_open(released(lambda: small_study(simulator=True)))
    mine = Rater.objects.count()
    [study] = release_import(release, by=make_user("mia", staff=True))
    own = Rater.objects.filter(judgments__study=study).distinct()
    assert own.count() == mine - before
    assert not Judgment.objects.filter(rater__in=own).exclude(study=study).exists()


def test_a_row_that_the_database_refuses_undoes_everything() -> None:
    file = released(paid_study)

    def twice(files: dict[str, bytes]) -> None:
        lines = [json.loads(line) for line in files["tables/item.jsonl"].splitlines()]
        lines[1]["key"] = lines[0]["key"]
        files["tables/item.jsonl"] = b"".join(json.dumps(line).encode() + b"\n" for line in lines)

    wrong = rebuilt(file, twice, manifest=True, sums=True, private=PRIVATE)
    studies, workspaces = Study.objects.count(), Workspace.objects.count()
    with pytest.raises(ArchiveError, match="the database refuses a row"):
        release_import(release_open(wrong), by=make_user("mia", staff=True))
    assert (Study.objects.count(), Workspace.objects.count()) == (studies, workspaces)


def test_nothing_is_sent_because_a_file_says_so() -> None:
    """Runs that were waiting when the release was made don't go on."""
    file = released(paid_study)
    assert set(Run.objects.values_list("state", flat=True)) == {"queued"}
    [again] = release_import(release_open(file), by=make_user("mia", staff=True))
    assert set(Run.objects.filter(study=again).values_list("state", flat=True)) == {"paused"}


def test_explanations_get_ids_of_one_length() -> None:
    """Reports draw from explanations in the alphabetical order of their ids."""
    from django.db import connection

    release = release_open(released(paper_studies.p1_study))
    with connection.cursor() as cursor:
        cursor.execute("SELECT setval(pg_get_serial_sequence('annotator_explanation', 'id'), 99999997)")
    [study] = release_import(release, by=make_user("mia", staff=True))
    pks = set(Item.objects.filter(study=study).values_list("explanation_id", flat=True))
    assert len({len(str(pk)) for pk in pks}) == 1


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "release.zip"
    path.write_bytes(released(lambda: small_study(simulator=True)).getvalue())
    with pytest.raises(CommandError, match="there is no researcher 'nobody'"):
        call_command("import_release", str(path), owner="nobody")
    owner = make_user("mia", staff=True)
    call_command("import_release", str(path), owner="mia", workspace="Owls")
    said = capsys.readouterr().out
    assert "in the workspace Owls" in said
    assert "values were reproduced" in said
    entries = AuditEntry.objects.filter(action=AuditAction.JUDGMENTS_IMPORTED).values_list(
        "actor_id", flat=True
    )
    assert list(entries) == [owner.pk]


def test_the_command_refuses_another_labs_key(tmp_path: Path) -> None:
    path = tmp_path / "release.zip"
    path.write_bytes(released(paid_study).getvalue())
    make_user("mia", staff=True)
    other = "ed25519:" + "A" * 43 + "="
    with pytest.raises(CommandError, match="signed with another key"):
        call_command("import_release", str(path), owner="mia", key=other)
    assert not Workspace.objects.filter(name__startswith="Data").exists()


def test_an_archive_that_an_earlier_version_made_is_read_and_imported(db: None) -> None:
    """It was made before releases could have HIT types of workspaces. Its figures are computed again, and it becomes a study."""
    with (Path(__file__).parent / "stored" / "format-4.zip").open("rb") as file:
        release = release_open(file)
        assert release.manifest["format"] == 4
        assert "tables/declaration.jsonl" not in release.contents
        found = release_reproduce(release)
        assert found.differing == 0, "\n".join(found.sentences)
        mia = make_user("mia", staff=True)
        (made,) = release_import(release, by=mia)
        assert (made.hit_type, made.declaration_id, made.judgments.count()) == ("simulation", None, 3)
        assert imported_report(studies=[made], release=release, user=mia)[1].differing == 0
    again = built(stored(made, replicates=100))[1]
    assert release_open(again).manifest["format"] == 4, "a study without such a type is released as before"


def test_a_workspaces_own_hit_type_comes_with_the_release(db: None) -> None:
    """On an installation without the type, the release is checked, imported, and its type can be used again."""
    owner = make_user("ada", staff=True)
    lab = workspace_create(by=owner, name="Lab")
    version = clarity(lab, owner)
    study = clarity_study(lab, owner, items=3)
    for name in ("a", "b"):
        for item in study.items.all():
            record_judgment(item, make_rater(name), {"clear": "yes", "still": "no"})
    _, file = built(stored(study, replicates=100))
    renamed_away()
    Study.objects.update(declaration=None)
    DeclaredType.objects.all().delete()
    Declaration.objects.all().delete()
    declaration_forget(version.declaration_id)
    assert release_reproduce(release_open(file)).exact
    assert not Declaration.objects.exists(), "a check stores nothing"
    declaration_forget(version.declaration_id)
    mia = make_user("mia", staff=True)
    (made,) = release_import(release_open(file), by=mia)
    assert made.declaration_id == version.declaration_id
    assert imported_report(studies=[made], release=release_open(file), user=mia)[1].exact
    assert DeclaredType.objects.get().workspace == made.workspace

    def changed(files: dict[str, bytes]) -> None:
        name = "tables/declaration.jsonl"
        files[name] = files[name].replace(b"Our lab", b"A lab")

    renamed_away()
    assert release_open(file).manifest["format"] == 6
    with pytest.raises(ArchiveError, match="another SHA-256"):
        release_import(
            release_open(rebuilt(file, changed, manifest=True, sums=True, private=PRIVATE)), by=mia
        )

    def emptied(files: dict[str, bytes]) -> None:
        files["tables/declaration.jsonl"] = b""

    forged = rebuilt(file, emptied, manifest=True, sums=True, private=PRIVATE)
    with pytest.raises(
        ArchiveError, match=r"line 1: declaration_id .* no file of a HIT type with that SHA-256"
    ):
        release_import(release_open(forged), by=mia)
