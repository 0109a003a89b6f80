"""Rows of the lists of accounts and of qualifications."""

from __future__ import annotations

from dataclasses import dataclass

from allauth.mfa.models import Authenticator
from django.db.models import (
    BigIntegerField,
    Case,
    Count,
    Exists,
    F,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
    Value,
    When,
)
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast

from annotator.models import Membership, Qualification, Study, User, WorkspaceMember

#: The values of the filter by rehearsal raters of both lists, and their labels; the first is the default.
REHEARSAL = {"": "left out", "yes": "only these", "both": "included"}
ROLES = {
    "administrator": "Administrator",
    "researcher": "Researcher",
    "annotator": "Annotator",
}
_ROLE: dict[str, Q] = {
    "administrator": Q(is_superuser=True),
    "researcher": Q(is_staff=True, is_superuser=False),
    "annotator": Q(is_staff=False, is_superuser=False),
}
#: What the list of accounts can be filtered by besides.
STATES = {"active": "can log in", "inactive": "can't log in", "no-two-factor": "without two-factor login"}
_SYNTHETIC = Q(rater__rehearsal=True)


def users_found(*, query: str = "", role: str = "", state: str = "", rehearsal: str = "") -> QuerySet[User]:
    """The accounts of the server, by role and then the latest login, with ``has_second_factor``, ``lab_roles`` (memberships of
    workspaces) and ``study_roles`` (memberships of studies of other workspaces).

    Accounts of rehearsal raters are left out unless ``rehearsal`` is "yes" (only these) or "both". Unknown values of the
    filters change nothing. A fixed number of queries, however many rows are read.
    """
    found = User.objects.all()
    if rehearsal != "both":
        found = found.filter(_SYNTHETIC) if rehearsal == "yes" else found.exclude(_SYNTHETIC)
    if query:
        names = Q(username__icontains=query) | Q(email__icontains=query)
        found = found.filter(names | Q(first_name__icontains=query) | Q(last_name__icontains=query))
    if role in _ROLE:
        found = found.filter(_ROLE[role])
    second = Exists(Authenticator.objects.filter(user=OuterRef("pk")).exclude(type="recovery_codes"))
    found = found.annotate(has_second_factor=second)
    if state in ("active", "inactive"):
        found = found.filter(is_active=state == "active")
    elif state == "no-two-factor":
        found = found.filter(has_second_factor=False)
    labs = WorkspaceMember.objects.select_related("workspace").order_by("workspace__name")
    there = WorkspaceMember.objects.filter(workspace=OuterRef("study__workspace"), user=OuterRef("user"))
    single = (
        Membership.objects.filter(~Exists(there), study__deleted_at__isnull=True)
        .select_related("study")
        .order_by("study__title")
    )
    return (
        found.select_related("rater")
        .prefetch_related(Prefetch("workspace_roles", queryset=labs, to_attr="lab_roles"))
        .prefetch_related(Prefetch("memberships", queryset=single, to_attr="study_roles"))
        .order_by("-is_superuser", "-is_staff", F("last_login").desc(nulls_last=True), "username")
    )


def role_of_account(user: User) -> str:
    """What an account is, as one of ``ROLES``.

    >>> role_of_account(User(is_superuser=True)), role_of_account(User(is_staff=True)), role_of_account(User())
    ('administrator', 'researcher', 'annotator')
    """
    return "administrator" if user.is_superuser else "researcher" if user.is_staff else "annotator"


@dataclass(frozen=True)
class QualificationGroup:
    """What qualifications of one kind are for, and how many people hold one: ``valid`` ones, ``expired`` ones (passed in an exam
    version that no study of the workspace has any more) and ``revoked`` ones.
    """

    workspace_id: int | None
    workspace: str
    hit_type: str
    valid: int
    by_exam: int
    expired: int
    revoked: int


#: State of a qualification -> its label, as a filter and as a tag.
QUALIFICATION_STATES = {"valid": "valid", "expired": "expired", "revoked": "revoked"}


def qualifications_found(
    mine: QuerySet[Qualification],
    *,
    query: str = "",
    workspace: int = 0,
    hit_type: str = "",
    state: str = "",
    rehearsal: str = "",
) -> QuerySet[Qualification]:
    """Those of ``mine`` that match, the latest first, each with ``expired``.

    An exam's qualification expires when no study of its workspace has that version of the exam any more: it then counts
    only where a study requires the HIT type in any version. Grants don't expire. Rehearsal raters' are left out unless
    ``rehearsal`` is "yes" or "both".
    """
    now = Study.objects.filter(
        workspace=OuterRef("workspace"), deleted_at__isnull=True, snapshot__content__exam__isnull=False
    ).annotate(exam=Cast(KeyTextTransform("exam", "snapshot__content"), BigIntegerField()))
    old = Q(exam__isnull=False, workspace__isnull=False) & ~Exists(now.filter(exam=OuterRef("exam")))
    found = mine.annotate(expired=Case(When(old, then=Value(True)), default=Value(False)))
    if rehearsal != "both":
        found = found.filter(_SYNTHETIC) if rehearsal == "yes" else found.exclude(_SYNTHETIC)
    if query:
        found = found.filter(rater__name__icontains=query)
    if workspace:
        found = found.filter(workspace=workspace)
    if hit_type:
        found = found.filter(hit_type=hit_type)
    if state == "revoked":
        found = found.filter(revoked_at__isnull=False)
    elif state in ("valid", "expired"):
        found = found.filter(revoked_at__isnull=True, expired=state == "expired")
    return found.select_related("rater", "exam", "granted_by", "workspace").order_by("-granted_at", "-pk")


def qualification_groups(found: QuerySet[Qualification]) -> list[QualificationGroup]:
    """What the qualifications of ``qualifications_found`` are for, with the number of people for each state; one query."""
    standing = Q(revoked_at__isnull=True)
    rows = (
        found.order_by()
        .values("workspace_id", "workspace__name", "hit_type")
        .annotate(
            valid=Count("rater", filter=standing & Q(expired=False), distinct=True),
            by_exam=Count("rater", filter=standing & Q(expired=False, exam__isnull=False), distinct=True),
            old=Count("rater", filter=standing & Q(expired=True), distinct=True),
            gone=Count("rater", filter=~standing, distinct=True),
        )
        .order_by("workspace__name", "hit_type")
    )
    return [
        QualificationGroup(
            row["workspace_id"], row["workspace__name"] or "", row["hit_type"], row["valid"], row["by_exam"], row["old"], row["gone"]
        )
        for row in rows
    ]  # fmt: skip
