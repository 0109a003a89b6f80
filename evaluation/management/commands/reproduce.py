"""``manage.py reproduce FILE``: make everything in a release again from its data, and compare all of it."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotator.core.printable import printable, printable_lines
from annotator.core.whole_file import whole_file
from evaluation.management.watchdog import limits


class Command(BaseCommand):
    help = (
        "Check a release: verify its signature, make the report, its page, the data card and the table of ratings again from the data in it, "
        "and compare all of them with the released ones. Nothing is stored. Ends with an error if anything differs."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="The release, a ZIP archive.")
        parser.add_argument("--output", type=Path, help="Write the computed report to this file, as JSON.")
        parser.add_argument(
            "--key",
            default="",
            help="The public key of the lab that made the release (ed25519:…, or the path of a PEM file), from its paper or its website. Without "
            "it, the signature only shows that nothing was changed since someone signed it.",
        )
        parser.add_argument(
            "--encoder",
            action="append",
            default=[],
            dest="encoders",
            metavar="NAME",
            help="A model for embedding texts that may be loaded if the release asks for it. Can be repeated.",
        )
        parser.add_argument(
            "--minutes", type=float, default=60, help="Stop after this many minutes. Default: 60."
        )
        parser.add_argument(
            "--memory", type=int, default=4_000, metavar="MB", help="Stop at this much memory. Default: 4000."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        from evaluation.releases.archive import ArchiveError
        from evaluation.releases.reading import release_open
        from evaluation.releases.reproduce import release_reproduce
        from evaluation.releases.reproduction import in_words
        from evaluation.reports.exports import export

        name = printable(str(options["file"]))
        try:
            with limits(minutes=options["minutes"], megabytes=options["memory"], error=ArchiveError):
                release = release_open(options["file"])
                reproduction = release_reproduce(
                    release, key=key_of(options["key"]), encoders=options["encoders"]
                )
        except ArchiveError as error:
            raise CommandError(f"{name}: {printable_lines(str(error))}") from error
        except OSError as error:
            raise CommandError(f"{name}: {error.strerror}") from error
        if options["output"]:
            try:
                with whole_file(options["output"]) as file:
                    file.write(export(reproduction.content, {}, "json").encode())
            except OSError as error:
                raise CommandError(f"{options['output']}: {error.strerror}") from error
        if reproduction.released_with != reproduction.computed_with:
            self.stderr.write(
                f"The release was made with {printable(reproduction.released_with)}; this is {reproduction.computed_with}."
            )
        scope = [f"Checked: {text}." for text in reproduction.checked] + [
            f"Not checked: {text}." for text in reproduction.unchecked
        ]
        if reproduction.differing or reproduction.problems:
            values = [in_words(reproduction), *reproduction.sentences[1:]] if reproduction.differing else []
            lines = [*values, *reproduction.problems, *scope]
            raise CommandError(printable_lines("\n".join(lines)))
        self.stdout.write(printable_lines("\n".join([in_words(reproduction), *scope])))


def key_of(text: str) -> str:
    """The key itself, or the contents of the file that it names."""
    path = Path(text)
    if not text or text.startswith("ed25519:"):
        return text
    try:
        return path.read_text(encoding="utf-8", errors="replace")[:4_096]
    except OSError as error:
        raise CommandError(f"--key {printable(text)}: {error.strerror}") from error
