"""Create, launch, change, pause, resume and close a study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.db.models import Count
from django.utils import timezone

from annotator.core.allocation import seeded_order
from annotator.core.canonical import digest_of
from annotator.core.words import plural
from annotator.hit_types.base import Question
from annotator.hit_types.registry import hit_type_get
from annotator.models import (
    AuditAction,
    Exam,
    ExamQuestion,
    Instance,
    Item,
    Membership,
    Place,
    Snapshot,
    Study,
    User,
    Workspace,
)
from annotator.selectors.study import study_hit_type
from annotator.selectors.study_texts import original_digests, original_texts
from annotator.services.audit import audit_change, audit_write
from annotator.services.study_check import study_clean
from annotator.services.study_translations import translated_from
from annotator.services.workspace import workspace_personal

#: The fields of a study that a snapshot contains. Changing any of them makes a new version.
FROZEN_FIELDS = (
    "title",
    "hit_type",
    "variant",
    "summary",
    "contact",
    "redundancy",
    "seed",
    "lease_minutes",
    "max_items_per_rater",
    "one_condition_per_instance",
    "consent_text",
    "practice_required",
    "exam_required",
    "exam_questions",
    "pass_mark",
    "exam_attempts",
    "exam_wait_minutes",
    "exam_feedback",
    "exam_key_early",
    "revoked_work",
    "erasure_policy",
    "retention_days",
    "requires",
    "currency",
    "minutes_per_item",
    "min_seconds",
    "undo_seconds",
)


def study_create(
    *,
    by: User | None,
    hit_type: str,
    slug: str,
    title: str,
    workspace: Workspace | None = None,
    **fields: Any,
) -> Study:
    """Create a draft study with the HIT type's defaults; ``by`` becomes its owner.

    It belongs to ``workspace``, by default the personal one of ``by``; to none if neither is given (on the command
    line). Raises ``ValidationError`` for an unknown type, a taken slug or a value out of range.
    """
    try:
        kind = hit_type_get(hit_type)
    except KeyError as error:
        raise ValidationError({"hit_type": str(error.args[0])}) from None
    defaults = kind.defaults
    values: dict[str, Any] = {
        "redundancy": defaults.redundancy,
        "exam_required": defaults.exam_questions > 0,
        "exam_questions": defaults.exam_questions,
        "pass_mark": defaults.pass_mark,
        "minutes_per_item": defaults.minutes_per_item,
        "min_seconds": defaults.min_seconds,
        "one_condition_per_instance": defaults.one_condition_per_instance,
    }
    with transaction.atomic():
        if workspace is None and by is not None:
            workspace = workspace_personal(user=by)
        study = Study(workspace=workspace, hit_type=hit_type, slug=slug, title=title, **(values | fields))
        study_clean(study)
        study.save()
        if study.translations:
            study.translated_from = translated_from(study, before={}, originals={})
            study.save(update_fields=["translated_from"])
        if by is not None:
            Membership.objects.create(study=study, user=by, role=Membership.Role.OWNER)
        about = {"slug": slug, "title": title, "hit_type": hit_type}
        audit_write(action=AuditAction.STUDY_CREATED, study=study, by=by, after=about)
    return study


@transaction.atomic
def study_launch(*, study: Study, by: User | None = None) -> Snapshot:
    """Freeze the study and open it: create the snapshot and each item's k places. Raises ``ValidationError``."""
    study = Study.objects.select_for_update().get(pk=study.pk)
    if study.state != Study.State.DRAFT:
        raise ValidationError(f"The study is {study.state}; only a draft can be launched.")
    faults = launch_faults(study)
    if faults:
        raise ValidationError(faults)
    snapshot = snapshot_freeze(study=study, by=by)
    places_make(study=study)
    study.snapshot = snapshot
    study.state = Study.State.LIVE
    study.launched_at = timezone.now()
    study.save(update_fields=["snapshot", "state", "launched_at"])
    audit_write(action=AuditAction.STUDY_LAUNCHED, study=study, by=by, after={"version": snapshot.number})
    return snapshot


