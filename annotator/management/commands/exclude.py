"""Exclude raters, items and judgments from a study's statistics, and ask other people instead if that is wanted."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from annotator.core.words import plural
from annotator.management.arguments import owner_named, study_named
from annotator.models import Exclusion, Judgment, Rater, Replacement, Study, User
from annotator.services.collect_again import collect_again
from annotator.services.exclusion import exclusion_lift, exclusion_make, judgments_exclude


class Command(BaseCommand):
    help = (
        "Exclude raters, items or judgments from a study's statistics, all or none. The data is kept. With --collect-again,"
        " other people are asked in place of the excluded judgments. --lift and --collect take the ids of exclusions in force."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="The study's slug.")
        parser.add_argument("--rater", action="append", default=[], metavar="NAME", help="Can be repeated.")
        parser.add_argument("--rater-kind", choices=Rater.Kind.values, help="If two raters have the name.")
        parser.add_argument("--item", action="append", default=[], metavar="KEY", help="Can be repeated.")
        parser.add_argument("--judgment", action="append", default=[], type=int, metavar="ID", help="Can be repeated.")  # fmt: skip
        parser.add_argument("--reason", default="", help="Kept with the exclusion and shown in reports.")
        parser.add_argument("--collect-again", action="store_true", help="Ask other people instead.")
        parser.add_argument("--collect", action="append", default=[], type=int, metavar="ID", help="Ask other people in place of an exclusion in force.")  # fmt: skip
        parser.add_argument("--lift", action="append", default=[], type=int, metavar="ID", help="Lift an exclusion.")  # fmt: skip
        parser.add_argument("--by", default="", metavar="USER", help="Who excludes, for the audit trail.")

    def handle(self, *args: Any, **options: Any) -> None:
        study, by = study_named(study=options["study"]), owner_named(options["by"])
        named = [*options["rater"], *options["item"], *options["judgment"]]
        if not named and not options["collect"] and not options["lift"]:
            raise CommandError("name something to exclude: --rater, --item or --judgment")
        try:
            with transaction.atomic():
                made = self.exclude(study, by, options) if named else []
                for pk in options["collect"]:
                    opened = collect_again(exclusion=self.exclusion(study, pk), by=by)
                    self.stdout.write(f"exclusion {pk}: {plural(opened, 'place')} opened")
                for pk in options["lift"]:
                    exclusion_lift(exclusion=self.exclusion(study, pk))
                    self.stdout.write(f"exclusion {pk} lifted")
        except ValidationError as error:
            raise CommandError("; ".join(error.messages)) from None
        if named:
            opened = Replacement.objects.filter(exclusion__in=made).count()
            self.stdout.write(f"{plural(len(made), 'exclusion')} made, {plural(opened, 'place')} opened")

    def exclude(self, study: Study, by: User | None, options: dict[str, Any]) -> list[Exclusion]:
        about = {
            "study": study,
            "by": by,
            "reason": options["reason"],
            "collect_again": options["collect_again"],
        }
        raters = [self.rater(study, name, options["rater_kind"]) for name in options["rater"]]
        made = [exclusion_make(rater=rater, **about) for rater in raters]
        for key in options["item"]:
            item = study.items.filter(key=key).first()
            if item is None:
                raise CommandError(f"--item: there is no item {key!r} in this study")
            made.append(exclusion_make(item=item, **about))
        if options["judgment"]:
            made += judgments_exclude(judgments=self.judgments(study, options["judgment"]), **about)
        return made

    def rater(self, study: Study, name: str, kind: str | None) -> Rater:
        found = Rater.objects.filter(name=name, judgments__study=study, **({"kind": kind} if kind else {}))
        raters = list(found.distinct()[:2])
        if len(raters) != 1:
            trouble = "there are two raters with this name; add --rater-kind" if raters else f"{name!r} has no judgment in this study"  # fmt: skip
            raise CommandError(f"--rater: {trouble}")
        return raters[0]

    def judgments(self, study: Study, pks: list[int]) -> list[Judgment]:
        found = list(study.judgments.filter(pk__in=[pk for pk in pks if 0 < pk < 2**63]))
        missing = sorted(set(pks) - {one.pk for one in found})
        if missing:
            raise CommandError(f"--judgment: there is no judgment {missing[0]} in this study")
        return found

    def exclusion(self, study: Study, pk: int) -> Exclusion:
        found = study.exclusions.filter(pk=pk).first() if 0 < pk < 2**63 else None
        if found is None:
            raise CommandError(f"there is no exclusion {pk} in this study")
        return found
