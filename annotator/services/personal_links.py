"""A study's list of people with personal links: read from a file, revoked, made anew and removed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import IO

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.utils import timezone

from annotator.core.tables.faults import FaultLog
from annotator.core.tables.plain_file import Limits
from annotator.core.tables.rows import table_open
from annotator.models import AuditAction, PersonalLink, Study, User
from annotator.models.personal_link import made_up_id
from annotator.recruitment.panels.personal import Personal
from annotator.services.audit import audit_write

#: The columns of a list with their other names.
COLUMNS = {
    "name": "name", "email": "email", "e-mail": "email", "mail": "email", "email address": "email", "id": "own_id",
}  # fmt: skip
LENGTHS = {"name": 200, "email": 254, "own_id": 100}
TITLES = {"name": "name", "email": "email", "own_id": "id"}
#: The most people on one study's list.
MOST = 5_000
LIMITS = Limits(size=5_000_000, rows=MOST, columns=50, cell=10_000)


@dataclass(frozen=True)
class PersonListed:
    """Somebody in a list, and the line where they are."""

    line: int
    name: str = ""
    email: str = ""
    own_id: str = ""


def people_read(file: IO[bytes], *, name: str, log: FaultLog) -> list[PersonListed]:
    """The people of a CSV (or workbook) with the columns ``name``, ``email`` and ``id``, of which one is enough. Other columns are faults,
    since nothing would keep them. What is wrong goes to ``log``; raises ``FileRefused`` if the file can't be read.

    >>> from io import BytesIO
    >>> log = FaultLog("class.csv")
    >>> people_read(BytesIO(b"name;email\\nAnn;ann@lab.example\\n"), name="class.csv", log=log)
    [PersonListed(line=2, name='Ann', email='ann@lab.example', own_id='')]
    """
    table = table_open(file, name=name, log=log, limits=LIMITS, skip_blank=True)
    rows = [
        (line, {str(key).strip().casefold(): "" if value is None else str(value) for key, value in row.items()})
        for line, row in table.rows
    ]  # fmt: skip
    header = list(table.columns or []) or sorted({key for _, row in rows for key in row})
    unknown = [one for one in header if one.strip().casefold() not in COLUMNS]
    for one in unknown:
        log.add("isn't a column of a list; expected name, email and id", line=1, field=one)
    if not unknown and not header:
        log.add("has no columns; expected name, email and id")
    return list(_people(rows, log))


def _people(rows: Sequence[tuple[int, dict[str, str]]], log: FaultLog) -> Iterator[PersonListed]:
    for line, row in rows:
        values = {COLUMNS[key]: " ".join(value.split()) for key, value in row.items() if key in COLUMNS}
        yield people_check(PersonListed(line, **values), log)


def people_check(one: PersonListed, log: FaultLog) -> PersonListed:
    """Add what is wrong with one person of a list to ``log``; returns the person."""
    for field, longest in LENGTHS.items():
        if len(value := getattr(one, field)) > longest:
            log.add(f"has {len(value)} characters; expected at most {longest}", line=one.line, field=TITLES[field])  # fmt: skip
    if one.email:
        try:
            validate_email(one.email)
        except ValidationError:
            log.add("expected an email address", line=one.line, field="email", value=one.email)
    if not (one.name or one.email or one.own_id):
        log.add("is empty; expected a name, an email address or an id", line=one.line)
    return one


def personal_links_make(
    *,
    study: Study,
    people: Sequence[PersonListed],
    by: User | None,
    log: FaultLog,
    expires_at: datetime | None = None,
) -> list[PersonalLink]:
    """Add people to the study's list, each with a link of their own. Raises ``FileRefused`` with every fault and its line, and adds nobody
    then: an email address or id that is there twice, or is on the list already; and for faults that ``log`` already has."""
    if study.panel != Personal.name:
        raise ValidationError(
            f"Choose “{Personal.title}” as the recruitment panel in the study's settings first."
        )
    if expires_at is not None and expires_at <= timezone.now():
        raise ValidationError({"expires_at": "Choose a time in the future, or none."})
    with transaction.atomic():
        Study.objects.select_for_update(no_key=True).only("pk").get(pk=study.pk)
        known = list(study.personal_links.values_list("email", "own_id"))
        seen: dict[tuple[str, str], int] = {("email", email.lower()): 0 for email, _ in known if email}
        seen |= {("own_id", own): 0 for _, own in known if own}
        for person in people:
            for field, value in (("email", person.email), ("own_id", person.own_id)):
                if not value:
                    continue
                before = seen.setdefault((field, value.lower() if field == "email" else value), person.line)
                if before != person.line:
                    where = f"is on line {before} already" if before else "is on the study's list already"
                    log.add(where, line=person.line, field=TITLES[field], value=value)
        if len(known) + len(people) > MOST:
            log.add(f"the list would have {len(known) + len(people):,} people; expected at most {MOST:,}")
        if not people:
            log.add("has no people")
        log.check()
        try:
            rows = PersonalLink.objects.bulk_create(
                PersonalLink(
                    study=study, name=person.name, email=person.email, own_id=person.own_id, created_by=by, expires_at=expires_at
                )
                for person in people
            )  # fmt: skip
        except IntegrityError:  # letters that Postgres and Python fold differently
            raise ValidationError("Two people have the same email address. Nobody was added.") from None
        audit_write(
            action=AuditAction.STUDY_CHANGED, study=study, by=by, target="personal links", after={"people added": len(rows)}
        )  # fmt: skip
    return rows


@transaction.atomic
def personal_link_revoke(*, row: PersonalLink, by: User | None) -> PersonalLink:
    """Stop a link from working, also for somebody who has joined with it; in the browser that they use, they can continue."""
    row = PersonalLink.objects.select_for_update(of=("self",)).select_related("study").get(pk=row.pk)
    if row.revoked_at is None:
        row.revoked_at = timezone.now()
        row.save(update_fields=["revoked_at"])
        _audit(row, by, "revoked")
    return row


@transaction.atomic
def personal_link_renew(
    *, row: PersonalLink, by: User | None, expires_at: datetime | None = None
) -> PersonalLink:
    """Make a new link for somebody: the earlier one stops working, and the new one brings them back to their work."""
    if expires_at is not None and expires_at <= timezone.now():
        raise ValidationError({"expires_at": "Choose a time in the future, or none."})
    row = PersonalLink.objects.select_for_update(of=("self",)).select_related("study").get(pk=row.pk)
    row.link, row.revoked_at, row.expires_at = made_up_id(), None, expires_at
    row.save(update_fields=["link", "revoked_at", "expires_at"])
    _audit(row, by, "made anew")
    return row


@transaction.atomic
def personal_link_remove(*, row: PersonalLink, by: User | None) -> None:
    """Take somebody off the list who hasn't joined. Raises ``ValidationError`` for who has: their data is removed by a deletion request."""
    row = PersonalLink.objects.select_for_update(of=("self",)).select_related("study").get(pk=row.pk)
    if row.study.participations.filter(recruiter=Personal.name, recruiter_id=row.person).exists():
        raise ValidationError(
            "This person has joined. Revoke the link, or remove their data by a deletion request."
        )
    _audit(row, by, "removed from the list")
    row.delete()


def _audit(row: PersonalLink, by: User | None, what: str) -> None:
    """An entry that names nobody: their made-up id is enough."""
    audit_write(
        action=AuditAction.STUDY_CHANGED, study=row.study, by=by, target=f"personal link {row.person}", after={"link": what}
    )  # fmt: skip
