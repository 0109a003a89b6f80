"""A workspace goes into one file, and is the same when it is restored from it."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command

from annotator.models import (
    AuditEntry,
    Dataset,
    DeclaredType,
    DeclaredVersion,
    Judgment,
    Membership,
    MessageTemplate,
    PanelConnection,
    Participation,
    Rater,
    Study,
    User,
    Workspace,
    WorkspaceMember,
)
from annotator.selectors.study import study_hit_type
from annotator.services.erasure import erase
from evaluation.models import Call, Endpoint, KeptStudy, Recipe, Release, Report, Run, WorkspaceRestore
from evaluation.moves import workspace_restore as restoring
from evaluation.moves.reading import DECISION_IN_DOUBT, PAYMENTS_IN_DOUBT
from evaluation.moves.sealed_file import MoveError
from evaluation.moves.tables import MOVED, MovedTable
from evaluation.moves.workspace_restore import workspace_restore
from evaluation.moves.workspace_tables import OWN
from evaluation.ratings.load import study_ratings
from evaluation.releases.contents import without_links
from tests.evaluation.moves.files import KEY, rows_of
from tests.evaluation.moves.labs import NAME, all_rows, backed_up, database_empty, other_lab, parts_of
from tests.evaluation.reports.studies import computed
from tests.factories import make_user

pytestmark = pytest.mark.django_db
WORKED = ("worked", "other-type")


def ratings_of(study: Study) -> list[Any]:
    """Everything that statistics read of a study's judgments, in one order."""
    found, rows = study_ratings(study=study), []
    for variable in found.variables:
        one = found.table(variable.name).ratings
        for rater, unit, value in zip(one.rater, one.unit, one.value, strict=True):
            rows.append((variable.name, one.raters[rater], one.units[unit], one.labels[value]))
    return sorted(rows)


def judgments_of(workspace: Workspace) -> list[Any]:
    names = (
        "study__slug", "item__key", "rater__name", "response", "digest", "standing", "source", "seconds", "signals", "created_at", "language",
    )  # fmt: skip
    found = Judgment.objects.filter(study__workspace=workspace).values_list(*names)
    return sorted(map(repr, found))


def normal(lines: Sequence[dict[str, Any]], tables: Sequence[MovedTable]) -> dict[str, list[dict[str, Any]]]:
    """Each table's rows, with a row's place in its table for its number; people are known by their names, and nothing that is an installation's own."""
    place, seen = dict[tuple[str, int], Any](), Counter[str]()
    for line in lines:
        if "table" in line:
            seen[line["table"]] += 1
            place[line["table"], line["row"]["id"]] = _known_by(line, seen[line["table"]])
    found = {}
    for table in tables:
        rows = [dict(row) for row in rows_of(list(lines), table.name)]
        for row in rows:
            row["id"] = 0
            for field in table.model._meta.concrete_fields:
                if field.remote_field and row.get(field.attname) is not None and field.name != "declaration":
                    row[field.attname] = place.get(
                        (field.remote_field.model._meta.label_lower, row[field.attname]), 0
                    )
            for name in (
                "file",
                "instance_id_of_item",
                "parts",
                "is_active",
                "raters_before",
                "reserved_cost",
            ):
                row.pop(name, None)
        found[table.name] = sorted(rows, key=repr)
    return found


def _known_by(line: dict[str, Any], number: int) -> Any:
    """How a row is known in both files: people come in another order."""
    row = line["row"]
    if line["table"] == "annotator.user":
        return row["username"]
    return (row["source"], row["name"]) if line["table"] == "annotator.rater" else number


