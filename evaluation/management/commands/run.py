"""``manage.py run PK show|start|pause|resume|cancel|same-deployment|retry|give-up|continue-without|budget``: control a run of model calls."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from evaluation.management.control import ControlCommand
from evaluation.models import Run
from evaluation.runs.lifecycle import (
    run_budget_set,
    run_cancel,
    run_continue_without,
    run_deployment_confirm,
    run_give_up,
    run_pause,
    run_resume,
    run_retry_failed,
    run_start,
)
from evaluation.selectors.run import run_progress
from evaluation.simulators.merge import simulators_merge, simulators_separate


class Command(ControlCommand):
    help = (
        "Show a run, start, pause, resume or cancel it, confirm that its endpoint's new address is the same deployment, "
        "retry its failed calls, give up those that hold it up, continue without their items, or change its budget."
    )
    noun = "run"
    rows = Run.objects.all()
    actions = {
        "start": run_start,
        "pause": run_pause,
        "resume": run_resume,
        "cancel": run_cancel,
        "merge-simulators": simulators_merge,
        "separate-simulators": simulators_separate,
    }
    confirm = run_deployment_confirm
    retry = run_retry_failed
    on_calls = {"give-up": run_give_up, "continue-without": run_continue_without}
    cost_help = "budget: the most that the run may cost."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--calls", type=int, help="budget: the most requests that it may send.")
        parser.add_argument(
            "--failed-share",
            type=float,
            help="budget: the run pauses if a larger share of its calls fails; from 0 to 1.",
        )
        parser.add_argument("--no-limit", action="store_true", help="budget: remove the limits not given.")

    def budget_set(self, run: Run, options: dict[str, Any]) -> None:
        unset = (None, None) if options["no_limit"] else (run.budget_calls, run.budget_cost)
        calls = unset[0] if options["calls"] is None else options["calls"]
        cost = unset[1] if options["cost"] is None else options["cost"]
        share = options["failed_share"]
        run_budget_set(run=run, budget_calls=calls, budget_cost=cost, max_failed_share=share)

    def show(self, run: Run) -> None:
        progress = run_progress(run)
        reason = f": {run.reason}" if run.reason else ""
        self.stdout.write(
            f"{run} is {run.get_state_display()}{reason} {progress.done} of {progress.total} calls done, "
            f"{progress.failed} failed, {progress.unparsable} unparsable; spent {progress.spent:.4f} of "
            f"{'no limit' if run.budget_cost is None else run.budget_cost}, sent {progress.sent} of "
            f"{'no limit' if run.budget_calls is None else run.budget_calls} requests."
        )
