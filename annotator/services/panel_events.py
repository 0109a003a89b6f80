"""What a panel's webhooks change: a submission that was returned or timed out frees its places at once."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac

from annotator.core.sealed import Unreadable, resealed, seal, unseal
from annotator.models import (
    AuditAction,
    Exclusion,
    PanelConnection,
    PanelEvent,
    PanelLink,
    Participation,
    RejectedWork,
    Study,
    User,
)
from annotator.recruitment.registry import panel_get
from annotator.recruitment.webhooks import (
    ENDED,
    REJECTED,
    STUDY_CHANGED,
    SUBMISSION_CHANGED,
    Webhook,
    status_rank,
)
from annotator.selectors.panel import panel_studies
from annotator.services.assignment import participation_release
from annotator.services.audit import audit_write
from annotator.services.collect_again import collecting_fault
from annotator.services.exclusion import exclusion_lift, exclusion_make
from annotator.services.screen_outs import screen_out_apply

log = logging.getLogger(__name__)

PURPOSE = "panel webhooks"
#: How long an event is kept that isn't about anybody in the study: somebody may join right after it.
UNKNOWN_KEPT = timedelta(days=30)
Outcome = PanelEvent.Outcome


@transaction.atomic
def panel_secret_set(*, study: Study, by: User | None, secret: str) -> Study:
    """Store the secret that signs the panel's webhooks, or its links where it's shared for those, encrypted; an empty one stops
    accepting them. Raises ``ValidationError``."""
    study = Study.objects.select_for_update().get(pk=study.pk)
    secret = secret.strip()
    if secret and not (16 <= len(secret) <= 500 and secret.isascii() and secret.isprintable()):
        panel = panel_get(study.panel)
        if panel is not None and panel.shared_secret:
            raise ValidationError({"secret": "Use 16 to 500 letters, digits and signs of ASCII."})
        sender = f"{panel.title}'s API" if panel else "the panel"
        raise ValidationError({"secret": f"Expected the whole secret, as {sender} returned it."})
    before, study.panel_secret_sealed = (
        bool(study.panel_secret_sealed),
        seal(secret, purpose=PURPOSE) if secret else "",
    )
    study.save(update_fields=["panel_secret_sealed"])
    audit_write(
        action=AuditAction.STUDY_CHANGED, study=study, by=by, before={"panel's secret set": before},
        after={"panel's secret set": bool(secret)},
    )  # fmt: skip
    return study


def panel_secret(study: Study) -> str:
    """The secret of a study's webhooks: its own, or that of its workspace's connection to the panel. Empty if none is set, or
    if no secret key can read it."""
    sealed = study.panel_secret_sealed
    if not sealed:
        connection = PanelConnection.objects.filter(workspace=study.workspace_id, panel=study.panel).first()
        sealed = connection.secret_sealed if connection is not None else ""
    if not sealed:
        return ""
    try:
        return unseal(sealed, purpose=PURPOSE)
    except Unreadable as error:
        log.error("the webhook secret of %s can't be read: %s", study.slug, error)
        return ""


@transaction.atomic
def panel_secrets_rotate(*, dry_run: bool = False) -> tuple[int, list[str]]:
    """Encrypt every webhook secret with the newest ``SECRET_KEY``; returns how many were changed, and the studies and workspaces
    whose secret no key can decrypt."""
    changed, unreadable = 0, []
    rows: list[tuple[Any, str, str]] = [
        (study, "panel_secret_sealed", study.slug)
        for study in Study.objects.select_for_update().exclude(panel_secret_sealed="").order_by("pk")
    ]
    connections = PanelConnection.objects.select_for_update(of=("self",)).select_related("workspace")
    rows += [
        (connection, "secret_sealed", str(connection))
        for connection in connections.exclude(secret_sealed="").order_by("pk")
    ]
    for row, name, title in rows:
        before = getattr(row, name)
        try:
            sealed = resealed(before, purpose=PURPOSE)
        except Unreadable:
            unreadable.append(title)
            continue
        if sealed != before:
            changed += 1
            if not dry_run:
                type(row).objects.filter(pk=row.pk).update(**{name: sealed})
    return changed, unreadable


def submission_digest(submission: str) -> str:
    """What an event keeps of a submission's id: enough to recognise it, too little to look it up at the panel."""
    return salted_hmac("annotator.panel_submission", submission, algorithm="sha256").hexdigest()


