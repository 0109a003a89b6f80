"""Create, launch, change, pause, resume and close a study."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.db.models import Count
from django.utils import timezone

from annotator.core.canonical import digest_of
from annotator.core.words import listed, plural
from annotator.hit_types.base import HitType, Question
from annotator.hit_types.registry import hit_type_get
from annotator.models import (
    AuditAction,
    Change,
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
    column_of,
    settings_of,
)
from annotator.selectors.arms import places_planned
from annotator.selectors.declaration import declaration_kind
from annotator.selectors.declared_type import names_in, version_offered
from annotator.selectors.exam_pools import exam_warnings
from annotator.selectors.exit_faults import exit_warnings
from annotator.selectors.study import study_hit_type
from annotator.selectors.study_texts import original_digests, original_texts
from annotator.selectors.uploaded_images import images_of
from annotator.selectors.workload import Workload, study_workload
from annotator.services.audit import audit_change, audit_write
from annotator.services.control_arms import control_items_make
from annotator.services.exam_numbers import exam_numbers, exam_numbers_changed
from annotator.services.study_check import panel_study_fault, study_clean
from annotator.services.study_translations import translated_from
from annotator.services.workspace import workspace_personal


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
    if workspace is None and by is not None:
        workspace = workspace_personal(user=by)
    kind, declaration = _type_for(hit_type, workspace)
    defaults = kind.defaults
    exam_questions, pass_mark = exam_numbers(kind, fields)
    values: dict[str, Any] = {
        "redundancy": defaults.redundancy,
        "exam_required": defaults.exam_questions > 0,
        "exam_questions": exam_questions,
        "pass_mark": pass_mark,
        "minutes_per_item": defaults.minutes_per_item,
        "min_seconds": defaults.min_seconds,
        "one_condition_per_instance": defaults.one_condition_per_instance,
        "questionnaire_before": defaults.questionnaire_before,
        "questionnaire_after": defaults.questionnaire_after,
    }
    with transaction.atomic():
        study = Study(
            workspace=workspace, hit_type=hit_type, declaration_id=declaration, slug=slug, title=title,
            **(values | fields),
        )  # fmt: skip
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


def _type_for(name: str, workspace: Workspace | None) -> tuple[HitType, str | None]:
    """The type of that name for a new study, and the digest of its file: the latest version of the workspace's own type, or a
    built-in one. Raises ``ValidationError``."""
    offered = version_offered(workspace_id=workspace.pk if workspace else None, name=name)
    try:
        if offered is not None:
            return declaration_kind(offered.declaration_id), offered.declaration_id
        return hit_type_get(name), None
    except KeyError as error:
        said = str(error.args[0])
        if own := list(names_in(workspace.pk if workspace else None)):
            said += f"; or of the workspace's own types: {', '.join(own)}"
        raise ValidationError({"hit_type": said}) from None


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
    if fault := panel_study_fault(study):
        faults.append(fault)
    if study.shared_items is not None:
        ordinary = study.items.filter(withdrawn_at__isnull=True, role=Item.Role.ORDINARY).count()
        if study.shared_items > ordinary:
            faults.append(
                f"{study.shared_items:,} items are for all raters, but there are only {ordinary:,}."
            )
    if missing := sorted(kind.images_shown() - set(images_of(study=study))):
        faults.append(
            f"The examples, practice or exam of the HIT type show images that haven't been uploaded to the study: {listed(missing)}."
            " Upload them on the page Images."
        )
    return faults + settings_faults(study) + exam_faults(study) + pay_faults(study)


def settings_faults(study: Study) -> list[str]:
    """Settings with a value that they can't have, such as a choice that this server doesn't offer any more."""
    settings = settings_of(Study)
    try:
        study.clean_fields(exclude={field.name for field in Study._meta.fields} - set(settings))
    except ValidationError as error:
        return [
            f"{settings[name].label}: {text}" for name, texts in error.message_dict.items() for text in texts
        ]
    return []


def pay_faults(study: Study) -> list[str]:
    """The fault if the study would pay less per hour than its own minimum, with everything that comes before the tasks,
    and what would mend it."""
    work, floor = study_workload(study), float(study.pay_floor_per_hour)
    if work.per_hour >= floor:
        return []
    if not work.tasks_each:
        return [
            f"The pay for an item is {work.per_hour:.2f} {study.currency} an hour, below your minimum of {floor:.2f}."
            " Raise the pay or correct the minutes per item."
        ]
    return [
        f"The study would pay {work.per_hour:.2f} {study.currency} an hour, below your minimum of {floor:.2f}:"
        f" {work.earns:.2f} {study.currency} for {pay_minutes_words(work)}."
        f" Any one of these would mend it: {listed(work.remedies(floor), 'or')}."
    ]


def pay_minutes_words(work: Workload) -> str:
    """The time of one person, in words: what comes before the tasks, and the tasks."""
    return (
        f"{work.minutes:.0f} min ({work.preparation.minutes} before the first task, then"
        f" {plural(work.tasks_each, 'task')} of {work.minutes_each:g} min)"
    )


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
    return warnings + exam_warnings(study) + exit_warnings(study)


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
    content: dict[str, Any] = {
        name: _as_json(getattr(study, name))
        for name, setting in settings_of(Study).items()
        if setting.snapshot and not (setting.unless_default and _is_default(study, name))
    }
    content |= {
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


def _is_default(study: Study, name: str) -> bool:
    return bool(getattr(study, name) == column_of(Study, name).get_default())


def _as_json(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal) else value


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
    """Create every item's places from number ``first`` to its arm's number of raters, by COPY: a million take seconds."""
    planned = places_planned(study)
    with connection.cursor() as cursor:
        copy = cursor.copy(
            f"COPY {Place._meta.db_table} (study_id, item_id, number, position, freed) FROM STDIN"
        )
        with copy as rows:
            for item, position, raters in planned:
                for number in range(first, raters + 1):
                    # Annotators may have passed these positions already, so places added later are offered first.
                    rows.write_row((study.pk, item, number, position, first > 1))
        tables = ", ".join(model._meta.db_table for model in (Place, Item, Instance))
        cursor.execute(f"ANALYZE {tables}")


@transaction.atomic
def study_update(*, study: Study, by: User | None = None, **changes: Any) -> Study:
    """Change a study. While it is live or paused, the change makes a new version of its snapshot.

    After the launch, each setting says whether it can be changed (``Setting.change``), and the pay must stay above the
    minimum. A change of pay applies to tasks that are given out from then on. A draft's exam grows and shrinks with its
    control arms (``exam_numbers_changed``). Raises ``ValidationError``.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    if study.state == Study.State.CLOSED:
        raise ValidationError("The study is closed and can't be changed.")
    changes |= exam_numbers_changed(study, changes)
    was = {name: getattr(study, name) for name in changes}
    redundancy, settings = study.redundancy, settings_of(Study)
    translations = study.translations
    originals = original_digests(original_texts(study)) if translations else {}
    launched = study.state != Study.State.DRAFT
    for name, value in changes.items():
        fixed = launched and name in settings and settings[name].change is Change.UNTIL_LAUNCH
        if fixed and value != was[name]:
            raise ValidationError({name: "This can't be changed after the launch."})
        setattr(study, name, value)
    study_clean(study)
    for name in changes:
        grows = launched and name in settings and settings[name].change is Change.ONLY_GROWS
        if grows and getattr(study, name) < was[name]:
            raise ValidationError({name: f"It was {was[name]}. After the launch it can only grow."})
    study.translated_from = translated_from(study, before=translations, originals=originals)
    if launched:
        faults = exam_faults(study) + pay_faults(study)
        if faults:
            raise ValidationError(faults)
    study.save()
    if not launched and {"answer_only_raters", "nothing_raters"} & set(changes):
        control_items_make(study=study)
    if launched:
        if study.redundancy > redundancy:
            places_make(study=study, first=redundancy + 1)
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
    """Close the study: nobody can join, and no tasks are given out. Tasks already given out can still be submitted."""
    return _move(study, {Study.State.LIVE, Study.State.PAUSED}, Study.State.CLOSED, AuditAction.STUDY_CLOSED)


def study_reopen(*, study: Study) -> Study:
    """Make a closed study a paused one, whose items can be corrected and which can be resumed."""
    return _move(study, {Study.State.CLOSED}, Study.State.PAUSED, AuditAction.STUDY_REOPENED)


@transaction.atomic
def _move(study: Study, allowed: set[Study.State], to: Study.State, action: AuditAction) -> Study:
    study = Study.objects.select_for_update().get(pk=study.pk)
    if study.state not in allowed:
        raise ValidationError(f"The study is {study.state}; it cannot become {to}.")
    before, study.state = study.state, to
    study.closed_at = timezone.now() if to == Study.State.CLOSED else None
    study.save(update_fields=["state", "closed_at"])
    audit_write(action=action, study=study, before={"state": before}, after={"state": to})
    return study