def test_a_restored_workspace_is_the_same_in_an_empty_database(made: Workspace, tmp_path: Path) -> None:
    worked = [Study.objects.get(slug=slug) for slug in WORKED]
    reports = [without_links(computed(study).content) for study in worked]
    ratings, judgments = [ratings_of(study) for study in worked], judgments_of(made)
    path = backed_up(made, tmp_path)
    before, tokens = parts_of(path), dict(made.studies.values_list("slug", "join_token"))
    archives = [default_storage.open(one.file).read() for one in Release.objects.all()]
    assert all(ratings)
    assert len({study.hit_type for study in worked}) == 2
    database_empty()
    assert not Workspace.objects.exists()
    make_user("zoe", staff=True)
    restore = workspace_restore(path=path, key=KEY, by=User.objects.get(username="zoe"))
    again = restore.workspace
    assert (again.name, again.calls_at_once, again.model_budget) == (NAME, 7, made.model_budget)
    assert dict(again.studies.values_list("slug", "join_token")) == tokens, "links of participants still work"
    worked = [Study.objects.get(slug=slug) for slug in WORKED]
    assert [without_links(computed(study).content) for study in worked] == reports
    assert [ratings_of(study) for study in worked] == ratings
    assert judgments_of(again) == judgments
    assert [default_storage.open(one.file).read() for one in Release.objects.all()] == archives
    after = parts_of(backed_up(again, tmp_path, "again.backup"))
    assert set(after) == set(before)
    for name in before:
        tables = MOVED if name else OWN
        first, second = normal(before[name], tables), normal(after[name], tables)
        for table in first:
            if (name == "live" and table in CHANGED_OF_LIVE) or (not name and table in CHANGED_OF_OWN):
                continue
            assert second[table] == first[table], f"{name}: {table}"


#: What is paused, in doubt or another's in the restored workspace.
CHANGED_OF_LIVE = {
    "annotator.study",
    "annotator.paybatch",
    "annotator.reviewdecision",
    "evaluation.run",
    "evaluation.call",
}
CHANGED_OF_OWN = {"annotator.user", "annotator.workspacemember"}


def test_what_belongs_to_no_study_is_there_again(made: Workspace, tmp_path: Path) -> None:
    Endpoint.objects.update(
        key_variable="LAB_SECRET", headers={"X": "hidden"}, base_url="https://models.example/v1"
    )
    path = backed_up(made, tmp_path)
    versions = list(DeclaredVersion.objects.order_by("pk").values_list("type__name", "number", "declaration"))
    assert len(versions) == 3
    database_empty()
    make_user("zoe", staff=True)
    again = workspace_restore(path=path, key=KEY, by=User.objects.get(username="zoe")).workspace
    found = DeclaredVersion.objects.filter(type__workspace=again).order_by("pk")
    assert list(found.values_list("type__name", "number", "declaration")) == versions
    assert set(DeclaredType.objects.values_list("kind", flat=True)) == {"hit_type", "questionnaire"}
    assert study_hit_type(Study.objects.get(slug="worked")).name == "simulation_declared"
    assert MessageTemplate.objects.get(workspace=again).text == "Thank you."
    assert Recipe.objects.get(workspace=again).content == {"steps": []}
    assert Dataset.objects.get(workspace=again, name="unused").instances.count() == 1
    assert (
        Dataset.objects.count()
        == Dataset.objects.filter(workspace=again).count()
        == len({*Dataset.objects.values_list("name", flat=True)})
    ), "material that is in two files is made once"
    endpoint = Endpoint.objects.get()
    assert (endpoint.base_url, endpoint.headers, endpoint.key_variable) == (
        "https://moved.invalid/v1",
        {},
        "",
    )
    panel = PanelConnection.objects.get(workspace=again)
    assert (panel.token_sealed, panel.project_name, panel.hooks) == ("", "Owls", {})
    assert "Connect the panel again" in panel.fault


def test_people_have_their_roles_again_but_no_rights_that_they_do_not_have_here(
    made: Workspace, tmp_path: Path
) -> None:
    path = backed_up(made, tmp_path)
    database_empty()
    with pytest.raises(MoveError, match="name an owner with --owner"):
        workspace_restore(path=path, key=KEY)
    assert not Workspace.objects.exists()
    assert not User.objects.exists()
    make_user("edith", staff=True, email="EDITH@lab.example")  # she is a researcher here already
    make_user("sam", staff=True, email="another@sam.example")  # somebody else
    zoe = make_user("zoe", staff=True)
    again = workspace_restore(path=path, key=KEY, by=zoe).workspace
    roles = dict(again.members.values_list("user__username", "role"))
    assert roles == {"zoe": "owner", "lee": "owner", "edith": "editor"}
    lee = User.objects.get(username="lee")
    assert (lee.is_active, lee.is_staff, lee.has_usable_password()) == (False, False, False)
    assert Membership.objects.get(study__slug="worked").user.username == "guest"
    sams = User.objects.filter(username__startswith="sam")
    assert {one.username for one in sams} == {"sam", "sam-2"}, "the same person in two files is one account"


