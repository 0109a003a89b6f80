"""``manage.py import_release FILE``: make the studies of a release again on this installation."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotator.core.printable import printable, printable_lines
from annotator.core.words import listed
from annotator.models import User
from evaluation.management.commands.reproduce import key_of
from evaluation.management.watchdog import limits


class Command(BaseCommand):
    help = (
        "Make the studies of a release again: material, versions, raters under their pseudonyms, judgments and runs, all or nothing. They are "
        "closed, in a new workspace. Then the report is computed from them, stored, and compared with the released one."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="The release, a ZIP archive.")
        parser.add_argument("--owner", required=True, metavar="USER", help="Who owns the new workspace.")
        parser.add_argument(
            "--workspace", default="", metavar="NAME", help="Its name. Default: the release's title."
        )
        parser.add_argument(
            "--key",
            default="",
            help="The public key of the lab that made the release (ed25519:…, or the path of a PEM file).",
        )
        parser.add_argument(
            "--as-template",
            action="store_true",
            help="Make a draft like each study: its material, texts, exam and plan, without raters, judgments and runs.",
        )
        parser.add_argument(
            "--minutes", type=float, default=60, help="Stop after this many minutes. Default: 60."
        )
        parser.add_argument(
            "--memory", type=int, default=4_000, metavar="MB", help="Stop at this much memory. Default: 4000."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        from evaluation.moves.templates import release_template
        from evaluation.releases.archive import ArchiveError
        from evaluation.releases.importing import release_import
        from evaluation.releases.reading import release_open
        from evaluation.releases.reproduce import coarsened_warnings, signature_problems
        from evaluation.releases.reproduction import in_words
        from evaluation.services.imported_report import imported_report

        owner = User.objects.filter(username=options["owner"], is_staff=True).first()
        if owner is None:
            raise CommandError(f"--owner: there is no researcher {options['owner']!r}")
        name = printable(str(options["file"]))
        try:
            with limits(minutes=options["minutes"], megabytes=options["memory"], error=ArchiveError):
                release = release_open(options["file"])
                problems = signature_problems(release, key_of(options["key"]))
                if problems:
                    raise ArchiveError("\n".join(problems))
                if options["as_template"]:
                    drafts = release_template(release, by=owner, workspace=options["workspace"])
                    named = printable(listed([draft.slug for draft in drafts]))
                    self.stdout.write(
                        f"Made as a template: {named}, in the workspace {printable(str(drafts[0].workspace))}."
                    )
                    return
                studies = release_import(release, by=owner, workspace=options["workspace"])
                slugs = listed([study.slug for study in studies])
                self.stdout.write(
                    f"Imported: {printable(slugs)}, in the workspace {printable(str(studies[0].workspace))}."
                )
                report, found = imported_report(studies=studies, release=release, user=owner)
        except ArchiveError as error:
            raise CommandError(f"{name}: {printable_lines(str(error))}") from error
        except OSError as error:
            raise CommandError(f"{name}: {error.strerror}") from error
        words = printable_lines(
            "\n".join([in_words(found), *found.sentences[1:]] if found.differing else [in_words(found)])
        )
        if found.differing:
            raise CommandError(
                f"The studies were imported, but their report ({report.pk}) isn't the released one.\n{words}"
            )
        self.stdout.write(f"Report {report.pk}: {words}")
        for said in coarsened_warnings(release.manifest):
            self.stdout.write(printable_lines(said))
