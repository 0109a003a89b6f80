"""Read the audit trail of a study or a workspace."""

from __future__ import annotations

from datetime import date

from django.db.models import QuerySet

from annotator.models import AuditAction, AuditEntry, Study, User, Workspace

HEADER = (
    "at",
    "action",
    "via",
    "network",
    "who",
    "study",
    "target",
    "member",
    "participant",
    "before",
    "after",
)


def audit_of(*, study: Study | None = None, workspace: Workspace | None = None) -> QuerySet[AuditEntry]:
    """The entries of a study, or of a workspace with all its studies, newest first."""
    found = AuditEntry.objects.select_related("actor", "member", "study", "subject__rater").order_by("-id")
    return found.filter(study=study) if study is not None else found.filter(workspace=workspace)


def audit_filter(
    found: QuerySet[AuditEntry],
    *,
    group: str = "",
    who: str = "",
    since: date | None = None,
    until: date | None = None,
) -> QuerySet[AuditEntry]:
    """Entries of one group of ``AUDIT_GROUPS``, of one person (a user name), from one day to another (both included)."""
    if group:
        found = found.filter(action__startswith=f"{group}.")
    if who:
        found = found.filter(actor__in=User.objects.filter(username=who).values("pk"))
    if since:
        found = found.filter(at__date__gte=since)
    if until:
        found = found.filter(at__date__lte=until)
    return found


def audit_actors(found: QuerySet[AuditEntry]) -> list[str]:
    """The user names of everybody who is in the trail, for the filter."""
    pks = found.order_by().values("actor").distinct()
    return list(User.objects.filter(pk__in=pks).order_by("username").values_list("username", flat=True))


def audit_label(entry: AuditEntry) -> str:
    """The action of an entry, in words."""
    known = entry.action in AuditAction.values
    return str(AuditAction(entry.action).label) if known else entry.action


def audit_who(entry: AuditEntry) -> str:
    """Who did it: a user name, or else the kind of source."""
    if entry.actor_id:
        return _name(entry, "actor")
    if entry.via == "job":
        return "scheduled job"
    return "command line" if entry.via == "command" else "participant"


def audit_member(entry: AuditEntry) -> str:
    """The researcher whose access changed; empty if nobody's did."""
    return _name(entry, "member") if entry.member_id else ""


def _name(entry: AuditEntry, field: str) -> str:
    """The reference has no constraint, so its row may be gone; ``select_related`` then leaves None."""
    known = getattr(entry, field)
    return known.get_username() if known is not None else "deleted account"
