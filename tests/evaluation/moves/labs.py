"""A lab with studies in every state, its backup, and the rows of a database."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.db import connection
from django.utils import timezone
from psycopg import sql

from annotator.models import (
    Dataset,
    Membership,
    MessageTemplate,
    PanelConnection,
    PayBatch,
    ReviewDecision,
    Study,
    System,
    Workspace,
    WorkspaceMember,
)
from annotator.services.declared_type import declared_type_save
from annotator.services.rehearsal.fill import rehearsal_raters, rehearse
from evaluation.models import Call, Endpoint, KeptStudy, Recipe, Run
from evaluation.moves.lines import lines_read
from evaluation.moves.workspace_archive import BackupReader
from evaluation.moves.workspace_backup import workspace_backup
from tests.annotator.hit_types.declaration.files import TWIN_FILE
from tests.annotator.questionnaires import questionnaire_saved
from tests.emptying import rows_delete
from tests.evaluation.moves.files import KEY, full_study
from tests.evaluation.reports import paper_studies
from tests.factories import make_participation, make_study, make_user

#: What the lab's workspace is called.
NAME = "Owls"


def lab() -> Workspace:
    """Two worked studies of different types, a live one with a rehearsal and things under way, a draft, an archived and a deleted one."""
    full = full_study()
    workspace, owner = (
        Workspace.objects.get(name=NAME),
        WorkspaceMember.objects.get(workspace__name=NAME).user,
    )
    Study.objects.filter(pk=full.pk).update(slug="worked")
    other = paper_studies.p3_generalization_study()
    Study.objects.filter(pk=other.pk).update(slug="other-type")
    for model in (Study, Dataset, System):
        model._default_manager.filter(workspace=None).update(workspace=workspace)
    live = make_study(workspace=workspace, items=2, launched=True, slug="live", redundancy=2)
    rehearse(
        study=live, raters=rehearsal_raters(study=live, count=2, accuracy=0.8, spread=0.1, seed=1), seed=1
    )
    _under_way(live)
    make_study(workspace=workspace, slug="draft", items=1)
    make_study(workspace=workspace, slug="archived")
    Study.objects.filter(slug="archived").update(archived_at=timezone.now())
    make_study(workspace=workspace, slug="deleted", items=1)
    Study.objects.filter(slug="deleted").update(deleted_at=timezone.now(), deleted_by=owner)
    editor, guest = (make_user(name, staff=True, email=f"{name}@lab.example") for name in ("edith", "guest"))
    WorkspaceMember.objects.create(workspace=workspace, user=editor, role="editor")
    Membership.objects.create(study=full, user=guest, role="reviewer")
    declared_type_save(workspace=workspace, by=owner, source=TWIN_FILE.read_text() + "# a second version\n")
    questionnaire_saved(workspace, owner)
    MessageTemplate.objects.create(workspace=workspace, title="Thanks", text="Thank you.", created_by=editor)
    PanelConnection.objects.create(
        workspace=workspace,
        panel="prolific",
        token_sealed="the sealed token",
        project_name="Owls",
        hooks={"1": "x"},
    )
    Recipe.objects.create(workspace=workspace, name="r", version=1, digest="d", content={"steps": []})
    Dataset.objects.create(workspace=workspace, name="unused").instances.create(
        key="x", input={"question": "?"}
    )
    KeptStudy.objects.create(
        workspace=workspace, study=10**9, slug="kept", title="Kept", place="/far/kept.foretell", sha256="0" * 64, bytes=1,
        passphrase=False, people=0,
    )  # fmt: skip
    Workspace.objects.filter(pk=workspace.pk).update(calls_at_once=7, model_budget=Decimal("12.50"))
    workspace.refresh_from_db()
    return workspace


def _under_way(study: Study) -> None:
    """A batch of payments that isn't finished, a decision that isn't carried out, and a call whose reply hasn't come."""
    person = make_participation(study)
    PayBatch.objects.create(
        study=study, panel="prolific", key="o" * 8, digest="e" * 64, currency="USD", retry_at=timezone.now()
    )
    ReviewDecision.objects.create(
        study=study, participation=person, kind="accept", batch=uuid4(), due_at=timezone.now()
    )
    run = Run.objects.create(
        kind="simulate", study=study, endpoint=Endpoint.objects.all()[0], model="m", prompt="p", prompt_digest="d", state="running",
        reserved_cost="0.5",
    )  # fmt: skip
    item = study.items.all()[0]
    Call.objects.create(
        run=run, item=item, key=item.key, state="in_flight", claimed_by="0:w", reserved_cost="0.5"
    )


def other_lab() -> Workspace:
    """Another lab, with a study of its own and a person with the name of one of the lab's."""
    owner = make_user("zoe", staff=True)
    study = make_study(by=owner, slug="theirs", items=2, launched=True)
    make_participation(study, make_user("Ann"))
    assert study.workspace is not None
    return study.workspace


def backed_up(workspace: Workspace, folder: Path, name: str = "owls.backup") -> Path:
    """The workspace's backup."""
    path = folder / name
    workspace_backup(workspace=workspace, path=path, key=KEY)
    return path


def database_empty() -> None:
    """Delete every row, as in the database of another installation."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
    rows_delete()


def all_rows() -> dict[str, set[str]]:
    """Every row of every table, as Postgres writes it."""
    found = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.django_table_names(only_existing=True, include_views=False):
            cursor.execute(sql.SQL("SELECT t::text FROM {} t").format(sql.Identifier(table)))
            found[table] = {row for (row,) in cursor.fetchall()}
    return found


def parts_of(path: Path) -> dict[str, Any]:
    """The lines of each file of a backup: ``""`` for the workspace, and the short names of its studies."""
    found = {}
    with path.open("rb") as file, BackupReader(file, KEY) as backup:
        for part in backup.contents.parts:
            with backup.open(part.name, part.title) as member:
                found[str(part.about.get("slug", ""))] = list(lines_read(member, KEY))
    return found
