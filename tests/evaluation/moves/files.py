"""Encrypted files of studies, and how to look into them and forge them."""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from django.utils import timezone

from annotator.models import (
    Adjudication,
    DataRequest,
    Dataset,
    Exclusion,
    Judgment,
    LedgerEntry,
    Message,
    PanelEvent,
    Participation,
    PayBatch,
    PersonalLink,
    Qualification,
    Review,
    ReviewDecision,
    Study,
    System,
    User,
)
from annotator.services.declared_type import declared_type_save
from annotator.services.images import images_add
from annotator.services.workspace import workspace_create
from evaluation.models import AnalysisPlan, Call, Endpoint, Run
from evaluation.moves.sealed_file import Key, Sealer, unsealed
from evaluation.moves.writing import study_write
from evaluation.planning.plan_document import plan_parse
from evaluation.selectors.analysis_plan import study_design
from evaluation.services.analysis_plan import sealed_digest
from evaluation.services.release import release_compute, release_create
from tests.annotator.hit_types.declaration.files import TWIN_FILE
from tests.evaluation.reports.plans import H3
from tests.evaluation.reports.studies import paid_study, stored
from tests.factories import make_rater, make_user
from tests.pictures import picture

KEY = Key.of_file(bytes(range(64)))


def written(study: Study, key: Key = KEY) -> io.BytesIO:
    """The study's file."""
    file = io.BytesIO()
    study_write(study=study, file=file, key=key)
    file.seek(0)
    return file


def lines_of(file: io.BytesIO, key: Key = KEY) -> list[dict[str, Any]]:
    """The plain lines of a file."""
    text = zlib.decompress(b"".join(unsealed(io.BytesIO(file.getvalue()), key)))
    return [json.loads(line) for line in text.splitlines()]


def sealed(plain: bytes, key: Key = KEY) -> io.BytesIO:
    """An encrypted file with any content."""
    file = io.BytesIO()
    out = Sealer(file, key)
    out.write(plain)
    out.close()
    file.seek(0)
    return file


def forged(file: io.BytesIO, change: Callable[[list[dict[str, Any]]], Any]) -> io.BytesIO:
    """The file with other lines, by somebody who has the key."""
    lines = lines_of(file)
    change(lines)
    return sealed(zlib.compress("".join(json.dumps(line) + "\n" for line in lines).encode()))


def rows_of(lines: list[dict[str, Any]], table: str) -> list[dict[str, Any]]:
    """The rows of one table."""
    return [line["row"] for line in lines if line.get("table") == table]


def pay_and_decide(study: Study, person: Participation, owner: User) -> None:
    """A payment that was sent to the panel and to the ledger, a decision that was carried out, and a person on the study's list."""
    entry = LedgerEntry.objects.get(study=study)
    batch = PayBatch.objects.create(
        study=study, panel="prolific", key="k" * 8, digest="e" * 64, currency="USD", created_by=owner, finished_at=timezone.now(),
    )  # fmt: skip
    part = batch.parts.create(number=1, kind="bonus", remote_study="5f", state="sent", sent_at=timezone.now())
    part.lines.create(entry=entry)
    ReviewDecision.objects.create(
        study=study, participation=person, kind="accept", batch=uuid4(), by=owner, due_at=timezone.now(), done_at=timezone.now(),
    )  # fmt: skip
    PersonalLink.objects.create(
        study=study, person="0" * 16, link="1" * 16, name="Ann", email="ann@people.example"
    )


def full_study() -> Study:
    """A closed study of a workspace's own HIT type with a row in nearly every table: people with accounts, what they are paid and what was
    decided about them, messages, a sealed plan, a run with its calls, a report."""
    study = paid_study()
    owner, lee = make_user("lee", staff=True, email="lee@lab.example"), make_user("sam", staff=True)
    workspace = workspace_create(by=owner, name="Owls")
    for model in (Study, Dataset, System, Endpoint):
        model._default_manager.update(workspace=workspace)
    version = declared_type_save(workspace=workspace, by=owner, source=TWIN_FILE.read_bytes())
    Study.objects.filter(pk=study.pk).update(
        hit_type=version.type.name, declaration_id=version.declaration_id
    )
    study.refresh_from_db()
    item, judgment = study.items.order_by("pk").first(), study.judgments.order_by("pk").first()
    person = study.participations.order_by("pk").first()
    assert item is not None
    assert judgment is not None
    assert person is not None
    User.objects.filter(pk=person.rater.user_id or 0).update(email="ann@people.example", first_name="Ann")
    Participation.objects.filter(pk=person.pk).update(
        recruiter="panel", recruiter_id="5f00aa", recruiter_session="s1"
    )
    images_add(study=study, files=[("owl.png", picture())])
    Judgment.objects.filter(pk=judgment.pk).update(signals={"stages": [1.25]}, seconds=10.123456789012345)
    Exclusion.objects.create(study=study, judgment=judgment, reason="too fast", created_by=owner)
    Adjudication.objects.create(
        study=study, item=item, by=owner, adjudicator=1, seat=1, response={"helpful": "no"}, digest="a" * 64
    )
    Review.objects.create(judgment=judgment, by=lee)
    Message.objects.create(study=study, rater=person.rater, kind="question", text="May I pause?", item=item)
    DataRequest.objects.create(study=study, rater=person.rater)
    Qualification.objects.create(
        workspace=study.workspace,
        rater=person.rater,
        hit_type=study.hit_type,
        granted_by=owner,
        reason="known",
    ).events.create(kind="granted", by=owner)
    PanelEvent.objects.create(
        study=study, event_id="e1", signature_digest="d" * 64, kind="k", subject="5f00aa", status="done", at=timezone.now(),
        participation=person, outcome="applied",
    )  # fmt: skip
    pay_and_decide(study, person, owner)
    now, document = timezone.now().replace(microsecond=0), plan_parse({"hypotheses": [H3]}).to_json()
    design = study_design(study)
    AnalysisPlan.objects.create(
        study=study,
        document=document,
        design=design,
        digest=sealed_digest(document, design, now),
        sealed_at=now,
    ).looks.create(by=lee, judgments=1, planned=4)
    run = Run.objects.get(study=study)
    Run.objects.filter(pk=run.pk).update(
        state="done", rater=make_rater("m", kind="simulator", source="simulator")
    )
    Endpoint.objects.update(key_variable="LAB_SECRET_KEY", headers={"X-Key": "hidden-header"})
    Call.objects.create(
        run=run,
        item=item,
        key=item.key,
        state="done",
        request={"messages": ["Hello"]},
        reply={"text": "yes"},
        text="yes",
        cost="0.00000123",
    )
    Study.objects.filter(pk=study.pk).update(state="closed", panel_secret_sealed="a sealed secret")
    study.refresh_from_db()
    release_compute(release_pk=release_create(report=stored(study), send=False).pk)
    return study
