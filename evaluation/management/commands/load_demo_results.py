"""Load the demo's simulator and report, unless they exist already."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from evaluation.services.demo import demo_results_load
from foretell import env


class Command(BaseCommand):
    help = "Run a scripted simulator on the demo studies and compute their reports. Refused in production."

    def handle(self, *args: Any, **options: Any) -> None:
        if getattr(settings, "PRODUCTION", False):
            raise CommandError("the demo is not loaded in production")
        for line in demo_results_load(base_url=env.SCRIPTED_PROVIDER_URL):
            self.stdout.write(line)
