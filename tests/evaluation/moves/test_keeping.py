"""An archived study goes into a file, and comes back from it."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotator.models import (
    AuditEntry,
    Dataset,
    DeclaredType,
    Exam,
    ExamAttempt,
    Judgment,
    Qualification,
    Study,
    User,
)
from annotator.selectors.study import study_hit_type
from annotator.services.declared_type import declared_type_delete
from annotator.services.study_removal import study_archive
from evaluation.models import Endpoint, KeptStudy, Pipeline, Recipe, Release, Report
from evaluation.moves.keeping import study_bring_back, study_keep
from evaluation.moves.sealed_file import MoveError
from evaluation.releases.contents import without_links
from tests.evaluation.moves.files import KEY, Key, full_study
from tests.evaluation.reports.studies import computed
from tests.factories import make_study, make_user

pytestmark = pytest.mark.django_db


def archived() -> Study:
    return study_archive(study=full_study(), anyway=True)


def test_a_kept_study_comes_back_as_it_was(tmp_path: Path) -> None:
    study, path = archived(), tmp_path / "owls.foretell"
    report, people = without_links(computed(study).content), User.objects.count()
    kept = study_keep(study=study, path=path, key=KEY)
    assert not Study.objects.filter(pk=study.pk).exists()
    assert not Judgment.objects.exists()
    assert path.stat().st_mode & 0o777 == 0o600
    assert (kept.slug, kept.people, kept.rows["annotator.judgment"], kept.bytes) == (
        study.slug,
        2,
        3,
        path.stat().st_size,
    )
    back = study_bring_back(kept=kept, path=path, key=KEY, by=make_user("mia", staff=True))
    assert (back.pk, back.slug, back.workspace, back.join_token) == (
        study.pk,
        study.slug,
        study.workspace,
        study.join_token,
    )
    assert back.archived_at == study.archived_at
    assert User.objects.count() == people + 1
    assert Qualification.objects.count() == 1
    assert Report.objects.filter(study=back).count() == 1
    assert without_links(computed(back).content) == report
    actions = set(AuditEntry.objects.filter(study=study.pk).values_list("action", flat=True))
    assert {"study.kept", "study.brought_back"} <= actions
    with pytest.raises(MoveError, match="brought back already"):
        study_bring_back(kept=kept, path=path, key=KEY, by=make_user(staff=True))


def test_what_cannot_be_kept_stays_and_leaves_no_file(tmp_path: Path) -> None:
    study, path = full_study(), tmp_path / "owls.foretell"
    with pytest.raises(MoveError, match="isn't archived"):
        study_keep(study=study, path=path, key=KEY)
    study_archive(study=study, anyway=True)
    report = Report.objects.get()
    Release.objects.create(report=report, state="review", key="k")
    with pytest.raises(MoveError, match="has 1 release"):
        study_keep(study=study, path=path, key=KEY)
    assert list(tmp_path.iterdir()) == []
    path.write_bytes(b"something else")
    with pytest.raises(MoveError, match="exists already"):
        study_keep(study=study, path=path, key=KEY, releases=True)
    assert path.read_bytes() == b"something else"
    assert study.judgments.count() == 3


def test_reports_on_several_studies_are_neither_changed_nor_shown_to_others(tmp_path: Path) -> None:
    study, path = archived(), tmp_path / "owls.foretell"
    other = make_study(slug="other")
    across = Report.objects.create(study=other)
    across.others.add(study)
    with pytest.raises(MoveError, match=r"is in 1 report together with other, .* --without-shared-reports"):
        study_keep(study=study, path=path, key=KEY)
    assert set(across.others.all()) == {study}
    study_keep(study=study, path=path, key=KEY, shared_reports=True)
    assert not Report.objects.filter(pk=across.pk).exists(), "members of the other study may not see this one"


def test_what_a_kept_study_left_behind_is_its_own_again(tmp_path: Path) -> None:
    """Pipelines and qualifications stay in the workspace; the type may have been deleted there, and the short name taken."""
    study, path = archived(), tmp_path / "owls.foretell"
    dataset = Dataset.objects.create(workspace=study.workspace, name="d")
    recipe = Recipe.objects.create(workspace=study.workspace, name="r", version=1, digest="d", content={})
    pipeline = Pipeline.objects.create(
        recipe=recipe, dataset=dataset, study=study, endpoint=Endpoint.objects.get(), state="done"
    )
    exam = Exam.objects.create(hit_type=study.hit_type, digest="e" * 64)
    tried = ExamAttempt.objects.create(
        participation=study.participations.all()[0], exam=exam, number=1, drawn=[], pass_mark=0
    )
    Qualification.objects.update(attempt=tried)
    kept = study_keep(study=study, path=path, key=KEY)
    pipeline.refresh_from_db()
    assert (pipeline.study, Qualification.objects.get().attempt) == (None, None)
    declared_type_delete(type=DeclaredType.objects.get(), by=None)
    make_study(slug=study.slug)
    mia = make_user("mia", staff=True)
    with pytest.raises(MoveError, match="give it another short name"):
        study_bring_back(kept=kept, path=path, key=KEY, by=mia)
    back = study_bring_back(kept=kept, path=path, key=KEY, by=mia, slug="owls-again")
    pipeline.refresh_from_db()
    assert (pipeline.study, back.pk, back.slug) == (back, study.pk, "owls-again")
    attempt = Qualification.objects.get().attempt
    assert attempt is not None
    assert attempt.participation.study == back
    assert not DeclaredType.objects.exists(), "nobody saves a type again that was deleted"
    assert study_hit_type(back).name == "simulation_declared"


def test_another_or_a_damaged_file_brings_nothing_back(tmp_path: Path) -> None:
    study, path = archived(), tmp_path / "owls.foretell"
    kept, mia = study_keep(study=study, path=path, key=KEY), make_user("mia", staff=True)
    with pytest.raises(MoveError, match="is not the one"):
        study_bring_back(kept=kept, path=path, key=Key.of_file(b"k" * 32), by=mia)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(MoveError, match="its SHA-256 is another"):
        study_bring_back(kept=kept, path=path, key=KEY, by=mia)
    assert not Study.objects.exists()
    assert KeptStudy.objects.filter(brought_back_at__isnull=True).exists()


def test_the_commands_move_keep_and_bring_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study, key, file = full_study(), tmp_path / "key", tmp_path / "owls.foretell"
    key.write_bytes(bytes(range(64)))
    make_user("mia", staff=True)
    using = ["--key-file", str(key)]
    call_command("export_study", study.slug, "--to", str(file), *using)
    call_command("import_study", str(file), "--owner", "mia", "--slug", "second", *using)
    assert "Imported second: 3 judgments, 2 participations" in capsys.readouterr().out
    with pytest.raises(CommandError, match="give it another short name"):
        call_command("import_study", str(file), "--owner", "mia", *using)
    (tmp_path / "words").write_text("the wrong passphrase\n")
    with pytest.raises(CommandError, match="encrypted with a key file"):
        call_command(
            "import_study", str(file), "--owner", "mia", "--passphrase-file", str(tmp_path / "words")
        )
    study_archive(study=study, anyway=True)
    kept = tmp_path / "kept.foretell"
    call_command("keep_study", study.slug, "--to", str(kept), *using)
    call_command("bring_back_study")
    assert f"{study.slug}: {kept}" in capsys.readouterr().out
    call_command("bring_back_study", study.slug, "--owner", "mia", *using)
    assert Study.objects.get(slug=study.slug).judgments.count() == 3