def launch_faults(study: Study) -> list[str]:
    """Every reason why the study cannot be launched yet, and what to do about it."""
    kind = study_hit_type(study)
    faults = []
    if kind.external:
        faults.append("Its labels are collected elsewhere. Import judgments; it can't be launched.")
    if not study.items.filter(withdrawn_at__isnull=True).exists():
        faults.append("There are no items yet. Import material first.")
    return faults + exam_faults(study) + pay_faults(study)


def pay_faults(study: Study) -> list[str]:
    """The fault if the study would pay less per hour than its own minimum, at its estimated minutes per item."""
    per_hour = pay_per_hour_planned(study)
    if per_hour >= float(study.pay_floor_per_hour):
        return []
    return [
        f"The estimated pay is {per_hour:.2f} {study.currency} an hour, below the floor of"
        f" {study.pay_floor_per_hour}. Raise the pay or correct the minutes per item."
    ]


def launch_warnings(study: Study) -> list[str]:
    """What a researcher should know before the launch. Warnings don't prevent it."""
    warnings = []
    if not study.one_condition_per_instance:
        shared = (
            study.items.filter(withdrawn_at__isnull=True, instance__isnull=False)
            .order_by()
            .values("instance")
            .annotate(conditions=Count("condition", distinct=True))
            .filter(conditions__gt=1)
            .count()
        )
        if shared:
            warnings.append(
                f"{plural(shared, 'instance')} {'has' if shared == 1 else 'have'} items of several conditions, and one rater"
                " may see more than one of them. To prevent that, turn on “One condition per instance”."
            )
    return warnings


def pay_per_hour_planned(study: Study) -> float:
    """The pay for an item divided by its estimated time, in the study's currency per hour."""
    return float(study.pay_per_item) * 60 / study.minutes_per_item


def exam_faults(study: Study) -> list[str]:
    """Reasons why nobody could take the study's exam with these settings."""
    if not study.exam_required:
        return []
    count = len(study_hit_type(study).exam)
    if count < study.exam_questions:
        return [f"The exam asks {study.exam_questions} questions but has only {count}."]
    shown_early = study.exam_feedback and study.exam_key_early and study.exam_attempts > 1
    if shown_early and count < 2 * study.exam_questions:
        return [
            f"The exam shows its correct answers while attempts are left, so it needs other questions for the next"
            f" attempt: at least {2 * study.exam_questions}. It has {count}. Add questions, or show the answers later."
        ]
    if study.exam_questions == 0:
        return [
            "An exam is required but has no questions. Set the number of questions, or don't require an exam."
        ]
    return []


def snapshot_freeze(*, study: Study, by: User | None) -> Snapshot:
    """Freeze the study's current state in a snapshot identified by its content; the same content gives the same row."""
    kind = study_hit_type(study)
    exam = exam_version(study.hit_type, kind.exam) if study.exam_required else None
    content: dict[str, Any] = {name: getattr(study, name) for name in FROZEN_FIELDS}
    content |= {
        "pay_per_item": str(study.pay_per_item),
        "exam_pay": str(study.exam_pay),
        "hit_type_version": kind.version,
        "instructions": study.instructions_text or kind.instructions,
        "practice": [vars(question) for question in kind.practice],
        "exam": exam.pk if exam else None,
        "exam_digest": exam.digest if exam else "",
        "items": study.items.filter(withdrawn_at__isnull=True).count(),
        "items_digest": items_digest(study),
    }
    if study.translations:  # a study without any keeps the digest that it always had
        content["translations"] = study.translations
    digest = digest_of(content)
    number = Snapshot.objects.filter(study=study).count() + 1
    snapshot, _ = Snapshot.objects.get_or_create(
        study=study, digest=digest, defaults={"content": content, "number": number, "created_by": by}
    )
    return snapshot


def items_digest(study: Study) -> str:
    """The digest of all items that can be given out: the key, payload, gold and role of each, in the order of their
    keys."""
    given = study.items.filter(withdrawn_at__isnull=True)
    rows = given.order_by("key").values_list("key", "payload", "gold", "role").iterator(chunk_size=5000)
    return digest_of([digest_of(row) for row in rows])


def exam_version(hit_type: str, exam: Sequence[Question]) -> Exam:
    """The exam version with these questions, created once for each content."""
    questions = [vars(question) for question in exam]
    version, made = Exam.objects.get_or_create(hit_type=hit_type, digest=digest_of(questions))
    if made:
        ExamQuestion.objects.bulk_create(
            ExamQuestion(exam=version, number=number, **question)
            for number, question in enumerate(questions, 1)
        )
    return version


