"""Exams: draw questions, grade answers, grant and revoke qualifications."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext

from annotator.core.allocation import exam_draw
from annotator.core.errors import Refused
from annotator.hit_types.base import FieldErrors, Question
from annotator.hit_types.registry import hit_type_get
from annotator.hit_types.wording import joined
from annotator.models import (
    AuditAction,
    ExamAnswer,
    ExamAttempt,
    ExamQuestion,
    Participation,
    Qualification,
    QualificationEvent,
    Rater,
    Study,
    User,
    Workspace,
)
from annotator.selectors.declared_type import names_in
from annotator.selectors.places import places_for
from annotator.selectors.qualification import attempts_at, may_work
from annotator.selectors.snapshot import snapshot_content
from annotator.selectors.study import study_hit_type
from annotator.services.assignment import participation_release
from annotator.services.audit import audit_write
from annotator.services.budget import budget_admits, pay_for_item


@transaction.atomic
def exam_start(*, participation: Participation) -> ExamAttempt:
    """The open attempt, or a new one.

    Raises ``Refused`` if no attempts are left (not_qualified), if it is too soon (not_now), or if the study has no task
    left for the person (no_places), so that nobody takes an exam for nothing.

    An open attempt at an earlier version of the study's exam is replaced by one at the current version.
    """
    Participation.objects.select_for_update().get(pk=participation.pk)
    rules = snapshot_content(participation.study.snapshot_id)
    every = participation.exam_attempts
    every.filter(submitted_at__isnull=True).exclude(exam_id=rules["exam"]).delete()
    attempts = attempts_at(participation)
    if attempts and attempts[-1].submitted_at is None:
        return attempts[-1]
    again = exam_retry_at(attempts=attempts, rules=rules)
    if again is None:
        raise Refused("not_qualified", gettext("You have used all your attempts at this study's exam."))
    if again > timezone.now():
        raise Refused(
            "not_now", gettext("You can take the exam again after {time} UTC.").format(time=f"{again:%H:%M}")
        )
    if places_for(participation).full:
        raise Refused("no_places", gettext("All tasks are taken at the moment, so the exam is closed."))
    first = not any(one.submitted_at for one in every.all())
    pay = Decimal(rules.get("exam_pay", "0")) if first else Decimal(0)
    task = pay_for_item(participation.study, participation.study.snapshot_id)
    # Whoever begins an exam should find a task afterwards, so there must be room for both.
    if not participation.rater.rehearsal and not budget_admits(study=participation.study, pay=pay + task):
        raise Refused("no_places", gettext("All tasks are taken at the moment, so the exam is closed."))
    questions = ExamQuestion.objects.filter(exam_id=rules["exam"]).values_list("key", "pool")
    seen = exam_questions_seen(rater_id=participation.rater_id, exam_id=rules["exam"])
    number = (every.aggregate(last=Max("number"))["last"] or 0) + 1
    rng = Random(f"exam {participation.study.seed} {participation.rater_id} {number}")
    return ExamAttempt.objects.create(
        participation=participation,
        exam_id=rules["exam"],
        number=number,
        pass_mark=rules["pass_mark"],
        offered=Decimal(rules.get("exam_pay", "0")),
        drawn=exam_draw(list(questions), count=rules["exam_questions"], rng=rng, seen=seen),
    )


def exam_questions_seen(*, rater_id: int, exam_id: int) -> set[str]:
    """Keys of the questions that a person has had in attempts at this exam version, in any study."""
    drawn = ExamAttempt.objects.filter(participation__rater_id=rater_id, exam_id=exam_id)
    return {key for keys in drawn.values_list("drawn", flat=True) for key in keys}


def exam_attempt_of(*, participation: Participation, pk: str) -> ExamAttempt:
    """The attempt that a submitted form belongs to; never creates one.

    Raises ``Refused`` (not_now) if the form names none of the person's attempts: the exam has changed since the page
    was opened, or the form is incomplete.
    """
    found = participation.exam_attempts.filter(pk=pk).first() if pk.isdecimal() and len(pk) < 19 else None
    rules = snapshot_content(participation.study.snapshot_id)
    if found is None or (found.submitted_at is None and found.exam_id != rules["exam"]):
        raise Refused(
            "not_now", gettext("This exam has changed since you opened the page. Open the exam again.")
        )
    return found


def exam_retry_at(*, attempts: list[ExamAttempt], rules: Mapping[str, Any]) -> datetime | None:
    """When the next attempt can start (a time in the past means now), or None if no attempts are left.

    ``attempts`` are those at the exam version of ``rules``.
    """
    if len(attempts) >= rules["exam_attempts"]:
        return None
    if not attempts or attempts[-1].submitted_at is None:
        return datetime.min.replace(tzinfo=timezone.now().tzinfo)
    return attempts[-1].submitted_at + timedelta(minutes=rules["exam_wait_minutes"])


def question_of(row: ExamQuestion) -> Question:
    """A stored exam question as the HIT type's own ``Question``."""
    return Question(row.key, row.payload, row.gold, row.reason, row.pool)


