"""``manage.py reproduce FILE``: compute the report of a release from its data, and compare every value."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotator.core.whole_file import whole_file


class Command(BaseCommand):
    help = (
        "Compute the report of a release from the data in it, and compare every value with the released one. Nothing is stored. "
        "Ends with an error if a value differs."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="The release, a ZIP archive.")
        parser.add_argument("--output", type=Path, help="Write the computed report to this file, as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        from evaluation.releases.archive import ArchiveError, release_open
        from evaluation.releases.reproduce import in_words, release_reproduce
        from evaluation.reports.exports import export

        try:
            release = release_open(options["file"])
            found = release_reproduce(release)
        except ArchiveError as error:
            raise CommandError(f"{options['file']}: {error}") from error
        except OSError as error:
            raise CommandError(f"{options['file']}: {error.strerror}") from error
        if options["output"]:
            try:
                with whole_file(options["output"]) as file:
                    file.write(export(found.content, {}, "json").encode())
            except OSError as error:
                raise CommandError(f"{options['output']}: {error.strerror}") from error
        if found.released_with != found.computed_with:
            self.stderr.write(
                f"The release was made with {found.released_with}; this is {found.computed_with}."
            )
        if found.differing:
            raise CommandError("\n".join([in_words(found), *found.sentences[1:]]))
        self.stdout.write(in_words(found))
