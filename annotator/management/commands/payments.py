"""``manage.py payments STUDY ACTION``: what the payments page does through the panel and with top-ups, for scripts."""

from __future__ import annotations

from argparse import ArgumentParser
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from annotator.core.words import plural
from annotator.models import Study
from annotator.selectors.pay_batch import pay_batch_open, pay_proposal
from annotator.selectors.top_up import top_up_of
from annotator.services.pay_batch import pay_batch_cancel, pay_batch_make, pay_batch_send, pay_batch_settle
from annotator.services.top_up import top_up_give


class Command(BaseCommand):
    help = (
        "Pay a study's participants through its panel (show, pay with a --key of your own, continue, paid or unpaid for a part whose reply"
        " was lost, cancel what wasn't sent), and give the top-up to the minimum pay per hour (top-up with its --total)."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="the study's slug")
        parser.add_argument(
            "action", choices=["show", "pay", "continue", "paid", "unpaid", "cancel", "top-up"]
        )
        parser.add_argument("--key", default="", help="for pay: 8 to 64 characters, new for each batch")
        parser.add_argument("--digest", default="", help="for pay: the digest that show printed")
        parser.add_argument("--total", default="", help="for top-up: what it costs, as show printed it")

    def handle(self, *args: Any, **options: Any) -> None:
        study = Study.objects.filter(slug=options["study"], deleted_at__isnull=True).first()
        if study is None:
            raise CommandError(f"there is no study {options['study']!r}")
        try:
            self.carry_out(study, options)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None

    def carry_out(self, study: Study, options: dict[str, Any]) -> None:
        action = options["action"]
        if action == "show":
            self.show(study)
        elif action == "top-up":
            try:
                total = Decimal(options["total"])
            except InvalidOperation:
                raise CommandError(
                    f"--total is {options['total']!r}; expected an amount such as 12.50"
                ) from None
            given = top_up_give(study=study, total=total, by=None)
            self.stdout.write(
                f"{plural(len(given.amounts), 'participant')} get {given.total} {given.currency} in all."
            )
        elif action == "pay":
            batch = pay_batch_make(study=study, key=options["key"], digest=options["digest"], by=None)
            pay_batch_send(batch=batch)
            self.stdout.write("Everything was sent.")
        else:
            self.settle(study, action)

    def settle(self, study: Study, action: str) -> None:
        batch = pay_batch_open(study)
        if batch is None:
            raise CommandError("Every batch is finished.")
        if action == "continue":
            pay_batch_send(batch=batch)
            self.stdout.write("The rest was sent.")
        elif action == "cancel":
            self.stdout.write(f"{plural(pay_batch_cancel(batch=batch, by=None), 'payment')} cancelled.")
        else:
            pay_batch_settle(batch=batch, paid=action == "paid", by=None)
            self.stdout.write("Noted. Continue to send the rest.")

    def show(self, study: Study) -> None:
        proposal, top_up = pay_proposal(study), top_up_of(study)
        if proposal.fault:
            self.stdout.write(proposal.fault)
        for label, people, amount in proposal.sums:
            self.stdout.write(
                f"{label}: {amount:.2f} {proposal.currency} for {plural(people, 'participant')}"
            )
        for left in proposal.left_out:
            self.stdout.write(f"left out: {left.name}: {left.why}")
        if proposal.payments:
            self.stdout.write(f"in all {proposal.total} {proposal.currency}, digest {proposal.digest}")
        if (batch := pay_batch_open(study)) is not None:
            self.stdout.write(
                f"the batch with the key {batch.key} isn't finished: {batch.fault or 'continue it'}"
            )
        if top_up.per_hour is None:
            self.stdout.write(f"top-up: {top_up.why}")
        else:
            self.stdout.write(
                f"the median hour pays {top_up.per_hour} {top_up.currency} ({plural(top_up.people, 'participant')}),"
                f" the minimum is {top_up.floor}; a top-up costs {top_up.total} {top_up.currency}"
            )
