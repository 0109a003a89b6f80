"""Deletion of personal data: requests, the study's policy, repetition after a restore, and retention periods."""

from __future__ import annotations

import json
import logging
import secrets
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.files.storage import default_storage
from django.core.mail import send_mail
from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext

from annotator.core.canonical import digest_of
from annotator.core.kept_elsewhere import forget_elsewhere, remains_elsewhere
from annotator.core.language import language_of_person
from annotator.core.stored_files import PARTIAL, file_store_whole
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
    PersonalLink,
    Place,
    PlaceAlert,
    Qualification,
    QuestionnaireAnswer,
    Rater,
    ReviewDecision,
    Study,
    Tombstone,
    User,
)
from annotator.services.assignment import participation_release
from annotator.services.audit import audit_forget, audit_write
from annotator.services.erasure_texts import identifiers_of, names_remove

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
def data_request_carry_out(*, request: DataRequest, by: User | None, note: str = "") -> list[str]:
    """Remove the participant's data from the study by its policy. Returns what remains of them, as ``erase`` does. Raises
    ``ValidationError`` if it's decided already."""
    request = _open_request(request)
    study, rater = request.study, request.rater
    if rater is None:
        raise ValidationError("The data have already been deleted.")
    address = rater.user.email if rater.user else ""
    request = _decide(request, DataRequest.State.DONE, by=by, note=note.strip())
    remains = erase(study=study, rater=rater, policy=study.erasure_policy, by=by, why=f"request {request.pk}")
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
    return remains


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


@dataclass(frozen=True)
class _Removed:
    """Somebody whose rows were removed: how they were known, and the name under which their answers are now (empty if they were
    deleted). ``name`` is empty if several people had it."""

    identifiers: set[str]
    name: str
    now: str


@transaction.atomic
def erase(*, study: Study, rater: Rater, policy: str, why: str = "", by: User | None = None) -> list[str]:
    """Remove a rater's personal data from a study, and leave a tombstone. With the policy ``delete``, judgments, exam
    answers and consent are deleted too, and the places are free again. With ``anonymise`` they stay, under a new rater
    that nothing links to the person. Both delete messages, recruiters' ids, drafts, behaviour signals and finished
    exports, and take the person's names out of the texts that stay; amounts that were paid stay in the ledger, without
    the name. The audit trail keeps its entries but no longer links them to the person. The account of a person with no
    other study is deleted too.

    Returns what remains in sentences: releases that were made before, and items whose material has the name.
    """
    return erase_all(study=study, raters=[rater], policy=policy, why=why, by=by)


@transaction.atomic
def erase_all(
    *, study: Study, raters: Sequence[Rater], policy: str, why: str = "", by: User | None = None
) -> list[str]:
    """``erase`` for several raters of a study, whose texts are read once."""
    remains = [text for rater in raters for text in remains_elsewhere(study=study.pk, rater=rater.pk)]
    removed = [_rows_remove(study, rater, policy, why, by) for rater in raters]
    clean, left = names_remove(study=study, identifiers={name for one in removed for name in one.identifiers})
    names = {one.name: one.now for one in removed if one.name}
    forget_elsewhere(study=study.pk, names=names, clean=clean)
    return list(dict.fromkeys([*remains, *left]))


def _rows_remove(study: Study, rater: Rater, policy: str, why: str, by: User | None) -> _Removed:
    known = _Removed(identifiers_of(study=study, rater=rater), "" if rater.is_numbered else rater.name, "")
    nobody = _nobody() if policy == Study.ErasurePolicy.ANONYMISE else None
    participation = Participation.objects.select_for_update().filter(study=study, rater=rater).first()
    if participation is not None:
        participation_release(participation=participation, reason="")
        if participation.recruiter_id:  # their link stops working, too
            PersonalLink.objects.filter(study=study, person=participation.recruiter_id).delete()
    _tombstone(study, rater, policy)
    audit_forget(study=study, rater=rater)
    audit_write(action=AuditAction.ERASED, study=study, by=by, target=why, after={"policy": policy})
    mine = {"study": study, "rater": rater}
    Message.objects.filter(**mine).delete()
    PlaceAlert.objects.filter(**mine).delete()
    QuestionnaireAnswer.objects.filter(participation__in=_participations(mine)).delete()
    ReviewDecision.objects.filter(
        participation__in=_participations(mine), in_force=True, done_at=None
    ).update(in_force=False, undone_at=timezone.now())
    held = Assignment.objects.filter(participation__study=study, rater=rater)
    Qualification.objects.filter(attempt__participation__in=_participations(mine)).update(attempt=None)
    if nobody is None:
        places = list(Place.objects.filter(assignment__in=held).values_list("pk", flat=True))
        replaced = list(
            Place.objects.filter(pk__in=places, judgment__replacement__isnull=False).values_list(
                "pk", flat=True
            )
        )
        Judgment.objects.filter(**mine).delete()
        Exclusion.objects.filter(**mine).delete()
        held.delete()
        Place.objects.filter(pk__in=replaced).delete()  # somebody else has been asked instead already
        Place.objects.filter(pk__in=places).update(assignment=None, freed=True)
        _participations(mine).delete()
        if LedgerEntry.objects.filter(**mine).exists():
            LedgerEntry.objects.filter(**mine).update(rater=_nobody())
    else:
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
    return replace(known, now=nobody.name if nobody else "")


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
    return _digest_of(rater.pk, rater.created_at.isoformat())