def test_studies_in_every_state_come_back_with_nothing_under_way(made: Workspace, tmp_path: Path) -> None:
    path = backed_up(made, tmp_path)
    assert made.studies.get(slug="live").state == "live", "the backup changes nothing"
    database_empty()
    again = workspace_restore(path=path, key=KEY, by=make_user("zoe", staff=True)).workspace
    states = {
        one.slug: (one.state, one.archived_at is not None, one.deleted_at is not None)
        for one in again.studies.all()
    }
    assert states == {
        "worked": ("closed", False, False), "other-type": ("draft", False, False), "live": ("paused", False, False),
        "draft": ("draft", False, False), "archived": ("draft", True, False), "deleted": ("draft", False, True),
    }  # fmt: skip
    live = again.studies.get(slug="live")
    batch, decision = live.pay_batches.get(), live.review_decisions.get()
    assert (batch.fault, batch.finished_at is None) == (PAYMENTS_IN_DOUBT, False)
    assert batch.retry_at is None, "nothing is paid because a backup says so"
    assert (decision.fault, decision.in_force, decision.undone_at is None) == (
        DECISION_IN_DOUBT,
        False,
        False,
    )
    run = Run.objects.get(study=live)
    assert (run.state, run.reserved_cost) == ("paused", 0)
    assert Call.objects.get(run=run).state == "pending"
    assert live.judgments.count() == 4
    assert all(one.rater.rehearsal for one in live.judgments.all())


def test_beside_its_original_it_gets_other_names_and_touches_nobody(made: Workspace, tmp_path: Path) -> None:
    other = other_lab()
    assert other.studies.count() == 1
    path, before = backed_up(made, tmp_path), all_rows()
    with pytest.raises(MoveError, match=r"there is a workspace named Owls here already\. .* --as"):
        workspace_restore(path=path, key=KEY)
    assert all_rows() == before
    restore = workspace_restore(path=path, key=KEY, name="Owls again")
    after = all_rows()
    gone = {table: rows - after[table] for table, rows in before.items() if rows - after[table]}
    assert gone == {}, "no row that was here is changed, of this lab or another"
    again = restore.workspace
    assert set(again.studies.values_list("slug", flat=True)) == {
        f"{slug}-2" for slug in made.studies.values_list("slug", flat=True)
    }
    first, second = (Study.objects.get(slug=slug) for slug in ("worked", "worked-2"))
    assert first.join_token != second.join_token
    assert ratings_of(first) == ratings_of(second)
    assert dict(again.members.values_list("user__username", "role")) == dict(
        made.members.values_list("user__username", "role")
    )
    with pytest.raises(MoveError, match=r"Owls again here already, restored from this backup on"):
        workspace_restore(path=path, key=KEY, name="Owls again")
    assert Workspace.objects.filter(name="Owls again").count() == 1