@transaction.atomic
def panel_event_receive(*, study: Study, event: Webhook) -> PanelEvent | None:
    """Process a verified webhook once, also if it arrives twice at the same moment; None for a repetition.

    Events may arrive in any order: one that happened before the latest known one changes nothing.
    """
    about_person = event.kind == SUBMISSION_CHANGED
    # First of all, because a rejection excludes work, and whoever withdraws an item locks the study before its tasks.
    Study.objects.select_for_update(no_key=True).only("pk").get(pk=study.pk)
    subject = submission_digest(event.subject) if about_person else event.subject
    row = PanelEvent(
        study=study, event_id=event.event_id, signature_digest=event.signature_digest, kind=event.kind, subject=subject,
        status=event.status, at=event.at, outcome=Outcome.UNKNOWN,
    )  # fmt: skip
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        return None
    if about_person:
        row.participation = _participation(study, event)
        if row.participation is not None:
            row.outcome = event_apply(participation=row.participation, status=event.status, at=event.at)
    elif event.kind == STUDY_CHANGED and event.subject in panel_studies(study):
        row.outcome = Outcome.APPLIED
    row.save(update_fields=["participation", "outcome"])
    return row


def _participation(study: Study, event: Webhook) -> Participation | None:
    """The participation with this submission, locked; None if there is none, or if its participant is another one."""
    found = (
        Participation.objects.select_for_update(of=("self",))
        .filter(study=study, recruiter=study.panel, recruiter_session=event.subject)
        .exclude(recruiter_session="")
        .first()
    )
    if found is not None and event.person not in ("", found.recruiter_id):
        log.warning("a webhook of %s names another participant than the one of its submission", study.slug)
        return None
    return found


def event_apply(*, participation: Participation, status: str, at: datetime) -> str:
    """Apply a submission's new status to its participation, which the caller has locked; returns the outcome.

    A submission that has ended (returned, timed out, rejected) releases the person's open tasks, and they leave the
    study. If they had finished, this is only noted. If the submission continues after all, so do they. What a rejected
    submission means for the statistics is a setting of the study (``rejected_work``). A screen-out that the panel has paid is booked.
    """
    latest = participation.panel_status_at
    if latest is not None and (at, status_rank(status)) < (latest, status_rank(participation.panel_status)):
        return Outcome.OLDER
    had_ended, before = participation.panel_ended, participation.panel_status
    finished = participation.finished_at is not None and participation.state == Participation.State.ACTIVE
    participation.panel_status, participation.panel_status_at = status, at
    if status in ENDED and participation.state == Participation.State.ACTIVE and not finished:
        participation_release(participation=participation, reason=f"submission {status.lower()}")
        participation.state, participation.finished_at = Participation.State.LEFT, timezone.now()
    elif status not in ENDED and had_ended and participation.state == Participation.State.LEFT:
        participation.state, participation.finished_at = Participation.State.ACTIVE, None
    participation.save(update_fields=["panel_status", "panel_status_at", "state", "finished_at"])
    _rejection_apply(participation, rejected=status == REJECTED)
    screen_out_apply(participation=participation, before=before)
    return Outcome.NOTED if status in ENDED and finished else Outcome.APPLIED


def _rejection_apply(participation: Participation, *, rejected: bool) -> None:
    """Exclude the work of a rejected submission, as the study says; lift that exclusion if the rejection is taken back. What
    researchers exclude or lift themselves stays as it is."""
    panel = panel_get(participation.recruiter)
    reason = f"submission rejected on {panel.title if panel else participation.recruiter}"
    mine = Exclusion.objects.filter(
        study_id=participation.study_id, rater_id=participation.rater_id, lifted_at__isnull=True
    )
    if not rejected:
        for exclusion in mine.filter(reason=reason, created_by=None):
            exclusion_lift(exclusion=exclusion)
        return
    study = Study.objects.select_for_update().get(pk=participation.study_id)
    if study.rejected_work != RejectedWork.KEEP and not mine.exists():
        again = study.rejected_work == RejectedWork.AGAIN and not collecting_fault(study)
        exclusion_make(study=study, by=None, reason=reason, rater=participation.rater, collect_again=again)


def panel_sweep() -> int:
    """Delete links that have expired, and old events about nobody in their study; returns how many."""
    now = timezone.now()
    links, _ = PanelLink.objects.filter(expires_at__lt=now - timedelta(days=1)).delete()
    events, _ = PanelEvent.objects.filter(
        participation=None, outcome=Outcome.UNKNOWN, received_at__lt=now - UNKNOWN_KEPT
    ).delete()
    return links + events
