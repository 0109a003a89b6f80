"""Load the demo studies, their accounts and their rehearsal raters."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from annotator.services.demo import demo_accounts, demo_load, demo_ways_in
from foretell import env


class Command(BaseCommand):
    help = "Load the demo studies; existing ones stay unchanged. Refused in production."

    def handle(self, *args: Any, **options: Any) -> None:
        if getattr(settings, "PRODUCTION", False):
            raise CommandError("the demo's passwords are printed; it is not loaded in production")
        # For `make run`, which prints it at every start.
        file = env.DATA_DIR / "demo.json"
        passwords = demo_accounts(known=known_passwords(file))
        write_private(file, demo_ways_in(passwords=passwords))
        for line in demo_load():
            self.stdout.write(line)
        write_private(file, demo_ways_in(passwords=passwords))
        for username, password in passwords.items():
            self.stdout.write(f"login: {username} / {password}")


def known_passwords(file: Path) -> dict[str, str]:
    """The passwords that an earlier load stored; empty if there is no such file."""
    try:
        return {way["username"]: way["password"] for way in json.loads(file.read_text()) if "password" in way}
    except (OSError, ValueError):
        return {}


def write_private(file: Path, content: Any) -> None:
    """Write a file that only its owner can read, in one step."""
    new = file.with_suffix(".new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        json.dump(content, out, indent=1)
    new.replace(file)
