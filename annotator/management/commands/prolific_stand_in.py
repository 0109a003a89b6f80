"""``manage.py prolific_stand_in``: a small Prolific on this machine, to try recruitment out without an account or money."""

from __future__ import annotations

import threading
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from annotator.recruitment.stand_in.books import TOKEN, ProlificBooks
from annotator.recruitment.stand_in.links import ISSUER
from annotator.recruitment.stand_in.server import Crowd, StandIn, Troubles


class Command(BaseCommand):
    help = (
        "Serve a stand-in of Prolific until interrupted: its API, signing keys and webhooks, with people who arrive, return and time out. It prints "
        "the variables with which to start Foretell, and the token to connect with."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8082, help="0 takes a free port")
        parser.add_argument(
            "--arrivals", type=float, default=0, help="people a minute who come by themselves"
        )
        parser.add_argument("--leave", type=float, default=0.3, help="share of them who return or time out")
        parser.add_argument("--lost", type=float, default=0, help="share of webhooks that are lost")
        parser.add_argument("--doubled", type=float, default=0, help="share of webhooks that are sent twice")
        parser.add_argument(
            "--limited", type=float, default=0, help="chance a second that a request gets a 429"
        )
        parser.add_argument(
            "--failed", type=float, default=0, help="chance a second that a request gets a 500"
        )
        parser.add_argument("--seed", type=int, default=1)

    def handle(self, *args: Any, **options: Any) -> None:
        books, stop = ProlificBooks(), threading.Event()
        server = StandIn(books, host=options["host"], port=options["port"])
        faults = Troubles(options["lost"], options["doubled"], options["limited"], options["failed"])
        crowd = Crowd(books, options["arrivals"], options["leave"], faults, options["seed"])
        threading.Thread(target=crowd.run, args=(stop,), daemon=True).start()
        self.stdout.write(f"PROLIFIC_API_URL={books.url}")
        self.stdout.write(f"PROLIFIC_KEYS_URL={books.url}/.well-known/study/jwks.json")
        self.stdout.write(f"PROLIFIC_ISSUER={ISSUER}")
        self.stdout.write(f"PROLIFIC_SITE_URL={books.url}/")
        self.stdout.write(f"token: {TOKEN}")
        self.stdout.flush()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass
        finally:
            stop.set()
            server.server_close()
