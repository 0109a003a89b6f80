"""``manage.py run_calls export|import``: share the calls of a run as JSON lines, and replay them without paying."""

from __future__ import annotations

import shutil
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from annotator.core.whole_file import whole_file
from annotator.core.words import plural
from annotator.models import Study
from evaluation.management.endpoints import endpoint_of_study
from evaluation.models import Run
from evaluation.services.call_files import calls_download, calls_import
from evaluation.services.inspect_logs import run_log_download


class Command(BaseCommand):
    help = "Write the calls of a run to a file of JSON lines, or add a file's replies to the cache of a study's workspace."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        out = actions.add_parser("export", help="Write the calls of a run.")
        out.add_argument("run", type=int, help="The number of the run.")
        out.add_argument("--output", type=Path, required=True, help="The file to write.")
        out.add_argument(
            "--format", choices=["jsonl", "eval"], default="jsonl", help="JSON lines, or a log of Inspect."
        )
        back = actions.add_parser(
            "import", help="Store a file's replies for runs that send the same requests."
        )
        back.add_argument("file", type=Path)
        back.add_argument(
            "--study", required=True, help="The slug of a study in the workspace that may use them."
        )
        back.add_argument("--endpoint", required=True, help="The endpoint that they count as replies of.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if options["action"] == "export":
                self._export(options)
            else:
                self._import(options)
        except OSError as error:
            raise CommandError(str(error)) from None
        except ValidationError as error:
            raise CommandError("; ".join(error.messages)) from None

    def _export(self, options: dict[str, Any]) -> None:
        run = Run.objects.filter(pk=options["run"]).first()
        if run is None:
            raise CommandError(f"There is no run {options['run']}.")
        if options["format"] == "eval":
            with whole_file(options["output"]) as file, run_log_download(run=run) as log:
                shutil.copyfileobj(log, file)
            self.stdout.write(f"Wrote {run} to {options['output']}, as a log of Inspect.")
            return
        with whole_file(options["output"]) as file:
            written = sum(1 for line in calls_download(run=run) if file.write(line.encode()))
        self.stdout.write(f"Wrote {plural(written, 'call')} of {run} to {options['output']}.")

    def _import(self, options: dict[str, Any]) -> None:
        study = Study.objects.filter(slug=options["study"]).first()
        if study is None:
            raise CommandError(f"There is no study {options['study']!r}.")
        endpoint = endpoint_of_study(name=options["endpoint"], workspace_id=study.workspace_id)
        with options["file"].open(encoding="utf-8") as file:
            run = calls_import(lines=file, endpoint=endpoint, study=study)
        self.stdout.write(f"Stored {plural(run.calls.count(), 'reply', 'replies')} as run {run.pk}.")
