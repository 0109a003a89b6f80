"""Decisions of the review desk: made by a person, held for a while, undone, and carried out here and at the panel.

Nothing is decided by itself. A decision that is held has told nobody, so undoing it leaves no trace but the audit trail's.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID, uuid4

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from annotator.core.jobs import lock_held
from annotator.models import (
    AuditAction,
    Judgment,
    PanelConnection,
    PanelEvent,
    Participation,
    ReviewDecision,
    Study,
    UnpaidWork,
    User,
)
from annotator.recruitment.api import PanelApi, PanelApiError, RemoteSubmission
from annotator.recruitment.registry import panel_get
from annotator.recruitment.webhooks import REJECTED
from annotator.selectors.owed import CENT
from annotator.selectors.panel_connection import connection_of
from annotator.selectors.review_desk import Desk, Submission, review_desk, undoable_until
from annotator.services.audit import audit_write, audit_write_each
from annotator.services.panel_connection import connection_api
from annotator.services.panel_events import event_apply
from annotator.services.payment import BONUS, bonus_give
from annotator.services.review import judgments_accept

log = logging.getLogger(__name__)

#: How long a decision is held before anybody is told.
HOLD = timedelta(minutes=5)
#: A decision that the panel couldn't take because of its own trouble is tried again after this time.
AGAIN = timedelta(minutes=5)
LONGEST_TEXT = 3_000
Kind = ReviewDecision.Kind


@transaction.atomic
def decisions_make(
    *,
    study: Study,
    by: User | None,
    raters: Sequence[int],
    kind: str,
    bonus: Decimal | None = None,
    text: str = "",
    category: str = "",
    term: str = "",
) -> list[ReviewDecision]:
    """Decide about submissions: accept them (with a ``bonus`` if one is given, in the study's currency), ask to return them,
    reject them for one of the panel's reasons (``category``), or leave work unpaid that meets a condition of the study's terms (``term``). All or none. ``text`` is the reason as participants read it.

    Raises ``ValidationError`` if one of them has a decision already, or if the panel's rules don't allow it.
    """
    # One at a time in a study: whoever decides second sees the first decision.
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    text = text.strip()
    _check(kind, bonus, text)
    wanted = list(dict.fromkeys(raters))
    if not wanted:
        raise ValidationError("Select at least one person.")
    desk = review_desk(study, raters=wanted)
    found = {submission.rater: submission for submission in desk.submissions}
    if len(found) < len(wanted):
        raise ValidationError("A selected person has no submission in this study.")
    for one in found.values():
        if fault := desk.fault(one, kind) or _reject_fault(desk, one, kind, text, category):
            raise ValidationError(fault)
    if kind == Kind.NOT_PAID and term not in desk.terms:
        raise ValidationError({"term": "Choose one of the conditions of the study's terms."})
    batch, now = uuid4(), timezone.now()
    ReviewDecision.objects.filter(participation__in=[one.pk for one in found.values()], in_force=True).update(
        in_force=False
    )
    made = ReviewDecision.objects.bulk_create(
        ReviewDecision(
            study=study, participation_id=one.pk, kind=kind, batch=batch, at_panel=desk.at_panel(one), bonus=bonus, text=text,
            category=category if kind == Kind.REJECT else "", term=term if kind == Kind.NOT_PAID else "", by=by, due_at=now + HOLD,
        )
        for one in found.values()
    )  # fmt: skip
    about = {"decision": kind} | ({"bonus": bonus, "currency": study.currency} if bonus else {})
    about |= {"reason": text} if text else {}
    about |= {"category": category} if kind == Kind.REJECT else {}
    about |= {"term": term} if kind == Kind.NOT_PAID else {}
    after = {
        one.rater: about | {"signs": [sign.kind for sign in one.evidence.signs]} for one in found.values()
    }
    audit_write_each(action=AuditAction.DECISION_MADE, study=study, by=by, after=after)
    return made


def _check(kind: str, bonus: Decimal | None, text: str) -> None:
    if kind not in Kind.values:
        raise ValidationError({"decision": f"Expected one of: {', '.join(Kind.values)}."})
    if len(text) > LONGEST_TEXT or "\x00" in text:
        raise ValidationError({"text": f"Use at most {LONGEST_TEXT:,} characters."})
    if bonus is not None and kind != Kind.ACCEPT:
        raise ValidationError({"bonus": "Only accepted work can get a bonus."})
    if bonus is not None and (not bonus.is_finite() or not BONUS.holds(bonus)):
        raise ValidationError({"bonus": BONUS.message})
    if bonus is not None and bonus != bonus.quantize(CENT):
        raise ValidationError({"bonus": "Give an amount in whole cents."})
    if (bonus is not None or kind != Kind.ACCEPT) and not text:
        raise ValidationError({"text": "Give a reason. The participant can read it."})


def _reject_fault(desk: Desk, one: Submission, kind: str, text: str, category: str) -> str:
    if kind != Kind.REJECT or desk.rules is None:
        return ""
    if category not in {reason.id for reason in desk.reasons(one)}:
        return f"{one.name}: {desk.panel_title} doesn't allow this reason for this submission. Choose one of those offered."
    if len(text) < desk.rules.least_text:
        return f"{desk.panel_title} asks for at least {desk.rules.least_text} characters that explain the rejection; these are {len(text)}."
    return ""


def decision_undo(*, decision: ReviewDecision, by: User | None) -> ReviewDecision:
    """Undo a decision, so that the submission waits again. Safe to call twice.

    One that is held has told nobody. A rejection that the panel knows is taken back there, while its rules allow that. Work that was left
    unpaid waits again, however long ago that was. Raises ``ValidationError`` for anything else that was carried out, and while it's being carried out.
    """
    stored = ReviewDecision.objects.select_related("study", "participation").get(pk=decision.pk)
    if stored.undone_at is not None:
        return stored
    done = stored.in_force and stored.done_at is not None and stored.kind != Kind.NOT_PAID
    remote = _taken_back(stored) if done else None
    with transaction.atomic():
        return _undo(decision.pk, by, remote)


def _undo(pk: int, by: User | None, remote: RemoteSubmission | None = None) -> ReviewDecision:
    """Note that a decision is undone; ``remote`` is the submission after a rejection was taken back at the panel."""
    row = _locked(pk)
    if row.undone_at is not None:
        return row
    if not row.in_force:
        raise ValidationError("Another decision has followed this one.")
    unpaid = row.kind == Kind.NOT_PAID and row.done_at is not None
    if row.started_at is not None and remote is None and not unpaid:
        raise ValidationError("This decision is being carried out, so it can't be undone now.")
    if remote is not None:
        _status_apply(row.participation, remote)
    row.unpaid_work.all().delete()
    row.undone_at, row.undone_by, row.in_force = timezone.now(), by, False
    row.save(update_fields=["undone_at", "undone_by", "in_force"])
    audit_write(
        action=AuditAction.DECISION_UNDONE, study=row.study, by=by, rater=row.participation.rater_id,
        before={"decision": row.kind, "carried out": row.done_at is not None},
    )  # fmt: skip
    return row


def _taken_back(decision: ReviewDecision) -> RemoteSubmission:
    """Take back at the panel what was carried out, and return the submission as it is there now. Raises ``ValidationError`` if the
    panel's rules don't allow it."""
    participation = decision.participation
    panel = panel_get(participation.recruiter)
    title = panel.title if panel else "The panel"
    if decision.kind == Kind.ACCEPT:
        raise ValidationError("The work was accepted, and the participant knows. That can't be undone.")
    if decision.kind == Kind.ASK_RETURN:
        raise ValidationError(f"{title} has asked the participant already. Make another decision instead.")
    until = undoable_until(decision, panel.review_rules if panel else None)
    if until is None or timezone.now() > until:
        raise ValidationError(f"{title} lets rejections be taken back only for a time, which is over.")
    if participation.panel_status not in ("", REJECTED):
        raise ValidationError(f"The submission isn't rejected on {title} any more.")
    connection = connection_of(decision.study)
    if connection is None:
        raise ValidationError(f"The workspace isn't connected to {title}. Connect it first.")
    try:
        return connection_api(connection).submission_unreject(participation.recruiter_session)
    except PanelApiError as error:
        raise ValidationError(str(error)) from None


def batch_undo(*, study: Study, batch: UUID, by: User | None) -> int:
    """Undo all decisions of one press, all or none; returns how many. Raises ``ValidationError`` as ``decision_undo`` does, and if
    there are none."""
    found = list(ReviewDecision.objects.filter(study=study, batch=batch, in_force=True).order_by("pk"))
    if not found:
        raise ValidationError("This decision was undone already.")
    if len(found) == 1:
        decision_undo(decision=found[0], by=by)
        return 1
    if any(one.done_at for one in found):
        raise ValidationError("Some of these decisions were carried out already. Undo them one by one.")
    with transaction.atomic():
        for one in found:
            _undo(one.pk, by)
    return len(found)


def last_batch(*, study: Study, by: User) -> tuple[UUID, list[ReviewDecision]] | None:
    """The person's latest decisions of one press that are still held; None if there are none."""
    mine = ReviewDecision.objects.filter(study=study, by=by, in_force=True, started_at=None, done_at=None)
    last = mine.order_by("-id").first()
    if last is None:
        return None
    return last.batch, list(mine.filter(batch=last.batch).select_related("participation__rater"))


def decisions_hurry(*, study: Study) -> int:
    """Let every decision of the study that is held be carried out as soon as possible, and those that the panel refused be tried
    again; returns how many."""
    return ReviewDecision.objects.filter(study=study, in_force=True, done_at=None).update(
        due_at=timezone.now()
    )


def decisions_carry_out(*, study: Study) -> int:
    """Carry out the study's decisions that are due; returns how many were. Safe to run twice, and to continue after it was killed:
    the panel ignores a decision that it knows, and work is accepted and a bonus given in the transaction that notes it."""
    due = ReviewDecision.objects.filter(study=study, in_force=True, done_at=None, due_at__lte=timezone.now())
    with lock_held("review decisions", study.pk) as mine:
        if not mine:
            return 0
        pks = list(due.order_by("pk").values_list("pk", flat=True))
        connection = connection_of(study) if pks else None
        return sum(_tried(pk, connection) for pk in pks)


def decisions_sweep() -> int:
    """Carry out every decision that is due, study by study; returns how many. One that fails doesn't keep others from their turn."""
    due = ReviewDecision.objects.filter(in_force=True, done_at=None, due_at__lte=timezone.now())
    studies = Study.objects.filter(pk__in=due.values("study"), deleted_at__isnull=True)
    return sum(decisions_carry_out(study=study) for study in studies.order_by("pk"))


def _tried(pk: int, connection: PanelConnection | None) -> bool:
    """Carry out a decision. One that fails unexpectedly is tried again by the next sweep, after the others."""
    try:
        return _carry_out(pk, connection)
    except ReviewDecision.DoesNotExist:  # the person's data were removed in this moment
        return False
    except Exception:
        log.exception("decision %s was not carried out", pk)
        return False


def _carry_out(pk: int, connection: PanelConnection | None) -> bool:
    with transaction.atomic():
        row = _locked(pk)
        if not row.in_force or row.done_at is not None:
            return False
        row.started_at = row.started_at or timezone.now()
        row.save(update_fields=["started_at"])
    remote = None
    if row.at_panel:
        try:
            if connection is None:
                raise PanelApiError("The workspace isn't connected to the panel any more. Connect it, or undo the decision.", status=400)  # fmt: skip
            remote = _tell(connection_api(connection), row)
        except PanelApiError as error:
            _failed(row, error)
            return False
    try:
        _done(pk, remote)
    except ValidationError as error:
        _failed(row, PanelApiError(" ".join(error.messages), status=400, uncertain=row.at_panel))
        return False
    return True


def _locked(pk: int) -> ReviewDecision:
    """The decision, locked after its study and before anything else, as a webhook locks."""
    study = ReviewDecision.objects.values_list("study", flat=True).get(pk=pk)
    Study.objects.select_for_update(no_key=True).only("pk").get(pk=study)
    found = ReviewDecision.objects.select_for_update(of=("self",)).select_related(
        "study", "by", "participation__rater"
    )
    return found.get(pk=pk)


def _tell(api: PanelApi, row: ReviewDecision) -> RemoteSubmission | None:
    submission = row.participation.recruiter_session
    if row.kind == Kind.ACCEPT:
        return api.submission_approve(submission)
    if row.kind == Kind.REJECT:
        return api.submission_reject(submission, reason=row.category, text=row.text)
    api.return_ask(submission, text=row.text)
    return None


def _failed(row: ReviewDecision, error: PanelApiError) -> None:
    """Note what went wrong. What the panel has refused waits for a person; everything else is tried again."""
    refused = 400 <= error.status < 500 and error.status not in (401, 403, 429)
    log.warning("a decision in %s was not carried out: %s", row.study.slug, error)
    ReviewDecision.objects.filter(pk=row.pk, done_at=None).update(
        fault=str(error)[:800],
        due_at=None if refused else timezone.now() + AGAIN,
        # Without a clear no, the panel may know it: it isn't undone, but tried again.
        started_at=None if 400 <= error.status < 500 and not error.uncertain else row.started_at,
    )


@transaction.atomic
def _done(pk: int, remote: RemoteSubmission | None) -> None:
    """What a decision changes here, and that it was carried out: both or neither."""
    row = _locked(pk)
    if row.done_at is not None:
        return
    participation = row.participation
    if remote is not None:
        _status_apply(participation, remote)
    accepted = 0
    if row.kind == Kind.ACCEPT:
        # What was submitted after the decision was seen by nobody.
        seen = Judgment.objects.filter(
            study=row.study, rater=participation.rater_id, source=Judgment.Source.WEB, created_at__lte=row.created_at
        )  # fmt: skip
        accepted = judgments_accept(judgments=seen, by=row.by)
        if row.bonus is not None:
            bonus_give(
                study=row.study, rater=participation.rater, by=row.by, amount=row.bonus, reason=row.text
            )
    left = _leave_unpaid(row) if row.kind == Kind.NOT_PAID else 0
    row.done_at, row.fault = timezone.now(), ""
    row.save(update_fields=["done_at", "fault"])
    audit_write(
        action=AuditAction.DECISION_DONE, study=row.study, by=row.by, rater=participation.rater_id,
        after={"decision": row.kind, "at the panel": row.at_panel, "judgments accepted": accepted}
        | ({"judgments not paid": left} if row.kind == Kind.NOT_PAID else {}),
    )  # fmt: skip


def _leave_unpaid(row: ReviewDecision) -> int:
    """Leave unpaid what the decision is about: work that was submitted before it and isn't accepted; returns how many judgments."""
    seen = Judgment.objects.filter(
        study=row.study, rater=row.participation.rater_id, source=Judgment.Source.WEB, created_at__lte=row.created_at,
        review__isnull=True, unpaid__isnull=True,
    )  # fmt: skip
    rows = seen.order_by().select_for_update(of=("self",), no_key=True).values_list("pk", flat=True)
    return len(UnpaidWork.objects.bulk_create(UnpaidWork(judgment_id=pk, decision=row) for pk in list(rows)))


def _status_apply(
    participation: Participation, remote: RemoteSubmission, *, at: datetime | None = None
) -> None:
    """Apply the status that the panel answered with, as a webhook about it would."""
    stored = Participation.objects.select_for_update(of=("self",)).get(pk=participation.pk)
    if remote.id == stored.recruiter_session and remote.status and remote.status != stored.panel_status:
        outcome = event_apply(participation=stored, status=remote.status, at=at or timezone.now())
        if outcome == PanelEvent.Outcome.OLDER:
            log.info("a status of %s was older than one that was known", stored.study_id)
