"""``manage.py prolific_stand_in``: a small Prolific on this machine, to try recruitment out without an account or money."""

from __future__ import annotations

import threading
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from annotator.recruitment.stand_in.books import TOKEN, ProlificBooks
from annotator.recruitment.stand_in.links import ISSUER
from annotator.recruitment.stand_in.server import StandIn, Troubles, events_send
from annotator.services.panel_demo import DemoResearcher, panel_demo_publish, panel_demo_researcher
from annotator.services.rehearsal.panel_people import PanelPeople

#: People who work at the same time, and who come in a minute in the demo.
AT_ONCE, PER_MINUTE = 30, 40.0


class Command(BaseCommand):
    help = (
        "Serve a stand-in of Prolific until interrupted: its API, signing keys and webhooks, with people who take part, leave, return and time out. It prints "
        "the variables with which to start Foretell, and the token to connect with."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8082, help="0 takes a free port")
        parser.add_argument(
            "--arrivals",
            type=float,
            default=0,
            help="people a minute who come by themselves and take part (40 with --people)",
        )
        parser.add_argument(
            "--people",
            type=int,
            default=0,
            help="show the demo: as many people come to a study that is made for it, and its researcher decides and pays",
        )
        parser.add_argument(
            "--site", default="", help="with --people: the address of Foretell, such as http://127.0.0.1:8000"
        )
        parser.add_argument(
            "--pause", type=float, default=4.0, help="most seconds between two steps of a person"
        )
        parser.add_argument(
            "--pay-every", type=float, default=60.0, help="with --people: seconds between two payments"
        )
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
        if bool(options["people"]) != bool(options["site"]):
            raise CommandError("--people and --site go together")
        books, stop = ProlificBooks(), threading.Event()
        server = StandIn(books, host=options["host"], port=options["port"])
        faults = Troubles(options["lost"], options["doubled"], options["limited"], options["failed"])
        started: list[tuple[Callable[..., None], dict[str, Any]]] = [
            (events_send, {"books": books, "faults": faults, "stop": stop, "seed": options["seed"]})
        ]
        if options["people"]:
            started.append((self.demo, {"books": books, "stop": stop, **options}))
        elif options["arrivals"]:
            come = {"stop": stop, "per_minute": options["arrivals"]}
            started.append((PanelPeople(books, at_once=AT_ONCE, pause=(0, options["pause"])).run, come))
        for work, arguments in started:
            threading.Thread(target=work, kwargs=arguments, daemon=True).start()
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

    def demo(
        self, *, books: ProlificBooks, stop: threading.Event, people: int, site: str, **options: Any
    ) -> None:
        """Wait for the demo's researcher, publish a study, and let people come; the researcher decides and pays meanwhile, and goes on."""
        while (by := panel_demo_researcher()) is None:
            if stop.wait(1):
                return
        row = panel_demo_publish(site=site.rstrip("/"), people=people, by=by)
        self.stdout.write(
            f"{people} people come to {site.rstrip('/')}/admin/annotator/study/{row.study_id}/recruitment/"
        )
        self.stdout.flush()
        researcher = DemoResearcher(books, row, by, pay_every=options["pay_every"])
        threading.Thread(target=researcher.run, args=(stop,), daemon=True).start()
        come = PanelPeople(
            books, at_once=AT_ONCE, pause=(0, options["pause"]), accuracy=(0.5, 0.98), remote=row.remote_id
        )
        come.run(stop, per_minute=options["arrivals"] or PER_MINUTE, most=people)
        connection.close()
        self.stdout.write(
            f"{come.came} people came: " + ", ".join(f"{n} {end}" for end, n in come.ends.most_common())
        )
        self.stdout.flush()
