"""Rehearse a study with synthetic raters of known quality, in this process or over HTTP."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from annotator.core.words import plural
from annotator.models import Study
from annotator.services.rehearsal.fill import rehearsal_raters, rehearse
from annotator.services.rehearsal.places import rehearsal_prepare


class Command(BaseCommand):
    help = "Fill a copy of a study's places with rehearsal raters of known quality. Participants' places are not used."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="The study's slug.")
        parser.add_argument("--raters", type=int, default=12)
        parser.add_argument(
            "--accuracy", type=float, default=0.85, help="Mean share of right answers, 0 to 1."
        )
        parser.add_argument("--spread", type=float, default=0.06, help="Standard deviation between raters.")
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--most", type=int, help="Stop after this many judgments.")
        parser.add_argument("--url", help="Play over HTTP against this address instead of in this process.")
        parser.add_argument("--at-once", type=int, default=8, help="How many raters work at once over HTTP.")

    def handle(self, *args: Any, **options: Any) -> None:
        study = Study.objects.filter(slug=options["study"], deleted_at__isnull=True).first()
        if study is None:
            raise CommandError(f"there is no study {options['study']!r}")
        if options["raters"] < 1 or not 0 <= options["accuracy"] <= 1 or options["spread"] < 0:
            raise CommandError("--raters must be at least 1, --accuracy from 0 to 1, --spread not negative")
        if options["url"] and study.state != Study.State.LIVE:
            raise CommandError(f"the study is {study.state}; over HTTP only a live study can be rehearsed")
        try:
            study = rehearsal_prepare(study=study)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        raters = rehearsal_raters(
            study=study,
            count=options["raters"],
            accuracy=options["accuracy"],
            spread=options["spread"],
            seed=options["seed"],
            log_in=bool(options["url"]),
        )
        if options["url"]:
            from annotator.services.rehearsal.over_http import rehearse_http

            ledger = rehearse_http(
                study=study,
                raters=raters,
                url=options["url"].rstrip("/"),
                seed=options["seed"],
                at_once=options["at_once"],
                most=options["most"],
            )
            self.stdout.write(
                f"{plural(ledger.submitted, 'task')} submitted over HTTP by {plural(len(raters), 'rater')} in {ledger.seconds:.1f} s"
                f" ({ledger.submitted / max(ledger.seconds, 0.001):.0f} a second); {plural(len(ledger.faults), 'fault')}"
            )
            for fault in ledger.faults[:20]:
                self.stderr.write(fault)
            if ledger.faults:
                raise CommandError("some answers were not accepted")
        else:
            count = rehearse(study=study, raters=raters, seed=options["seed"], most=options["most"])
            self.stdout.write(f"{plural(count, 'judgment')} by {plural(len(raters), 'rehearsal rater')}")
