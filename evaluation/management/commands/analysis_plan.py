"""``manage.py analysis_plan STUDY``: show a study's analysis plan, read it from a file, seal it, compute its power."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotator.core.errors import Conflict
from annotator.models import Study
from evaluation.models import AnalysisPlan
from evaluation.planning.plan_document import PlanError
from evaluation.planning.plan_drawn import Assumed
from evaluation.selectors.analysis_plan import plan_state
from evaluation.services.analysis_plan import plan_save, plan_seal
from evaluation.services.plan_power import plan_power_store
from evaluation.views.plan import plan_read


class Command(BaseCommand):
    help = "Print the analysis plan of a study as Markdown. With --read it is read from a JSON file first, with --seal it is sealed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="The study's slug.")
        parser.add_argument("--read", type=Path, metavar="FILE", help="Read the plan from this JSON file.")
        parser.add_argument(
            "--seal", action="store_true", help="Seal the plan. It can't be changed afterwards."
        )
        parser.add_argument("--json", action="store_true", help="Print it as JSON, not as Markdown.")

        parser.add_argument("--power", action="store_true", help="Compute the plan's power, and print it.")
        for name, value in vars(Assumed()).items():
            parser.add_argument(
                f"--{name}", type=float, default=value, help=f"Assumed for the power. Default: {value}."
            )
        parser.add_argument(
            "--runs", type=int, default=0, help="Studies to simulate; as many as take seconds without it."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = Study.objects.filter(slug=options["study"], deleted_at__isnull=True).first()
        if study is None:
            raise CommandError(f"There is no study {options['study']!r}.")
        try:
            if options["read"]:
                plan_save(study=study, document=plan_read(options["read"].read_bytes()))
            if options["seal"]:
                plan_seal(study=study)
            if options["power"]:
                assumed = Assumed(**{name: options[name] for name in vars(Assumed())})
                return self.power(plan_power_store(study=study, assumed=assumed, runs=options["runs"]))
        except PlanError as error:
            raise CommandError("\n".join(f"{name}: {text}" for name, text in error.errors.items())) from None
        except (OSError, ValueError, Conflict) as error:
            raise CommandError(str(error)) from None
        state = plan_state(study=study)
        if state.row is None:
            raise CommandError("The study has no analysis plan. Read one with --read FILE.")
        shown = (
            json.dumps(state.to_json(), indent=2, ensure_ascii=False) + "\n"
            if options["json"]
            else state.markdown
        )
        self.stdout.write(shown, ending="")

    def power(self, row: AnalysisPlan) -> None:
        """Print the power as a table, and why a hypothesis has none."""
        found = row.power or {}
        self.stdout.write("hypothesis  instances  raters  power  ±      judgments  cost        hours")
        for one in found.get("rows", ()):
            self.stdout.write(
                f"{one['hypothesis']:<10}  {one['instances']:>9}  {one['raters']:>6}  {one['power']:.3f}  {one['error']:.3f}"
                f"  {one['judgments']:>9,}  {one['cost']:>10,.2f}  {one['hours']:>6,.1f}"
            )
        for name, how in found.get("spread", {}).items():
            self.stdout.write(f"{name}: {how}")
        for name, why in found.get("without", {}).items():
            self.stdout.write(f"{name}: {why}")
