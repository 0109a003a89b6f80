"""Access to the HIT types and questionnaires that workspaces declared. Pages, API and commands reach them only through these functions."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.http import Http404

from annotator.models import DeclaredType, DeclaredVersion, Membership, Study
from annotator.selectors.workspace import owned_by, workspaces_for

log = logging.getLogger(__name__)
Kind = DeclaredType.Kind


def declared_types_for(
    *, user: Any, role: str = Membership.Role.VIEWER, kind: str = Kind.HIT_TYPE
) -> QuerySet[DeclaredType]:
    """The types (or questionnaires, by ``kind``) of the workspaces in which a researcher has at least this role, each with ``number``, ``title``, ``version``
    and ``saved_at`` of its latest version."""
    if not user.is_active or not user.is_staff:
        return DeclaredType.objects.none()
    latest = DeclaredVersion.objects.filter(type=OuterRef("pk")).order_by("-number")
    found = DeclaredType.objects.filter(owned_by(user=user, role=role), kind=kind).select_related("workspace")
    return found.annotate(
        number=Subquery(latest.values("number")[:1]),
        title=Subquery(latest.values("title")[:1]),
        version=Subquery(latest.values("version")[:1]),
        saved_at=Subquery(latest.values("created_at")[:1]),
    )


def declared_type_get_for(
    *, user: Any, pk: int | str, role: str = Membership.Role.VIEWER, kind: str = Kind.HIT_TYPE
) -> DeclaredType:
    """A type (or questionnaire) of a workspace in which the researcher has at least this role; raises ``Http404`` for any other, and logs it."""
    found = declared_types_for(user=user, role=role, kind=kind).filter(pk=pk).first()
    if found is None:
        noun = Kind(kind).label
        log.warning("%s %s: access denied to user %s as %s", noun, pk, user.pk, role)
        raise Http404(f"no such {noun}")
    return found


def version_get(*, type: DeclaredType, number: int | None = None) -> DeclaredVersion:
    """A version of a type with its content, by default the latest one; raises ``Http404`` if there is none of that number."""
    found = type.versions.select_related("declaration", "created_by", "type__workspace")
    wanted = found.order_by("-number").first() if number is None else found.filter(number=number).first()
    if wanted is None:
        raise Http404("no such version")
    return wanted


def versions_listed(type: DeclaredType) -> QuerySet[DeclaredVersion]:
    """The versions of a type, newest first, with ``studies``: how many of its workspace's studies use each."""
    using = Count(
        "declaration__studies",
        filter=Q(
            declaration__studies__workspace=type.workspace_id, declaration__studies__deleted_at__isnull=True
        ),
        distinct=True,
    )
    return type.versions.select_related("created_by").annotate(studies=using).order_by("-number")


def studies_using(type: DeclaredType) -> QuerySet[Study]:
    """The studies of its workspace that use a version of a type; deleted ones too, which can still be restored."""
    digests = type.versions.values("declaration")
    return Study.objects.filter(workspace=type.workspace_id, declaration__in=digests)


def version_offered(
    *, workspace_id: int | None, name: str, kind: str = Kind.HIT_TYPE
) -> DeclaredVersion | None:
    """The latest version of a workspace's type (or questionnaire) of that name; None if it has none."""
    if workspace_id is None:
        return None
    found = DeclaredVersion.objects.filter(type__workspace=workspace_id, type__name=name, type__kind=kind)
    return found.select_related("declaration").order_by("-number").first()


def version_newer(study: Study) -> DeclaredVersion | None:
    """The latest version of a draft's own HIT type, if the study uses an earlier one; None for built-in types and after the launch."""
    if not study.declaration_id or study.state != Study.State.DRAFT:
        return None
    latest = version_offered(workspace_id=study.workspace_id, name=study.hit_type)
    return latest if latest is not None and latest.declaration_id != study.declaration_id else None


def versions_offered(*, user: Any) -> list[DeclaredVersion]:
    """The latest version of each type of the workspaces in which a researcher may make studies, by workspace and name."""
    workspaces = workspaces_for(user=user, role=Membership.Role.EDITOR)
    latest = DeclaredVersion.objects.filter(
        type__workspace__in=workspaces.values("pk"), type__kind=Kind.HIT_TYPE
    )
    latest = latest.order_by("type_id", "-number").distinct("type_id").select_related("type__workspace")
    return sorted(latest, key=lambda one: (one.type.workspace.name, one.type.workspace_id, one.type.name))


def names_in(workspace_id: int | None, kind: str = Kind.HIT_TYPE) -> Iterable[str]:
    """The names of a workspace's types (or questionnaires), sorted."""
    found = DeclaredType.objects.filter(workspace=workspace_id, kind=kind).order_by("name")
    return found.values_list("name", flat=True) if workspace_id is not None else ()