def _digest_of(number: int, made: str) -> str:
    return digest_of([number, made])


def _tombstone(study: Study, rater: Rater, policy: str) -> None:
    stone, _ = Tombstone.objects.get_or_create(
        study=study.pk, rater=rater.pk, digest=_digest(rater), defaults={"policy": policy}
    )
    transaction.on_commit(lambda: _file(stone))


def _file(stone: Tombstone) -> None:
    name = f"{FOLDER}/{stone.study}-{stone.rater}-{stone.digest[:16]}.json"
    if not default_storage.exists(name):
        fields = {"study": stone.study, "rater": stone.rater, "digest": stone.digest, "policy": stone.policy}
        file_store_whole(name, json.dumps(fields).encode())


def erasures_replay() -> int:
    """Remove people again whom a restored backup brought back; returns how many. Reads the tombstones in the database
    and in the file storage. Run it after every restore, before users have access.
    """
    again, waiting = 0, defaultdict(list)
    for (study_pk, rater_pk, digest), policy in _tombstones().items():
        study = Study.objects.filter(pk=study_pk).first()
        rater = Rater.objects.filter(pk=rater_pk).first()
        if study is None or rater is None or _digest(rater) != digest:
            continue
        if (
            _participations({"study": study, "rater": rater}).exists()
            or rater.judgments.filter(study=study).exists()
        ):
            waiting[study, policy].append(rater)
            again += 1
    for (study, policy), raters in waiting.items():
        erase_all(study=study, raters=raters, policy=policy, why="after a restore")
    return again


def erasures_repeat(*, study: Study, before: int, raters: Mapping[tuple[int, str], int]) -> int:
    """Remove people again from a study that was restored under another number than it had ``before``; returns how many.

    ``raters`` maps the number that a rater had, and when it was made, to the number that it has now.
    """
    numbers = {(rater, _digest_of(rater, made)): now for (rater, made), now in raters.items()}
    waiting = defaultdict(list)
    for (study_pk, rater_pk, digest), policy in _tombstones().items():
        if study_pk == before and (rater_pk, digest) in numbers:
            waiting[policy].append(numbers[rater_pk, digest])
    for policy, pks in waiting.items():
        found = list(Rater.objects.filter(pk__in=pks).order_by("pk"))
        erase_all(study=study, raters=found, policy=policy, why="after a restore")
    return sum(map(len, waiting.values()))


def _tombstones() -> dict[tuple[int, int, str], str]:
    """The policy of each deletion: those in the database, and those in the file storage."""
    stones = {
        (tombstone.study, tombstone.rater, tombstone.digest): tombstone.policy
        for tombstone in Tombstone.objects.all()
    }
    try:
        names = [one for one in default_storage.listdir(FOLDER)[1] if not one.endswith(PARTIAL)]
    except FileNotFoundError:
        names = []
    for name in names:
        with default_storage.open(f"{FOLDER}/{name}") as file:
            one = json.load(file)
        stones.setdefault((one["study"], one["rater"], one["digest"]), one["policy"])
    return stones


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
    done, of_study = 0, defaultdict(list)
    for participation in over.select_related("study", "rater").order_by("pk")[:1000]:
        of_study[participation.study].append(participation.rater)
    for study, raters in of_study.items():
        erase_all(
            study=study,
            raters=raters,
            policy=Study.ErasurePolicy.ANONYMISE,
            why="end of the time to keep personal data",
        )
        done += len(raters)
    if done:
        log.info("anonymised %s participants at the end of their studies' retention", done)
    return done
