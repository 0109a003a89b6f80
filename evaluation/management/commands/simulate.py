"""``manage.py simulate STUDY --endpoint NAME``: let a model judge every item of a study."""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from annotator.core.words import plural
from annotator.models import Study
from evaluation.management.control import money
from evaluation.management.endpoints import endpoint_of_study
from evaluation.models import Run
from evaluation.runs.create import RunPlan
from evaluation.runs.estimate import run_estimate
from evaluation.runs.inline import run_inline
from evaluation.runs.lifecycle import OVER, run_start
from evaluation.runs.request import sampling
from evaluation.selectors.run import run_progress
from evaluation.simulators.start import simulation_create, simulation_draft


class Command(BaseCommand):
    help = "Have a model judge every item of a study as a simulator. Items that it has already judged are left out."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="The study's slug.")
        parser.add_argument("--endpoint", required=True, help="The endpoint's name.")
        parser.add_argument("--model", default="", help="Default: the endpoint's model.")
        parser.add_argument(
            "--allow-own-model",
            action="store_true",
            help="Allow a model whose explanations the study is about as a simulator.",
        )
        parser.add_argument(
            "--by-fingerprint",
            action="store_true",
            help="Count replies with another fingerprint as another simulator's.",
        )
        parser.add_argument("--samples", type=int, default=1, help="Answers per item; the majority counts.")
        parser.add_argument("--together", type=int, default=1, help="Items per request.")
        parser.add_argument(
            "--prompt", type=Path, help="A file with the prompt; default: the HIT type's own."
        )
        parser.add_argument(
            "--parameters",
            type=json_object,
            default={},
            metavar="JSON",
            help="Sent with every request, e.g. '{\"top_p\": 0.9}'; null leaves out one of the endpoint's.",
        )
        parser.add_argument("--temperature", type=float)
        parser.add_argument("--seed", type=int)
        parser.add_argument(
            "--logprobs", action="store_true", help="Store the model's probability of each label beside it."
        )
        parser.add_argument("--budget", type=money, help="The most that the run may cost.")
        parser.add_argument("--budget-calls", type=int, help="The most requests that the run may send.")
        parser.add_argument(
            "--workers", type=int, default=1, help="The number of worker processes that can share the run."
        )
        parser.add_argument("--batch", action="store_true", help="Use the endpoint's batch API.")
        parser.add_argument(
            "--no-cache", action="store_true", help="Send requests even if their replies are in the cache."
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="Show the number and the cost of the calls; send nothing."
        )
        parser.add_argument(
            "--inline", action="store_true", help="Work in this process instead of in Celery workers."
        )
        parser.add_argument("--detach", action="store_true", help="Start the run and don't wait for it.")

    def handle(self, *args: Any, **options: Any) -> None:
        study = Study.objects.filter(slug=options["study"], deleted_at__isnull=True).first()
        if study is None:
            raise CommandError(f"There is no study {options['study']!r}.")
        endpoint = endpoint_of_study(name=options["endpoint"], workspace_id=study.workspace_id)
        try:
            chosen: dict[str, Any] = {
                "study": study,
                "endpoint": endpoint,
                "plan": _plan(options),
                "allow_own_model": options["allow_own_model"],
                "by_fingerprint": options["by_fingerprint"],
            }
            if options["dry_run"]:
                self._estimate(simulation_draft(**chosen))
                return
            run = simulation_create(**chosen)
        except ValidationError as error:
            raise CommandError("; ".join(error.messages)) from None
        run = run_start(run=run)
        self.stdout.write(f"run {run.pk}: {run.rater}")
        if options["inline"]:
            run_inline(run=run)
        elif not options["detach"]:
            self._wait(run)
        self._report(run)

    def _estimate(self, run: Run) -> None:
        e = run_estimate(run=run)
        between = (
            f" ({e.low:.4f} to {e.high:.4f}, by {plural(e.earlier, 'earlier reply', 'earlier replies')})"
            if e.earlier
            else ""
        )
        self.stdout.write(
            f"{plural(e.calls, 'call')} of {plural(e.stages, 'stage')}, about {plural(e.tokens_in, 'token')} in and {e.tokens_out:,} out: "
            f"about {e.likely:.4f}{between}, at most {e.most:.4f}. Nothing was sent."
        )

    def _wait(self, run: Run) -> None:
        while run.state not in OVER and run.state != Run.State.PAUSED:
            time.sleep(1)
            run.refresh_from_db()

    def _report(self, run: Run) -> None:
        run.refresh_from_db()
        p = run_progress(run)
        self.stdout.write(
            f"{run.get_state_display()}{': ' + run.reason if run.reason else ''}. {p.done} of {p.total} done, "
            f"{p.failed} failed, {p.unparsable} unparsable, {p.tied} tied; spent {p.spent:.4f}"
            + (f", possibly {p.perhaps_spent:.4f} more" if p.perhaps_spent else "")
            + (f"; the server returned {p.fingerprints} fingerprints" if p.fingerprints > 1 else "")
        )


def json_object(text: str) -> dict[str, Any]:
    """A JSON object, for an argument of a command; raises ``ValueError``."""
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(text)
    return value


def _prompt(file: Path | None) -> str:
    """The text of a prompt's file; empty if none is given. Raises ``CommandError``."""
    if file is None:
        return ""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"--prompt {file}: {error}") from None


def _plan(options: dict[str, Any]) -> RunPlan:
    return RunPlan(
        model=options["model"],
        prompt=_prompt(options["prompt"]),
        parameters=options["parameters"]
        | sampling(temperature=options["temperature"], seed=options["seed"], logprobs=options["logprobs"]),
        samples=options["samples"],
        together=options["together"],
        mode=Run.Mode.BATCH if options["batch"] else Run.Mode.LIVE,
        workers=options["workers"],
        use_cache=not options["no_cache"],
        budget_cost=options["budget"],
        budget_calls=options["budget_calls"],
    )
