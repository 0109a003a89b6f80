"""``manage.py review STUDY ACTION``: what the review desk does, for scripts."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from annotator.core.words import plural
from annotator.management.arguments import owner_named, study_named
from annotator.models import ReviewDecision, Study
from annotator.selectors.review_desk import SHOWN, review_desk
from annotator.services.review_desk import batch_undo, decisions_carry_out, decisions_hurry, decisions_make


class Command(BaseCommand):
    help = (
        "List the submissions of a study that need a decision, with their evidence, as JSON lines; accept, reject, ask to return or don't "
        "pay some, all or none; undo that; or carry out now what is held."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="The study's slug.")
        parser.add_argument("action", choices=["list", *ReviewDecision.Kind.values, "undo", "carry-out"])
        parser.add_argument(
            "--show", choices=list(SHOWN), default="waiting", help="For list: which submissions."
        )
        parser.add_argument("--rater", action="append", default=[], metavar="NAME", help="Can be repeated.")
        parser.add_argument("--bonus", default="", help="For accept: an amount in the study's currency.")
        parser.add_argument("--text", default="", help="The reason, as participants read it.")
        parser.add_argument("--category", default="", help="For reject: the panel's reason.")
        parser.add_argument("--term", default="", help="For unpaid: the condition of the study's terms.")
        parser.add_argument("--batch", default="", metavar="ID", help="For undo: what the decision printed.")
        parser.add_argument("--by", default="", metavar="USER", help="Who decides, for the audit trail.")

    def handle(self, *args: Any, **options: Any) -> None:
        study, action = study_named(study=options["study"]), options["action"]
        by = owner_named(options["by"])
        try:
            if action == "list":
                self.list(study, options["show"])
            elif action == "carry-out":
                decisions_hurry(study=study)
                self.stdout.write(f"{plural(decisions_carry_out(study=study), 'decision')} carried out")
                for review_decision in ReviewDecision.objects.filter(
                    study=study, in_force=True, done_at=None
                ).exclude(fault=""):
                    self.stderr.write(f"{review_decision.participation.rater.name}: {review_decision.fault}")
            elif action == "undo":
                undone = batch_undo(study=study, batch=_batch(options["batch"]), by=by)
                self.stdout.write(f"{plural(undone, 'decision')} undone")
            else:
                made = decisions_make(
                    study=study, by=by, raters=_raters(study, options["rater"]), kind=action, text=options["text"],
                    category=options["category"], term=options["term"], bonus=_amount(options["bonus"]),
                )  # fmt: skip
                self.stdout.write(f"{plural(len(made), 'decision')} held; batch {made[0].batch}")
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None

    def list(self, study: Study, show: str) -> None:
        for one in review_desk(study).shown(show):
            signs = {sign.kind: sign.words for sign in one.evidence.signs}
            decision = one.decision.kind if one.decision else None
            about = {"name": one.name, "done": one.done, "accepted": one.accepted, "panel_status": one.status}
            self.stdout.write(json.dumps(about | {"signs": signs, "decision": decision}))


def _raters(study: Study, names: list[str]) -> list[int]:
    found: dict[str, list[int]] = {}
    people = study.participations.filter(rater__name__in=names, rater__rehearsal=False)
    for name, rater in people.values_list("rater__name", "rater"):
        found.setdefault(name, []).append(rater)
    for name in names:
        if len(found.get(name, ())) != 1:
            raise CommandError(
                f"--rater: expected one participant named {name!r}, found {len(found.get(name, ()))}"
            )
    return [found[name][0] for name in names]


def _amount(text: str) -> Decimal | None:
    try:
        return Decimal(text) if text else None
    except InvalidOperation:
        raise CommandError(f"--bonus: {text!r} isn't an amount of money") from None


def _batch(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise CommandError(f"--batch: {text!r} isn't the id of decisions") from None
