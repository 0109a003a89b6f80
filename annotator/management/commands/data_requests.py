"""``manage.py data_requests list|carry-out|decline|replay``."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from annotator.core.words import plural
from annotator.models import DataRequest
from annotator.services.erasure import data_request_carry_out, data_request_decline, erasures_replay


class Command(BaseCommand):
    help = "Participants' requests to delete their data: list them, carry them out, or decline them with a reason."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        actions.add_parser("list", help="open requests, the most urgent first")
        for name, about in (
            ("carry-out", "remove the person's data from the study by its policy"),
            ("decline", "the participant reads the note"),
        ):
            action = actions.add_parser(name, help=about)
            action.add_argument("request", type=int)
            action.add_argument("--note", default="", help="the message that the participant sees")
        actions.add_parser(
            "replay", help="after a restore: remove the data again of everyone who had been erased"
        )

    def handle(self, *args: Any, action: str, verbosity: int = 1, **options: Any) -> None:
        if action == "list":
            for data_request in DataRequest.objects.filter(state="open").select_related("study", "rater"):
                late = " (overdue)" if data_request.due_at < timezone.now() else ""
                self.stdout.write(
                    f"{data_request.pk}  {data_request.study.slug}  {data_request.rater}  due {data_request.due_at:%Y-%m-%d}{late}"
                )
            return
        if action == "replay":
            again = erasures_replay()
            if verbosity:
                self.stdout.write(f"Removed the data of {plural(again, 'person', 'people')} again.")
            return
        try:
            request = DataRequest.objects.get(pk=options["request"])
            if action == "decline":
                data_request_decline(request=request, by=None, note=options["note"])
            else:
                for text in data_request_carry_out(request=request, by=None, note=options["note"]):
                    self.stderr.write(text)
        except DataRequest.DoesNotExist:
            raise CommandError(f"There is no request {options['request']}.") from None
        except ValidationError as error:
            raise CommandError("; ".join(error.messages)) from None
        self.stdout.write("Carried out." if action == "carry-out" else "Declined.")
