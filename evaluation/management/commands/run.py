"""``manage.py run PK show|start|pause|resume|cancel|same-deployment|retry|budget``: control a run of model calls."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from annotator.core.errors import Conflict
from evaluation.management.commands.simulate import money
from evaluation.models import Run
from evaluation.runs.lifecycle import (
    run_budget_set,
    run_cancel,
    run_deployment_confirm,
    run_pause,
    run_resume,
    run_retry_failed,
    run_start,
)
from evaluation.selectors.run import run_progress

ACTIONS: dict[str, Any] = {
    "start": run_start,
    "pause": run_pause,
    "resume": run_resume,
    "cancel": run_cancel,
}


class Command(BaseCommand):
    help = (
        "Show a run, start, pause, resume or cancel it, confirm that its endpoint's new address is the same deployment, "
        "retry its failed calls, or change its budget."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", type=int, help="The number of the run.")
        parser.add_argument("action", choices=["show", *ACTIONS, "same-deployment", "retry", "budget"])
        parser.add_argument(
            "--deployment",
            action="append",
            help="same-deployment: where the endpoint is now, as the error without it names it.",
        )
        parser.add_argument(
            "--call", type=int, action="append", help="retry: this call only; may be repeated."
        )
        parser.add_argument("--cost", type=money, help="budget: the most that the run may cost.")
        parser.add_argument("--calls", type=int, help="budget: the most requests that it may send.")
        parser.add_argument("--no-limit", action="store_true", help="budget: remove the limits not given.")

    def handle(self, *args: Any, **options: Any) -> None:
        run = Run.objects.filter(pk=options["run"]).first()
        if run is None:
            raise CommandError(f"There is no run {options['run']}.")
        try:
            self._act(run, options)
        except (Conflict, ValidationError) as error:
            raise CommandError("; ".join(getattr(error, "messages", [str(error)]))) from None
        run.refresh_from_db()
        progress = run_progress(run)
        reason = f": {run.reason}" if run.reason else ""
        self.stdout.write(
            f"{run} is {run.get_state_display()}{reason} {progress.done} of {progress.total} calls done, "
            f"{progress.failed} failed, {progress.unparsable} unparsable; spent {progress.spent:.4f} of "
            f"{'no limit' if run.budget_cost is None else run.budget_cost}, sent {progress.sent} of "
            f"{'no limit' if run.budget_calls is None else run.budget_calls} requests."
        )

    def _act(self, run: Run, options: dict[str, Any]) -> None:
        action = options["action"]
        if action == "same-deployment":
            run_deployment_confirm(run=run, deployments=options["deployment"] or [])
        elif action in ACTIONS:
            ACTIONS[action](run=run)
        elif action == "retry":
            again = run_retry_failed(run=run, calls=options["call"])
            self.stdout.write(f"{again} failed {'call is' if again == 1 else 'calls are'} sent again.")
        elif action == "budget":
            rest = (None, None) if options["no_limit"] else (run.budget_calls, run.budget_cost)
            calls = rest[0] if options["calls"] is None else options["calls"]
            cost = rest[1] if options["cost"] is None else options["cost"]
            run_budget_set(run=run, budget_calls=calls, budget_cost=cost)
