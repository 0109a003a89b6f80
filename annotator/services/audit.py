"""Write the audit trail. Services call this in the transaction of the change, so that both are stored or neither."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db import models
from django.db.models import QuerySet
from django.utils import timezone

from annotator.core.acting import acting
from annotator.core.csv_cells import cell_neutral
from annotator.models import (
    AuditAction,
    AuditEntry,
    AuditSubject,
    Rater,
    Study,
    User,
    Workspace,
)
from annotator.selectors.audit import audit_member, audit_who

#: Names of values that are never written to the trail.
SECRETS = frozenset({"password", "key", "key_encrypted", "token", "digest", "join_token", "secret", "codes"})
#: Longer texts are stored as their digest and beginning; the versions of a launched study have them in full.
LONGEST = 4_000
#: Opening the same page again within this time counts as one view.
ONE_VIEW = timedelta(hours=1)
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
Values = Mapping[str, Any]


def audit_write(
    *,
    action: AuditAction,
    study: Study | None = None,
    workspace: Workspace | None = None,
    by: User | None = None,
    target: str = "",
    member: User | int | None = None,
    rater: Rater | int | None = None,
    before: Values | None = None,
    after: Values | None = None,
) -> AuditEntry:
    """Record one change. ``by`` is the user who made it, by default the user of the current request.

    ``member`` is the researcher whose access changed and ``rater`` the participant whom it is about. ``before`` and
    ``after`` hold the values that changed. Raises ``ValueError`` if one of them is a secret.
    """
    entry = _entry(action, study=study, workspace=workspace, by=by, target=target, before=before, after=after)
    entry.member_id = member.pk if isinstance(member, User) else member
    if rater is not None:
        entry.subject = _subjects(study, [rater.pk if isinstance(rater, Rater) else rater])[0]
    entry.save(force_insert=True)
    return entry


def audit_write_each(
    *, action: AuditAction, study: Study, by: User | None, after: Mapping[int, Values], target: str = ""
) -> None:
    """Record the same change for several participants: ``after`` maps each rater to the new values."""
    entries = []
    for rater, subject in zip(after, _subjects(study, after), strict=True):
        entry = _entry(action, study=study, by=by, target=target, after=after[rater])
        entry.subject = subject
        entries.append(entry)
    AuditEntry.objects.bulk_create(entries, batch_size=2_000)


def audit_write_rows(
    *, action: AuditAction, study: Study, by: User | None, rows: Iterable[tuple[str, Values]]
) -> None:
    """Record the same kind of change for several things: ``rows`` are targets with their new values."""
    entries = [_entry(action, study=study, by=by, target=target, after=after) for target, after in rows]
    AuditEntry.objects.bulk_create(entries, batch_size=2_000)


def audit_change(
    *, action: AuditAction, row: models.Model, before: Values, names: Iterable[str], **about: Any
) -> AuditEntry | None:
    """Record which of the fields ``names`` of a row differ from ``before``; nothing if none does."""
    after = {name: getattr(row, name) for name in names}
    changed = [name for name in after if _plain(after[name]) != _plain(before.get(name))]
    if not changed:
        return None
    return audit_write(
        action=action,
        before={name: before.get(name) for name in changed},
        after={name: after[name] for name in changed},
        **about,
    )


def people_viewed(
    *,
    by: Any,
    page: str,
    studies: Iterable[Study] = (),
    workspaces: Iterable[Workspace] = (),
    everywhere: bool = False,
) -> None:
    """Record that a user viewed participants' data of these studies or workspaces, or of the whole server, on a page.

    The same person, page and study is recorded once in ``ONE_VIEW``. Two queries, however many studies there are.
    """
    if not isinstance(by, User):
        return
    action = AuditAction.PEOPLE_VIEWED
    shown = [_entry(action, study=study, by=by, target=page) for study in studies]
    shown += [_entry(action, workspace=workspace, by=by, target=page) for workspace in workspaces]
    shown += [_entry(action, by=by, target=page)] if everywhere else []
    lately = AuditEntry.objects.filter(
        actor=by, action=action, target=page[:200], at__gt=timezone.now() - ONE_VIEW
    )
    seen = set(lately.values_list("study", "workspace"))
    AuditEntry.objects.bulk_create(one for one in shown if (one.study_id, one.workspace_id) not in seen)


def audit_export(
    *, found: QuerySet[AuditEntry], by: User, study: Study | None, workspace: Workspace | None
) -> Iterator[bytes]:
    """The entries as a CSV file, in chunks; spreadsheets won't run any cell as a formula. The export itself is
    recorded."""
    audit_write(action=AuditAction.EXPORTED, study=study, workspace=workspace, by=by, target="audit trail")
    return _csv(found)


def _csv(found: QuerySet[AuditEntry]) -> Iterator[bytes]:
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(HEADER)
    for number, entry in enumerate(found.iterator(chunk_size=2_000), 1):
        study = entry.study
        row: tuple[Any, ...] = (
            entry.at.isoformat(), entry.action, entry.via, entry.address, audit_who(entry),
            study.slug if study is not None else "", entry.target, audit_member(entry),
            entry.subject or "", _json(entry.before), _json(entry.after),
        )  # fmt: skip
        writer.writerow([cell_neutral(str(cell)) for cell in row])
        if number % 2_000 == 0:
            yield out.getvalue().encode()
            out.seek(0)
            out.truncate()
    yield out.getvalue().encode()


def _json(values: dict[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=False, sort_keys=True) if values else ""


def audit_forget(*, study: Study, rater: Rater) -> None:
    """Remove the link from a study's entries to the participant; the entries stay."""
    AuditSubject.objects.filter(study=study.pk, rater=rater).update(rater=None)


def _entry(
    action: AuditAction,
    *,
    by: User | None,
    target: str,
    study: Study | None = None,
    workspace: Workspace | None = None,
    before: Values | None = None,
    after: Values | None = None,
) -> AuditEntry:
    for values in (before, after):
        if secret := SECRETS & set(values or ()):
            raise ValueError(f"the audit trail must not hold {', '.join(sorted(secret))}")
    who = acting()
    actor = by if by is not None else who.user()
    # A participant is referred to by ``subject``, which an erasure can empty, and never as the actor.
    named = isinstance(actor, User) and not isinstance(actor, AnonymousUser) and actor.is_staff
    return AuditEntry(
        action=action,
        via=who.via,
        address=who.address,
        actor_id=actor.pk if named else None,
        study_id=study.pk if study else None,
        workspace_id=workspace.pk if workspace else study.workspace_id if study else None,
        target=target[:200],
        before=_plain(before or {}),
        after=_plain(after or {}),
    )


def _subjects(study: Study | None, raters: Iterable[int]) -> list[AuditSubject]:
    """The subject of each rater in this study, created if it doesn't exist yet."""
    wanted, number = list(raters), study.pk if study else None
    AuditSubject.objects.bulk_create(
        [AuditSubject(study=number, rater_id=one) for one in wanted], ignore_conflicts=True
    )
    found = AuditSubject.objects.filter(study=number, rater__in=wanted)
    by_rater = {one.rater_id: one for one in found}
    return [by_rater[one] for one in wanted]


def _plain(value: Any) -> Any:
    """A value as JSON, with long texts shortened."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one) for one in value]
    if isinstance(value, str):
        return value if len(value) <= LONGEST else _shortened(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Decimal):
        return str(value.normalize()) if value else "0"
    return value.pk if isinstance(value, models.Model) else str(value)


def _shortened(text: str) -> dict[str, Any]:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return {"begins": text[:500], "characters": len(text), "sha256": digest}
