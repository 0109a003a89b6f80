"""Qualifications that people hold, and those that a study requires. A qualification counts only in the studies of its
workspace, so no lab decides, or learns, who can work for another. A requirement is a text: a HIT type's name (any exam
version), or ``name@digest`` (that version; the digest can be shortened to 8 digits). A qualification granted by a
researcher has no exam and meets both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import BigIntegerField, Q, QuerySet
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast
from django.utils.translation import gettext

from annotator.hit_types.base import translated
from annotator.hit_types.registry import hit_types
from annotator.models import Exam, ExamAttempt, Participation, Qualification, Snapshot
from annotator.selectors.declared_type import names_in
from annotator.selectors.snapshot import snapshot_content

DIGITS = 8


def requirement_known(text: str, *, workspace_id: int | None) -> bool:
    """Whether the HIT type exists and, if the requirement names one, the exam version exists in the workspace."""
    name, at, digest = text.partition("@")
    if name not in hit_types():
        if name not in names_in(workspace_id):
            return False
    elif hit_types()[name].external:
        return False
    if not at:
        return True
    if not re.fullmatch(rf"[0-9a-f]{{{DIGITS},64}}", digest):
        return False
    return exams_of(workspace_id).filter(hit_type=name, digest__startswith=digest).exists()


def exams_of(workspace_id: int | None) -> QuerySet[Exam]:
    """Exam versions that a person passed in a study of the workspace, or that one of its studies has or had."""
    frozen = Snapshot.objects.filter(study__workspace=workspace_id, content__exam__isnull=False)
    held = Qualification.objects.filter(_in(workspace_id), exam__isnull=False)
    used = frozen.annotate(exam=Cast(KeyTextTransform("exam", "content"), BigIntegerField()))
    return Exam.objects.filter(Q(pk__in=used.values("exam")) | Q(pk__in=held.values("exam")))


def _in(workspace_id: int | None) -> Q:
    """Qualifications of a workspace; those that an earlier version wrote during an upgrade belong to the workspace of
    their exam."""
    passed = Q(workspace__isnull=True, attempt__participation__study__workspace=workspace_id)
    return Q(workspace=workspace_id) | passed


def requirement_title(text: str) -> str:
    """A requirement in words.

    >>> requirement_title("simulation")
    'Counterfactual simulation, yes/no questions'
    """
    name, at, digest = text.partition("@")
    kind = hit_types().get(name)
    title = kind.title if kind else name
    return f"{title}, exam version {digest[:DIGITS]}" if at else title


def requirement_task(text: str) -> str:
    """The same for annotators: the name that they know the work by."""
    kind = hit_types().get(text.partition("@")[0])
    return translated(kind.task_title, gettext) if kind else text


def requirement_choices(*, workspace_id: int | None) -> list[tuple[str, str]]:
    """Every requirement that a study of the workspace can set: each HIT type in any version, then its exam versions."""
    used = exams_of(workspace_id).order_by("hit_type", "-created_at")
    names = [kind.name for kind in hit_types().values() if not kind.external]
    found = [*names, *(name for name in names_in(workspace_id) if name not in names)] + [
        f"{hit_type}@{digest[:DIGITS]}" for hit_type, digest in used.values_list("hit_type", "digest")
    ]
    return [(one, requirement_title(one)) for one in sorted(found)]


def requirements_missing(
    *, rules: Mapping[str, Any], rater_id: int | None, workspace_id: int | None
) -> list[str]:
    """The study's requirements that a rater doesn't meet in its workspace; no query if it has none."""
    requires: Sequence[str] = rules.get("requires", ())
    if not requires:
        return []
    held = list(
        Qualification.objects.filter(
            _in(workspace_id), rater_id=rater_id, revoked_at__isnull=True
        ).values_list("hit_type", "exam__digest")
        if rater_id is not None
        else ()
    )
    return [one for one in requires if not any(_meets(one, hit_type, digest) for hit_type, digest in held)]


def _meets(requirement: str, hit_type: str, digest: str | None) -> bool:
    name, _, wanted = requirement.partition("@")
    return name == hit_type and (digest is None or digest.startswith(wanted))


def holders_of(requirement: str, *, workspace_id: int | None) -> list[int]:
    """The raters who meet a requirement in a workspace."""
    name = requirement.partition("@")[0]
    held = Qualification.objects.filter(_in(workspace_id), hit_type=name, revoked_at__isnull=True)
    found = held.values_list("rater", "hit_type", "exam__digest")
    return sorted({rater for rater, hit_type, digest in found if _meets(requirement, hit_type, digest)})


def qualified(participation: Participation) -> bool:
    """Whether the person is qualified: by the study's exam version or a grant that hasn't been revoked."""
    return _of_study(participation).filter(revoked_at__isnull=True).exists()


def may_work(participation: Participation) -> bool:
    """Whether the person has passed the study's exam (if it has one) and meets its requirements now."""
    rules = snapshot_content(participation.study.snapshot_id)
    if rules["exam_required"] and not qualified(participation):
        return False
    return not requirements_missing(
        rules=rules, rater_id=participation.rater_id, workspace_id=participation.study.workspace_id
    )


def qualifications_held(participation: Participation) -> QuerySet[Qualification]:
    """The person's qualifications for the study's HIT type in its workspace, from any exam or grant."""
    rules = snapshot_content(participation.study.snapshot_id)
    return Qualification.objects.filter(
        _in(participation.study.workspace_id),
        rater_id=participation.rater_id,
        hit_type=rules["hit_type"],
        revoked_at__isnull=True,
    )


def qualification_revoked(participation: Participation) -> bool:
    """Whether the qualification for this study was revoked: taking the exam again doesn't restore it, a grant does."""
    return _of_study(participation).filter(revoked_at__isnull=False).exists()


def _of_study(participation: Participation) -> Any:
    rules = snapshot_content(participation.study.snapshot_id)
    return Qualification.objects.filter(
        _in(participation.study.workspace_id),
        Q(exam_id=rules["exam"]) | Q(exam__isnull=True),
        rater_id=participation.rater_id,
        hit_type=rules["hit_type"],
    )


def attempts_at(participation: Participation) -> list[ExamAttempt]:
    """A person's attempts at the current version of the study's exam; attempts at earlier versions don't use up any."""
    rules = snapshot_content(participation.study.snapshot_id)
    return list(participation.exam_attempts.filter(exam_id=rules["exam"]).order_by("number"))
