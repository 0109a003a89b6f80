"""``manage.py scripted_provider``: a language-model service on this machine that needs no key."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from evaluation.providers.scripted.app import Scripted
from evaluation.providers.scripted.server import arguments_add, run


class Command(BaseCommand):
    help = "Serve the scripted provider (OpenAI protocol) until interrupted; prints its address first."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        arguments_add(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        run(app=Scripted(key=options["key"]), host=options["host"], port=options["port"])
