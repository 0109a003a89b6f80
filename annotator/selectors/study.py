"""Access to studies for researchers. Pages, API and commands reach studies only through these functions."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from functools import cache, cached_property
from typing import Any

from django.db.models import Case, CharField, Exists, OuterRef, Q, QuerySet, Subquery, Value, When
from django.http import Http404
from django.utils import timezone

from annotator.core.kept_figures import LARGE
from annotator.core.row_ids import row_id
from annotator.hit_types.base import HitType, Question
from annotator.hit_types.confidence import with_confidence
from annotator.hit_types.registry import hit_type_get
from annotator.models import Judgment, Membership, Study, WorkspaceMember
from annotator.selectors.declaration import declaration_kind
from annotator.selectors.uploaded_images import images_of

log = logging.getLogger(__name__)

#: For how many days a deleted study can be restored; then it's removed.
KEPT_DAYS = 30
#: In order: each role includes the permissions of those before it.
ROLES = (Membership.Role.VIEWER, Membership.Role.REVIEWER, Membership.Role.EDITOR, Membership.Role.OWNER)


def roles_from(role: str) -> list[str]:
    """The roles that may do what this one may.

    >>> [str(one) for one in roles_from("editor")]
    ['editor', 'owner']
    """
    return list(ROLES[ROLES.index(Membership.Role(role)) :])


def studies_for(*, user: Any, role: str = Membership.Role.VIEWER) -> QuerySet[Study]:
    """The studies in which a researcher has at least this role; a superuser has all of them. Deleted studies are left
    out.

    The role is that in the study's workspace or that in the study itself, whichever may do more.
    """
    return _studies_of(user, role).filter(deleted_at__isnull=True)


def deleted_studies_for(*, user: Any) -> QuerySet[Study]:
    """The deleted studies that a researcher owns and can still restore."""
    return _studies_of(user, Membership.Role.OWNER).filter(deleted_at__gte=restorable_since())


def restorable_since() -> datetime:
    """A study that was deleted before this moment can't be restored."""
    return timezone.now() - timedelta(days=KEPT_DAYS)


def _studies_of(user: Any, role: str) -> QuerySet[Study]:
    if not user.is_active or not user.is_staff:
        return Study.objects.none()
    if user.is_superuser:
        return Study.objects.all()
    return Study.objects.filter(_reach(user, role))


def _reach(user: Any, role: str) -> Q:
    enough = roles_from(role)
    labs = WorkspaceMember.objects.filter(user=user, role__in=enough).values("workspace")
    single = Membership.objects.filter(user=user, role__in=enough).values("study")
    return Q(workspace__in=labs) | Q(pk__in=single)


def studies_with_role(*, user: Any, studies: QuerySet[Study]) -> QuerySet[Study]:
    """The studies with ``my_role``, which is empty if a superuser has no role of their own."""
    cases = [When(_reach(user, role), then=Value(str(role))) for role in reversed(ROLES)]
    return studies.annotate(my_role=Case(*cases, default=Value(""), output_field=CharField()))


def study_get_for(
    *,
    user: Any,
    pk: int | str | None = None,
    slug: str | None = None,
    role: str = Membership.Role.VIEWER,
    sized: bool = False,
) -> Study:
    """A study in which the researcher has at least this role; raises ``Http404`` for any other, and logs it.

    It has ``my_role`` as ``studies_with_role`` says. By ``slug``, or by ``pk``, which may also be a slug in text (an id goes first).
    ``sized``: with ``is_large``, whether its figures are kept (see ``annotator.core.kept_figures``).
    """
    if slug is None:
        is_id = isinstance(pk, int) or str(pk).isdecimal()
        key: dict[str, Any] = {"pk": row_id(str(pk))} if is_id else {"slug": pk}
    else:
        key = {"slug": slug}
    study, mine = None, ""
    if user.is_active and user.is_staff:
        found = Study.objects.filter(deleted_at__isnull=True, **key)
        study = _with_both_roles(user, with_size(found) if sized else found).first()
    if study is not None:
        mine = _higher_role(study.role_in_workspace, study.role_in_study)
        study.my_role = mine
    if study is None or not (user.is_superuser or mine in roles_from(role)):
        log.warning("study %s: access denied to user %s as %s", slug or pk, user.pk, role)
        raise Http404("no such study")
    return study


def _with_both_roles(user: Any, studies: QuerySet[Study]) -> Any:
    """The studies with the researcher's role in each one's workspace and in itself, None where they have none.

    Two subqueries. ``studies_with_role`` asks for each role in turn, and most of a page's time went into writing that query.
    """
    lab = WorkspaceMember.objects.filter(user=user, workspace=OuterRef("workspace")).values("role")[:1]
    single = Membership.objects.filter(user=user, study=OuterRef("pk")).values("role")[:1]
    found = studies.annotate(role_in_workspace=Subquery(lab), role_in_study=Subquery(single))
    return found.select_related("snapshot").defer("snapshot__content")


def _higher_role(*held: str | None) -> str:
    """That of these roles which may do most; empty without any."""
    return next((str(role) for role in reversed(ROLES) if role in held), "")