@transaction.atomic
def exam_submit(*, attempt: ExamAttempt, answers: Mapping[str, Mapping[str, Any]]) -> ExamAttempt:
    """Grade an attempt: ``answers`` maps question keys to raw responses. It is graded only once, even if it is sent
    again. Raises ``FieldErrors`` keyed by question if one is not answered; then nothing is stored.
    """
    # The person first, as everywhere, and never the study: a webhook about them locks the study before them, and nobody else in it waits.
    Participation.objects.select_for_update().get(pk=attempt.participation_id)
    rows = ExamAttempt.objects.select_for_update(of=("self",)).select_related("participation__study")
    attempt = rows.get(pk=attempt.pk)
    if attempt.submitted_at is not None:
        return attempt
    kind = study_hit_type(attempt.participation.study)
    questions = {question.key: question for question in attempt.exam.questions.filter(key__in=attempt.drawn)}
    errors: dict[str, str] = {}
    graded = []
    for key in attempt.drawn:
        question = questions[key]
        try:
            response = kind.parse_question(question.payload, question.gold, answers.get(key, {}))
        except FieldErrors as error:
            errors[key] = joined(error.errors.values())
            continue
        graded.append(
            ExamAnswer(
                attempt=attempt,
                question=question,
                response=response,
                right=kind.grade(response, question.gold).passed,
            )
        )
    if errors:
        raise FieldErrors(errors)
    ExamAnswer.objects.bulk_create(graded)
    attempt.score = sum(answer.right for answer in graded)
    attempt.submitted_at = timezone.now()
    attempt.pay = _exam_pay(attempt)
    attempt.save(update_fields=["score", "submitted_at", "pay"])
    if attempt.passed:
        qualification, made = Qualification.objects.get_or_create(
            workspace=attempt.participation.study.workspace,
            rater_id=attempt.participation.rater_id,
            hit_type=attempt.exam.hit_type,
            exam=attempt.exam,
            defaults={"attempt": attempt},
        )
        if made:
            _happened(qualification, QualificationEvent.Kind.PASSED, reason=f"{attempt.score} right")
    return attempt


def _exam_pay(attempt: ExamAttempt) -> Decimal:
    """The pay for submitting the exam: once per person, passed or not."""
    earlier = attempt.participation.exam_attempts.filter(submitted_at__isnull=False).exclude(pk=attempt.pk)
    if earlier.exists():
        return Decimal(0)
    now = Decimal(snapshot_content(attempt.participation.study.snapshot_id).get("exam_pay", "0"))
    return max(now, attempt.offered or Decimal(0))


def _happened(qualification: Qualification, kind: str, *, by: User | None = None, reason: str = "") -> None:
    QualificationEvent.objects.create(qualification=qualification, kind=kind, by=by, reason=reason)


@transaction.atomic
def qualification_grant(
    *, rater: Rater, hit_type: str, workspace: Workspace | None, by: User | None, reason: str = ""
) -> Qualification:
    """Grant a person a qualification in a workspace, for every exam version of the type; a revoked grant is renewed.

    Who did what, when and why is kept in the qualification's events. Raises ``KeyError`` for a type that neither Foretell nor the workspace
    nor one of its studies has.
    """
    of_workspace = hit_type in names_in(workspace.pk if workspace else None)
    if not of_workspace and not Study.objects.filter(workspace=workspace, hit_type=hit_type).exists():
        hit_type_get(hit_type)
    qualification, made = Qualification.objects.select_for_update().get_or_create(
        rater=rater,
        workspace=workspace,
        hit_type=hit_type,
        exam=None,
        defaults={"granted_by": by, "reason": reason},
    )
    if not made and qualification.revoked_at is None:
        return qualification
    if not made:
        qualification.revoked_at = None
        qualification.granted_by = by
        qualification.granted_at = timezone.now()
        qualification.reason = reason
        qualification.save()
    _happened(qualification, QualificationEvent.Kind.GRANTED, by=by, reason=reason)
    audit_write(
        action=AuditAction.QUALIFICATION_GRANTED, workspace=workspace, by=by, target=hit_type, rater=rater,
        after={"reason": reason},
    )  # fmt: skip
    return qualification


@transaction.atomic
def qualification_revoke(
    *, qualification: Qualification, reason: str, by: User | None = None
) -> Qualification:
    """Revoke a qualification. The person's open tasks of that type in its workspace are released, unless another
    qualification (such as a grant) still allows them to work. Revoking twice changes nothing.
    """
    if not reason.strip():
        raise Refused("not_now", "Give the reason.")
    qualification = Qualification.objects.select_for_update(of=("self",)).get(pk=qualification.pk)
    if qualification.revoked_at is not None:
        return qualification
    qualification.revoked_at = timezone.now()
    qualification.reason = reason.strip()
    qualification.save(update_fields=["revoked_at", "reason"])
    _happened(qualification, QualificationEvent.Kind.REVOKED, by=by, reason=reason.strip())
    audit_write(
        action=AuditAction.QUALIFICATION_REVOKED, workspace=qualification.workspace, by=by,
        target=qualification.hit_type, rater=qualification.rater_id, after={"reason": reason.strip()},
    )  # fmt: skip
    affected = Participation.objects.filter(
        rater=qualification.rater, study__workspace=qualification.workspace_id
    )
    for participation in affected.select_related("study"):
        if participation.study.snapshot_id and not may_work(participation):
            participation_release(participation=participation, reason="qualification revoked")
    return qualification