def places_make(*, study: Study, first: int = 1) -> None:
    """Create every item's places from number ``first`` to ``study.redundancy``, by COPY: a million take seconds."""
    items = list(study.items.filter(withdrawn_at__isnull=True).order_by("id").values_list("id", "key"))
    positions = seeded_order([key for _, key in items], seed=study.seed)
    with connection.cursor() as cursor:
        copy = cursor.copy(
            f"COPY {Place._meta.db_table} (study_id, item_id, number, position, freed) FROM STDIN"
        )
        with copy as rows:
            for (item, _), position in zip(items, positions, strict=True):
                for number in range(first, study.redundancy + 1):
                    # Annotators may have passed these positions already, so places added later are offered first.
                    rows.write_row((study.pk, item, number, position, first > 1))
        tables = ", ".join(model._meta.db_table for model in (Place, Item, Instance))
        cursor.execute(f"ANALYZE {tables}")


@transaction.atomic
def study_update(*, study: Study, by: User | None = None, **changes: Any) -> Study:
    """Change a study. While it is live or paused, the change makes a new version of its snapshot.

    After the launch, the HIT type, the seed and the currency can't be changed, the raters per item and the minimum pay
    can only grow, and the pay must stay above the minimum. A change of pay applies to tasks that are given out from
    then on. Raises ``ValidationError``.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    if study.state == Study.State.CLOSED:
        raise ValidationError("The study is closed and can't be changed.")
    before, floor = study.redundancy, study.pay_floor_per_hour
    was = {name: getattr(study, name) for name in changes}
    translations = study.translations
    originals = original_digests(original_texts(study)) if translations else {}
    launched = study.state != Study.State.DRAFT
    for name, value in changes.items():
        if (
            launched
            and name in ("hit_type", "variant", "seed", "slug", "currency")
            and value != getattr(study, name)
        ):
            raise ValidationError({name: "This can't be changed after the launch."})
        setattr(study, name, value)
    if launched and study.redundancy < before:
        raise ValidationError({"redundancy": f"It was {before}. After the launch it can only grow."})
    study_clean(study)
    study.translated_from = translated_from(study, before=translations, originals=originals)
    if launched and study.pay_floor_per_hour < floor:
        raise ValidationError({"pay_floor_per_hour": f"It was {floor}. After the launch it can only grow."})
    if launched:
        faults = exam_faults(study) + pay_faults(study)
        if faults:
            raise ValidationError(faults)
    study.save()
    if launched:
        if study.redundancy > before:
            places_make(study=study, first=before + 1)
        study.snapshot = snapshot_freeze(study=study, by=by)
        study.save(update_fields=["snapshot"])
    audit_change(action=AuditAction.STUDY_CHANGED, row=study, before=was, names=changes, study=study, by=by)
    return study


def study_pause(*, study: Study) -> Study:
    """Stop giving out tasks; tasks already given out can still be submitted."""
    return _move(study, {Study.State.LIVE}, Study.State.PAUSED, AuditAction.STUDY_PAUSED)


def study_resume(*, study: Study) -> Study:
    return _move(study, {Study.State.PAUSED}, Study.State.LIVE, AuditAction.STUDY_RESUMED)


def study_close(*, study: Study) -> Study:
    """Close the study for good: nobody can join, and no tasks are given out. Tasks already given out can still be
    submitted."""
    return _move(study, {Study.State.LIVE, Study.State.PAUSED}, Study.State.CLOSED, AuditAction.STUDY_CLOSED)


@transaction.atomic
def _move(study: Study, allowed: set[Study.State], to: Study.State, action: AuditAction) -> Study:
    study = Study.objects.select_for_update().get(pk=study.pk)
    if study.state not in allowed:
        raise ValidationError(f"The study is {study.state}; it cannot become {to}.")
    before, study.state = study.state, to
    if to == Study.State.CLOSED:
        study.closed_at = timezone.now()
    study.save(update_fields=["state", "closed_at"])
    audit_write(action=action, study=study, before={"state": before}, after={"state": to})
    return study