def with_size(studies: QuerySet[Study]) -> QuerySet[Study]:
    """The studies with ``is_large``: whether they have at least ``LARGE`` judgments."""
    judgments = Judgment.objects.filter(study=OuterRef("pk")).order_by().values("pk")
    return studies.annotate(is_large=Exists(judgments[LARGE - 1 : LARGE]))


def study_is_large(study: Study) -> bool:
    """Whether the study has at least ``LARGE`` judgments, so that its figures are kept; a query unless it was found ``sized``."""
    known: bool | None = getattr(study, "is_large", None)
    if known is None:
        judgments = Judgment.objects.filter(study=study).order_by()
        known = judgments[LARGE - 1 : LARGE].exists()
    return known


def study_role(*, user: Any, study: Study) -> Membership.Role | None:
    """The researcher's role in a study: owner for a superuser, None for anyone without one.

    A study that ``study_get_for`` found for the same researcher has it already.
    """
    if not user.is_active or not user.is_staff:
        return None
    if user.is_superuser:
        return Membership.Role.OWNER
    role = getattr(study, "my_role", None)
    if role is None:
        mine = studies_with_role(user=user, studies=Study.objects.filter(pk=study.pk))
        role = getattr(mine.first(), "my_role", "")
    return Membership.Role(role) if role else None


#: The attributes of a HIT type that depend on a study's items, variant and questions.
_ADAPTED = ("variables", "headline", "instructions", "exam", "practice")


def declared_hit_type(study: Study) -> HitType:
    """A study's HIT type as it's declared, with all of its variants: for checks before the study is stored.

    Nothing else finds the type of a study.
    """
    if study.declaration_id:
        return declaration_kind(study.declaration_id)
    return hit_type_get(study.hit_type)


def study_hit_type(study: Study) -> HitType:
    """The study's HIT type, adapted to its items and questions.

    It has the variables that items declare, where the type leaves them open, and the instructions, practice and exam
    of the variants and parts that the items ask; before it has items, those of the study's own variant. If all items are
    of one variant (a group of properties, for example), it has that variant's variables. The study's own exam and
    practice replace those of the type. If the study asks how sure raters are, each stage does.

    Items are read when one of these attributes is first used, so the type of a task costs no query.
    """
    declared = declared_hit_type(study)
    kind = object.__new__(_study_class(type(declared)))  # type: ignore[arg-type]
    kept = {name: value for name, value in vars(declared).items() if name not in (*_ADAPTED, "prompt_text")}
    vars(kind).update(kept, adapt=lambda: _adapted(declared, study))
    return with_confidence(kind, study.confidence_scale)


def known_hit_type(study: Study) -> HitType | None:
    """The study's HIT type; None if this server doesn't have it."""
    try:
        return study_hit_type(study)
    except KeyError:
        return None


@cache
def _study_class(kind: type[HitType]) -> type[HitType]:
    """A HIT type's class whose instances read what depends on a study when it's first used."""

    def read(name: str) -> cached_property[Any]:
        return cached_property(lambda own: getattr(own.adapted, name))

    names = (*_ADAPTED, "prompt_text") if kind.control_arms else _ADAPTED
    adapted = {"adapted": cached_property(lambda own: own.adapt())} | {name: read(name) for name in names}
    return type(kind.__name__, (kind,), {"__module__": kind.__module__, **adapted})


def _adapted(kind: HitType, study: Study) -> HitType:
    items = study.items.order_by("id")
    one = kind.external
    fields = [name for name in (kind.variant_field, kind.part_field, kind.rule_field) if name]
    if fields:
        rows = study.items.order_by().values_list(*(f"payload__{name}" for name in fields)).distinct()
        asked = [dict(zip(fields, row, strict=True)) for row in rows]
        if study.variant and not asked:
            asked = [kind.expected(study.variant)]
        exam = study.exam_required and not study.exam_own
        kind = kind.for_items(asked, exam=exam, practice=not study.practice_own)
        one = len({kind.variant(values) for values in asked}) == 1 and bool(kind.variant_field)
    payload = items.values_list("payload", flat=True).first() if one else None
    if payload is None and study.variant:
        payload = kind.expected(study.variant)
    kind = kind.for_item(payload) if payload else kind
    if kind.images_shown():
        kind = kind.with_images(images_of(study=study))
    return _with_own(kind.with_arms(study.control_arms), study)


def _with_own(kind: HitType, study: Study) -> HitType:
    own = {
        name: tuple(Question(**question) for question in questions)
        for name, questions in (("exam", study.exam_own), ("practice", study.practice_own))
        if questions
    }
    return kind.replaced(**own)


def slug_near(slug: str) -> str:
    """The first of ``slug``, ``slug-2``, ``slug-3``, ... that no study of the server has, deleted ones included."""
    base = slug[:70].rstrip("-") or "study"
    taken = set(Study.objects.filter(slug__startswith=base).values_list("slug", flat=True))
    names = (base if number == 1 else f"{base}-{number}" for number in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)
