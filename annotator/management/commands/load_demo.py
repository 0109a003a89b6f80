"""Load the demo studies, their log-ins and their rehearsal raters."""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from annotator.services.demo import ANNOTATOR, PASSWORD, RESEARCHER, demo_load, demo_ways_in
from foretell import env


class Command(BaseCommand):
    help = "Load the demo studies; what is there already stays as it is. Refused in production."

    def handle(self, *args: Any, **options: Any) -> None:
        if getattr(settings, "PRODUCTION", False):
            raise CommandError("the demo has public log-ins; it is not loaded in production")
        for line in demo_load():
            self.stdout.write(line)
        # For `make run`, which prints the ways in at every start.
        (env.DATA_DIR / "demo.json").write_text(json.dumps(demo_ways_in(), indent=1))
        self.stdout.write(f"log-ins: {RESEARCHER} / {PASSWORD} (admin), {ANNOTATOR} / {PASSWORD} (annotator)")
