"""Deletion of personal data: requests, the study's policy, repetition after a restore, and retention periods."""

from __future__ import annotations

import json
import logging
import secrets
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.mail import send_mail
from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext

from annotator.core.canonical import digest_of
from annotator.core.language import language_of_person
from annotator.models import (
    Assignment,
    AuditAction,
    DataRequest,
    Exclusion,
    Export,
    Judgment,
    LedgerEntry,
    Message,
    PanelEvent,
    PanelLink,
    Participation,
    Place,
    PlaceAlert,
    Qualification,
    Rater,
    Study,
    Tombstone,
    User,
)
from annotator.services.assignment import participation_release
from annotator.services.audit import audit_forget, audit_write

log = logging.getLogger(__name__)

#: The folder of tombstones in the file storage, for a database that is restored from an older backup without them.
FOLDER = "erasures"


@transaction.atomic
def data_request_open(*, participation: Participation) -> DataRequest:
    """Record that a participant asks for deletion; asking again returns the open request."""
    study, rater = participation.study, participation.rater
    request, made = DataRequest.objects.get_or_create(study=study, rater=rater, state=DataRequest.State.OPEN)
    if made:
        after = {"due": request.due_at.date()}
        audit_write(
            action=AuditAction.DELETION_ASKED,
            study=study,
            target=f"request {request.pk}",
            rater=rater,
            after=after,
        )
    return request


@transaction.atomic
def data_request_decline(*, request: DataRequest, by: User | None, note: str) -> DataRequest:
    """Decline a request; the participant sees the reason. Raises ``ValidationError`` without one, or if it's decided."""
    request = _open_request(request)
    if not note.strip():
        raise ValidationError({"note": "Give the reason. The participant will read it."})
    audit_write(
        action=AuditAction.DELETION_DECLINED, study=request.study, by=by, target=f"request {request.pk}",
        rater=request.rater_id, after={"reason": note.strip()},
    )  # fmt: skip
    return _decide(request, DataRequest.State.DECLINED, by=by, note=note.strip())


@transaction.atomic
def data_request_carry_out(*, request: DataRequest, by: User | None, note: str = "") -> DataRequest:
    """Remove the participant's data from the study by its policy. Raises ``ValidationError`` if it's decided already."""
    request = _open_request(request)
    study, rater = request.study, request.rater
    if rater is None:
        raise ValidationError("The data are gone already.")
    address = rater.user.email if rater.user else ""
    request = _decide(request, DataRequest.State.DONE, by=by, note=note.strip())
    erase(study=study, rater=rater, policy=study.erasure_policy, by=by, why=f"request {request.pk}")
    if address:
        with language_of_person(chosen=rater.user.language if rater.user else "", own=study.language):
            subject = gettext("Your data was removed")
            text = gettext(
                "Your data was removed from the study “{title}”, as you asked.\n\n"
                "If you have questions, write to the study's researchers."
            ).format(title=study.title)
        transaction.on_commit(
            lambda: _tell(address, subject, text)  # by then the address itself has been deleted
        )
    return request


def _tell(address: str, subject: str, text: str) -> None:
    send_mail(subject, text, None, [address], fail_silently=True)


def _open_request(request: DataRequest) -> DataRequest:
    request = DataRequest.objects.select_for_update(of=("self",)).select_related("study").get(pk=request.pk)
    if request.state != DataRequest.State.OPEN:
        raise ValidationError(f"This request is already {request.get_state_display()}.")
    return request


def _decide(request: DataRequest, state: str, *, by: User | None, note: str) -> DataRequest:
    request.state, request.decided_by, request.note = state, by, note
    request.decided_at = timezone.now()
    request.save()
    Message.objects.filter(
        study=request.study, rater=request.rater, kind=Message.Kind.DELETION, settled_at__isnull=True
    ).update(settled_at=request.decided_at)
    return request


# -- what is removed -----------------------------------------------------------------------------------


@transaction.atomic
def erase(*, study: Study, rater: Rater, policy: str, why: str = "", by: User | None = None) -> None:
    """Remove a rater's personal data from a study, and leave a tombstone. With the policy ``delete``, judgments, exam
    answers and consent are deleted too, and the places are free again. With ``anonymise`` they stay, under a new rater
    that nothing links to the person. Both delete messages, recruiters' ids, drafts, behaviour signals and finished
    exports; amounts that were paid stay in the ledger, without the name. The audit trail keeps its entries but no
    longer links them to the person. The account of a person with no other study is deleted too.
    """
    participation = Participation.objects.select_for_update().filter(study=study, rater=rater).first()
    if participation is not None:
        participation_release(participation=participation, reason="")
    _tombstone(study, rater, policy)
    audit_forget(study=study, rater=rater)
    audit_write(action=AuditAction.ERASED, study=study, by=by, target=why, after={"policy": policy})
    mine = {"study": study, "rater": rater}
    Message.objects.filter(**mine).delete()
    PlaceAlert.objects.filter(**mine).delete()
    held = Assignment.objects.filter(participation__study=study, rater=rater)
    Qualification.objects.filter(attempt__participation__in=_participations(mine)).update(attempt=None)
    if policy == Study.ErasurePolicy.DELETE:
        places = list(Place.objects.filter(assignment__in=held).values_list("pk", flat=True))
        Judgment.objects.filter(**mine).delete()
        Exclusion.objects.filter(**mine).delete()
        held.delete()
        Place.objects.filter(pk__in=places).update(assignment=None, freed=True)
        _participations(mine).delete()
        if LedgerEntry.objects.filter(**mine).exists():
            LedgerEntry.objects.filter(**mine).update(rater=_nobody())
    else:
        nobody = _nobody()
        _keep_stage_times(study, rater)
        for model in (Judgment, Exclusion, LedgerEntry):
            model._default_manager.filter(**mine).update(rater=nobody)
        held.update(rater=nobody, draft={}, reason="")
        _participations(mine).filter(state=Participation.State.ACTIVE).update(
            state=Participation.State.LEFT, finished_at=timezone.now()
        )
        PanelLink.objects.filter(participation__in=_participations(mine)).delete()
        PanelEvent.objects.filter(participation__in=_participations(mine)).delete()
        _participations(mine).update(
            rater=nobody, recruiter="", recruiter_id="", recruiter_session="", recruiter_verified=False,
            panel_status="", panel_status_at=None, join_parameters={},
        )  # fmt: skip
    _exports_remove(study)
    _person_remove(rater)


