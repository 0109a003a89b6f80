"""A draft like a study in a file or a release: its material, texts and plan, and nobody of its people."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client

from annotator.models import AuditEntry, Item, Judgment, Participation, Rater, Study, User
from annotator.services.study_removal import study_archive
from evaluation.models import AnalysisPlan, Call, KeptJob, KeptStudy, Run
from evaluation.moves.keeping import study_keep
from evaluation.moves.kept_jobs import kept_job_run
from evaluation.moves.sealed_file import MoveError
from evaluation.moves.templates import kept_study_template
from tests.evaluation.moves.files import KEY, full_study
from tests.evaluation.releases.releases import built
from tests.evaluation.reports.plans import H1, judge, sealed_study
from tests.evaluation.reports.studies import stored
from tests.factories import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("stored_files", "queued")]


def items_of(study: Study) -> list[tuple[object, ...]]:
    """What the items ask and show."""
    found = study.items.filter(withdrawn_at=None).order_by("key")
    return list(found.values_list("key", "payload", "gold", "role", "explanation__text", "instance__input"))


def test_a_kept_study_serves_as_a_template_and_stays_in_its_file(tmp_path: Path) -> None:
    study, path, key = (
        study_archive(study=full_study(), anyway=True),
        tmp_path / "owls.foretell",
        tmp_path / "k",
    )
    key.write_bytes(KEY.secret)
    owner = User.objects.get(username="lee")
    items, texts, plan = items_of(study), study.instructions_text, study.analysis_plan.document
    images = list(study.images.values_list("name", "digest"))
    kept = study_keep(study=study, path=path, key=KEY, by=owner)
    before = [model._default_manager.count() for model in (User, Rater, Run, Call, Study)]
    client, page = Client(), f"/studies/kept/{kept.pk}/bring-back/"
    client.force_login(owner)
    assert "As a template" in client.get(page).content.decode()
    sent = client.post(
        page, {"key_file": io.BytesIO(KEY.secret), "file": path.open("rb"), "as_template": "on"}
    )
    assert sent.status_code == 302, sent.content.decode()
    job = KeptJob.objects.get()
    assert kept_job_run(job_pk=job.pk)
    KeptJob.objects.filter(pk=job.pk).update(state="done")
    assert not kept_job_run(job_pk=job.pk), "no second draft"
    job.refresh_from_db()
    assert (job.state, job.error) == ("done", "")
    made = Study.objects.get()
    assert "The draft is there. The study stays in its file." in client.get(sent["Location"]).content.decode()
    assert (made.state, made.archived_at, made.workspace, made.slug, made.title) == (
        "draft", None, kept.workspace, kept.slug, kept.title,
    )  # fmt: skip
    assert (items_of(made), made.instructions_text) == (items, texts)
    assert list(made.images.values_list("name", "digest")) == images
    assert (made.analysis_plan.document, made.analysis_plan.sealed_at) == (plan, None)
    assert not (Judgment.objects.exists())
    assert not (Participation.objects.exists())
    assert not (made.snapshots.exists())
    after = [model._default_manager.count() for model in (User, Rater, Run, Call, Study)]
    assert after == [*before[:-1], before[-1] + 1], "no people came, and no model calls"
    assert AuditEntry.objects.get(study=made.pk, action="study.created").after["copy_of"] == kept.slug
    assert KeptStudy.objects.get().brought_back_at is None

    out = io.StringIO()
    call_command(
        "bring_back_study", kept.slug, as_template=True, owner="lee", key_file=key, place=path, stdout=out
    )
    assert f"Made the draft {kept.slug}-2 like {kept.slug}" in out.getvalue()
    with pytest.raises(MoveError, match="aren't an editor"):
        kept_study_template(kept=kept, path=path, key=KEY, by=make_user("eve", staff=True))
    assert Study.objects.count() == 2


def test_a_release_serves_as_a_template(tmp_path: Path) -> None:
    study = sealed_study(instances=3, hypotheses=[H1])
    judge(study, instances=3)
    path = tmp_path / "release.zip"
    path.write_bytes(built(stored(study, replicates=100))[1].getvalue())
    items, plan, raters = items_of(study), study.analysis_plan.document, Rater.objects.count()
    judgments = Judgment.objects.count()
    make_user("mia", staff=True)
    out = io.StringIO()
    call_command("import_release", path, owner="mia", as_template=True, workspace="Owls", stdout=out)
    made = Study.objects.exclude(pk=study.pk).get()
    assert f"Made as a template: {made.slug}, in the workspace Owls." in out.getvalue()
    assert (made.slug, made.state, made.title) == (f"{study.slug}-2", "draft", study.title)
    assert items_of(made) == items
    assert (made.analysis_plan.document, made.analysis_plan.sealed_at) == (plan, None)
    assert (Rater.objects.count(), Judgment.objects.count()) == (raters, judgments), "nobody came with it"
    assert Item.objects.count() == 2 * len(items)
    assert AnalysisPlan.objects.count() == 2