def test_an_interrupted_restore_goes_on_and_makes_nothing_twice(
    made: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, total = backed_up(made, tmp_path), Judgment.objects.filter(study__workspace=made).count()
    read, done = restoring.study_read, list[str]()

    def third_fails(**values: Any) -> Study:
        if len(done) == 2:
            raise MoveError("the disk is full")
        done.append(values["slug"])
        return read(**values)

    monkeypatch.setattr(restoring, "study_read", third_fails)
    with pytest.raises(
        MoveError, match=r"the study live \(studies/0003.foretell in the archive\): the disk is full"
    ):
        workspace_restore(path=path, key=KEY, name="Second")
    restore = WorkspaceRestore.objects.get()
    assert len(restore.studies) == restore.workspace.studies.count() == 2
    assert not WorkspaceMember.objects.filter(workspace=restore.workspace).exists(), (
        "nobody works in half a workspace"
    )
    monkeypatch.setattr(restoring, "study_read", read)
    Study.objects.create(slug="live-2", title="Somebody has taken the short name", hit_type="simulation")
    again = workspace_restore(path=path, key=KEY, name="Second")
    assert again.pk == restore.pk
    slugs = {"worked-2", "other-type-2", "live-3", "draft-2", "archived-2", "deleted-2"}
    assert set(again.workspace.studies.values_list("slug", flat=True)) == slugs
    assert Judgment.objects.filter(study__workspace=again.workspace).count() == total
    assert again.finished_at is not None
    assert (
        Dataset.objects.filter(workspace=again.workspace).count()
        == Dataset.objects.filter(workspace=made).count()
    )


def test_people_who_were_erased_after_the_backup_stay_erased(made: Workspace, tmp_path: Path) -> None:
    path = backed_up(made, tmp_path)
    study = made.studies.get(slug="worked")
    ann = User.objects.get(email="ann@people.example")
    person = Participation.objects.get(study=study, rater__user=ann)
    erase(study=study, rater=person.rater, policy="anonymise")
    assert not User.objects.filter(email="ann@people.example").exists()
    again = workspace_restore(path=path, key=KEY, name="Second").workspace
    assert not User.objects.filter(email="ann@people.example").exists()
    second = again.studies.get(slug="worked-2")
    assert second.participations.count() == study.participations.count()
    assert second.judgments.count() == study.judgments.count()
    assert not Rater.objects.filter(name=ann.username).exists()


def test_an_endpoint_of_another_lab_that_has_the_name_of_an_own_one_gets_a_number(
    made: Workspace, tmp_path: Path
) -> None:
    theirs = Endpoint.objects.create(
        name="e", base_url="https://theirs.example/v1", model="m", workspace=other_lab()
    )
    for slug in WORKED:
        Run.objects.create(
            kind="simulate", study=made.studies.get(slug=slug), endpoint=theirs, model="m", prompt="p", prompt_digest="d", state="done",
        )  # fmt: skip
    again = workspace_restore(path=backed_up(made, tmp_path), key=KEY, name="Second").workspace
    assert sorted(again.endpoints.values_list("name", flat=True)) == ["e", "e (2)"]
    runs = Run.objects.filter(study__workspace=again, endpoint__name="e (2)")
    assert set(runs.values_list("study__slug", flat=True)) == {"worked-2", "other-type-2"}
    theirs.refresh_from_db()
    assert (theirs.name, theirs.base_url) == ("e", "https://theirs.example/v1")


def test_the_commands_back_up_check_and_restore(
    made: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key, path = tmp_path / "key", tmp_path / "owls.backup"
    key.write_bytes(bytes(range(64)))
    using = ["--key-file", str(key)]
    call_command("workspace_backup", NAME, str(path), "--without", "draft", *using)
    out = capsys.readouterr().out
    assert f"Owls with 5 studies and {Judgment.objects.count()} judgments" in out
    assert "Not in it: draft, which was left out with --without" in out
    assert "Not in it: kept, which is kept in an encrypted file of its own" in out
    assert AuditEntry.objects.filter(action="workspace.backed_up", workspace=made).exists()
    for name, words in (("Nobody", "no workspace"), (NAME, "exists already")):
        with pytest.raises(CommandError, match=words):
            call_command("workspace_backup", name, str(path), *using)
    with pytest.raises(CommandError, match="no study owl"):
        call_command("workspace_backup", str(made.pk), str(tmp_path / "other"), "--without", "owl", *using)
    assert not (tmp_path / "other").exists()
    call_command("workspace_restore", str(path), "--check", *using)
    assert "live: live, 4 judgments" in capsys.readouterr().out
    assert not WorkspaceRestore.objects.exists()
    with pytest.raises(CommandError, match="choose another name with --as"):
        call_command("workspace_restore", str(path), *using)
    call_command("workspace_restore", str(path), "--as", "Second", *using)
    out = capsys.readouterr().out
    assert "Restored live-2: 4 judgments." in out
    assert "Restored the workspace Second with 5 studies." in out
    call_command("workspace_backup", "--list-left")
    assert "evaluation.SigningKey: a secret of the workspace" in capsys.readouterr().out
    assert KeptStudy.objects.count() == 1
    assert Report.objects.filter(study__workspace__name="Second").count() == 1


def test_a_studys_file_can_be_taken_out_of_the_backup(made: Workspace, tmp_path: Path) -> None:
    path, key = backed_up(made, tmp_path), tmp_path / "key"
    key.write_bytes(bytes(range(64)))
    make_user("zoe", staff=True)
    with zipfile.ZipFile(path) as archive:
        archive.extract("studies/0003.foretell", tmp_path)
    call_command(
        "import_study",
        str(tmp_path / "studies/0003.foretell"),
        "--owner",
        "zoe",
        "--slug",
        "alone",
        "--key-file",
        str(key),
    )
    assert Study.objects.get(slug="alone").state == "paused"
