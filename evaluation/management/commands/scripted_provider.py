"""``manage.py scripted_provider``: a language-model service on this machine that needs no key."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from evaluation.providers.scripted.server import run


class Command(BaseCommand):
    help = "Serve the scripted provider (OpenAI protocol) until interrupted; prints its address first."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8081, help="0 takes a free port.")
        parser.add_argument("--key", default="", help="Refuse requests without this key.")

    def handle(self, *args: Any, **options: Any) -> None:
        run(host=options["host"], port=options["port"], key=options["key"])