def _participations(mine: dict[str, Any]) -> Any:
    return Participation.objects.filter(**mine)


def _nobody() -> Rater:
    return Rater.objects.create(kind=Rater.Kind.HUMAN, source="erased", name=f"erased-{secrets.token_hex(6)}")


def _keep_stage_times(study: Study, rater: Rater) -> None:
    """Keep only the seconds on each stage, which statistics of time need."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE annotator_judgment SET signals = jsonb_strip_nulls(jsonb_build_object('stages', signals->'stages'))"
            " WHERE study_id = %s AND rater_id = %s",
            [study.pk, rater.pk],
        )
        cursor.execute(
            "UPDATE annotator_stagecommit c SET signals = '{}' FROM annotator_assignment a JOIN annotator_item i"
            " ON i.id = a.item_id WHERE a.id = c.assignment_id AND i.study_id = %s AND a.rater_id = %s",
            [study.pk, rater.pk],
        )


def _exports_remove(study: Study) -> None:
    files = list(Export.objects.filter(study=study).exclude(file="").values_list("file", flat=True))
    Export.objects.filter(study=study).delete()

    def remove() -> None:
        for name in files:
            default_storage.delete(name)

    transaction.on_commit(remove)


def _person_remove(rater: Rater) -> None:
    """Delete the rater and the account if no study has any of their data."""
    if rater.participations.exists() or rater.judgments.exists() or rater.ledger.exists():
        return
    user = rater.user
    rater.delete()
    if user is not None and not user.is_staff:
        user.delete()


# -- tombstones --------------------------------------------------------------------------------------


def _digest(rater: Rater) -> str:
    return digest_of([rater.pk, rater.created_at.isoformat()])


def _tombstone(study: Study, rater: Rater, policy: str) -> None:
    stone, _ = Tombstone.objects.get_or_create(
        study=study.pk, rater=rater.pk, digest=_digest(rater), defaults={"policy": policy}
    )
    transaction.on_commit(lambda: _file(stone))


def _file(stone: Tombstone) -> None:
    name = f"{FOLDER}/{stone.study}-{stone.rater}-{stone.digest[:16]}.json"
    if not default_storage.exists(name):
        fields = {"study": stone.study, "rater": stone.rater, "digest": stone.digest, "policy": stone.policy}
        default_storage.save(name, ContentFile(json.dumps(fields).encode()))


def erasures_replay() -> int:
    """Remove people again whom a restored backup brought back; returns how many. Reads the tombstones in the database
    and in the file storage. Run it after every restore, before users have access.
    """
    stones = {(one.study, one.rater, one.digest): one.policy for one in Tombstone.objects.all()}
    try:
        names = default_storage.listdir(FOLDER)[1]
    except FileNotFoundError:
        names = []
    for name in names:
        with default_storage.open(f"{FOLDER}/{name}") as file:
            one = json.load(file)
        stones.setdefault((one["study"], one["rater"], one["digest"]), one["policy"])
    again = 0
    for (study_pk, rater_pk, digest), policy in stones.items():
        study = Study.objects.filter(pk=study_pk).first()
        rater = Rater.objects.filter(pk=rater_pk).first()
        if study is None or rater is None or _digest(rater) != digest:
            continue
        if (
            _participations({"study": study, "rater": rater}).exists()
            or rater.judgments.filter(study=study).exists()
        ):
            erase(study=study, rater=rater, policy=policy, why="after a restore")
            again += 1
    return again


# -- by age ------------------------------------------------------------------------------------------


def retention_sweep() -> int:
    """Anonymise participants of studies that were closed longer ago than they keep personal data; returns how many."""
    for stone in Tombstone.objects.filter(at__gt=timezone.now() - timedelta(days=2)):
        _file(stone)  # a process may have died after the commit and before it wrote the file
    over = Participation.objects.filter(
        study__retention_days__isnull=False,
        study__closed_at__lt=timezone.now() - F("study__retention_days") * timedelta(days=1),
        rater__user__isnull=False,
        rater__rehearsal=False,
    )
    done = 0
    for participation in over.select_related("study", "rater").order_by("pk")[:1000]:
        erase(
            study=participation.study,
            rater=participation.rater,
            policy=Study.ErasurePolicy.ANONYMISE,
            why="end of the time to keep personal data",
        )
        done += 1
    if done:
        log.info("anonymised %s participants at the end of their studies' retention", done)
    return done
