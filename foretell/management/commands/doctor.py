"""``manage.py doctor [--mail] [--json]``."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from foretell.doctor import examine

MARKS = {"ok": "ok     ", "warning": "WARNING", "error": "ERROR  "}


class Command(BaseCommand):
    help = "Examine this installation. Exit status 1 if anything is wrong, so that a monitor can run it."
    #: The findings include these.
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--mail", action="store_true", help="Log in to the mail server; nothing is sent.")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        findings = list(examine(mail=options["mail"]))
        if options["json"]:
            self.stdout.write(json.dumps([asdict(finding) for finding in findings], indent=1))
        else:
            for finding in findings:
                self.stdout.write(
                    f"{MARKS[finding.level]} {finding.name}: {finding.about} {finding.advice}".rstrip()
                )
        if any(finding.level == "error" for finding in findings):
            sys.exit(1)
