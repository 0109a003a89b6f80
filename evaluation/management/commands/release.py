"""``manage.py release REPORT``: build the anonymised release of a stored report, and write it to a file."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.files.storage import default_storage
from django.core.management.base import BaseCommand, CommandError

from annotator.core.whole_file import whole_file
from annotator.core.words import plural
from evaluation.models import Release, Report
from evaluation.selectors.release import texts_waiting


class Command(BaseCommand):
    help = "Build the anonymised release of a finished report, and write it to a file. It is also stored with the report."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("report", type=int, help="The report's number.")
        parser.add_argument("--output", type=Path, help="The file to write, a ZIP archive.")
        for name, text in (
            ("title", "The title of the data card."),
            ("description", "What the data are and who collected them. Markdown."),
            ("licence", "The licence, for example CC BY 4.0."),
            ("citation", "How to cite the data."),
        ):
            parser.add_argument(f"--{name}", default="", help=text)
        parser.add_argument(
            "--author",
            action="append",
            default=[],
            dest="authors",
            metavar="AUTHOR",
            help="An author: 'family name, given names; ORCID; affiliation'. Can be repeated.",
        )
        parser.add_argument(
            "--attribute",
            action="append",
            default=[],
            dest="attributes",
            metavar="NAME",
            help="An attribute of raters to release, such as age. Can be repeated. Those that the report is grouped or filtered by "
            "are always released.",
        )

        parser.add_argument(
            "--small-groups",
            choices=Release.SmallGroups.values,
            default=Release.SmallGroups.COARSEN,
            help="What happens to attributes, and combinations of them, that few raters share: coarsen (numbers become bands, rare values "
            "“other”), drop or keep. Default: coarsen.",
        )
        parser.add_argument(
            "--smallest-group",
            type=int,
            default=5,
            metavar="N",
            help="Every combination of attributes is shared by at least this many raters. Default: 5.",
        )
        parser.add_argument(
            "--timings",
            choices=Release.Timings.values,
            default=Release.Timings.EXACT,
            help="The seconds that answers took: exact, rounded to 1 or 10 seconds, or none. Default: exact.",
        )
        parser.add_argument(
            "--cost",
            action="store_true",
            help="Only print how many raters, values and rows the coarsening would change. Nothing is made.",
        )
        parser.add_argument(
            "--free-text",
            action="store_true",
            help="Release answers in words and reasons of exclusions. Someone has to approve each text on the release's page first; "
            "the archive is downloaded there.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        from evaluation.services.release import attributes_check, release_compute, release_create

        report = Report.objects.filter(pk=options["report"]).first()
        if report is None:
            raise CommandError(f"no report has the number {options['report']}")
        if not (options["cost"] or options["output"]):
            raise CommandError("--output is missing: the file to write")
        chosen = {name: options[name] for name in ("small_groups", "smallest_group", "timings")}
        if options["cost"]:
            from evaluation.releases.cost import release_cost
            from evaluation.releases.small_cells import Coarsening

            if not 2 <= options["smallest_group"] <= 1000:
                raise CommandError("--smallest-group: expected a whole number from 2 to 1000")
            try:
                attributes_check(report, options["attributes"])
            except ValidationError as error:
                raise CommandError("; ".join(error.messages)) from error
            cost = release_cost(
                report=report, attributes=options["attributes"], coarsening=Coarsening(**chosen)
            )
            self.stdout.write("\n".join(cost.sentences) or "Nothing would be coarsened.")
            return
        texts = {name: options[name] for name in ("title", "description", "licence", "citation")}
        try:
            release = release_create(
                report=report,
                authors="\n".join(options["authors"]),
                attributes=options["attributes"],
                free_text=options["free_text"],
                send=False,
                **chosen,
                **texts,
            )
        except ValidationError as error:
            raise CommandError("; ".join(error.messages)) from error
        release_compute(release_pk=release.pk)
        release.refresh_from_db()
        if release.state == Release.State.REVIEW:
            waiting = texts_waiting(release=release).count()
            raise CommandError(
                f"No file was written: {plural(waiting, 'text')} of release {release.pk} must be approved or removed first. Open /releases/{release.pk}/."
            )
        if release.state != Release.State.DONE:
            raise CommandError(release.error)
        try:
            with whole_file(options["output"]) as file, default_storage.open(release.file) as stored:
                for piece in stored.chunks():
                    file.write(piece)
        except OSError as error:
            raise CommandError(f"{options['output']}: {error.strerror}") from error
        for text in release.notices:
            self.stderr.write(text)
        self.stdout.write(
            f"{options['output']}: {release.bytes:,} bytes, SHA-256 {release.sha256}\n{release.comparison}"
        )
