"""``manage.py personal_links STUDY ACTION``: what the page of personal links does, for scripts."""

from __future__ import annotations

import io
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from annotator.core.tables.faults import FaultLog, FileRefused
from annotator.management.arguments import owner_named, study_named
from annotator.models import AuditAction, PersonalLink, Study
from annotator.selectors.personal_links import personal_links_csv, personal_links_of
from annotator.services.audit import audit_write
from annotator.services.personal_links import (
    people_read,
    personal_link_remove,
    personal_link_renew,
    personal_link_revoke,
    personal_links_make,
)


class Command(BaseCommand):
    help = (
        "Personal links of a study. add FILE adds the people of a CSV file (columns name, email, id), all or nobody; list writes everybody's link "
        "as CSV; revoke, renew and remove take somebody's email address, id or made-up id."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="the study's slug")
        parser.add_argument("action", choices=["add", "list", "revoke", "renew", "remove"])
        parser.add_argument("who", nargs="?", default="", help="for add: the file; otherwise the person")
        parser.add_argument("--site", default="", help="the server's address, such as https://lab.example")
        parser.add_argument("--until", default="", help="until when links work: 2027-01-31T18:00+01:00")
        parser.add_argument("--by", default="", metavar="USER", help="who did it, for the audit trail")

    def handle(self, *args: Any, **options: Any) -> None:
        study, by = study_named(study=options["study"]), owner_named(options["by"])
        action, who, site = options["action"], options["who"], options["site"]
        if (action == "list") == bool(who):
            raise CommandError("list takes no name; every other action takes a file or a person")
        if action in ("add", "list", "renew") and not site.startswith(("http://", "https://")):
            raise CommandError(
                "Give the server's address, which the links begin with: --site https://lab.example"
            )
        until = None
        if options["until"]:
            until = parse_datetime(options["until"])
            if until is None:
                raise CommandError(
                    f"--until {options['until']!r}: expected a date and time such as 2027-01-31T18:00+01:00"
                )
            until = until if timezone.is_aware(until) else timezone.make_aware(until)
        rows: list[PersonalLink] | None = None
        try:
            if action == "add":
                log = FaultLog(who)
                people = people_read(io.BytesIO(self.content(who)), name=who, log=log)
                rows = personal_links_make(study=study, people=people, by=by, log=log, expires_at=until)
            elif action == "revoke":
                personal_link_revoke(row=self.person(study, who), by=by)
            elif action == "renew":
                rows = [personal_link_renew(row=self.person(study, who), by=by, expires_at=until)]
            elif action == "remove":
                personal_link_remove(row=self.person(study, who), by=by)
        except FileRefused as refused:
            raise CommandError(str(refused)) from None
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        if action in ("add", "list", "renew"):
            audit_write(action=AuditAction.EXPORTED, study=study, by=by, target="personal links")
            self.stdout.write(personal_links_csv(personal_links_of(study, site=site, rows=rows)), ending="")

    def content(self, path: str) -> bytes:
        try:
            return Path(path).read_bytes()
        except OSError as error:
            raise CommandError(f"{path}: can't be read: {error.strerror}") from None

    def person(self, study: Study, who: str) -> PersonalLink:
        for field in ("email__iexact", "own_id", "person"):
            row = study.personal_links.filter(**{field: who}).first()
            if row is not None:
                return row
        raise CommandError(f"nobody on the list has the email address or id {who!r}")
