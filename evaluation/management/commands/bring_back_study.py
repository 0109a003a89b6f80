"""``manage.py bring_back_study SLUG``: make a study again that keep_study has put into a file."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotator.core.printable import printable
from evaluation.management.study_files import key_from, key_options, researcher_named, said_plainly
from evaluation.models import KeptStudy
from evaluation.moves.keeping import study_bring_back
from evaluation.moves.templates import kept_study_template


class Command(BaseCommand):
    help = "Make a kept study again from its file, archived, in its workspace, or a draft like it. Without a short name: list the studies that are kept in files."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", nargs="?", default="", help="The study's short name.")
        parser.add_argument(
            "--from", dest="place", type=Path, metavar="FILE", help="The file. Default: where it was written."
        )
        parser.add_argument("--owner", default="", metavar="USER", help="Who becomes an owner of the study.")
        parser.add_argument(
            "--slug",
            dest="new_slug",
            default="",
            metavar="SLUG",
            help="Another short name, if the old one is taken by now.",
        )
        parser.add_argument(
            "--as-template",
            action="store_true",
            help="Make a new draft with its material, texts, exam and plan, and leave the study in its file.",
        )
        key_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        kept = KeptStudy.objects.filter(brought_back_at__isnull=True)
        if not options["slug"]:
            for one in kept:
                self.stdout.write(
                    f"{one.slug}: {printable(one.place)}, {one.bytes:,} bytes, SHA-256 {one.sha256}"
                )
            return
        found = kept.filter(slug=options["slug"]).first()
        if found is None:
            raise CommandError(f"No study {printable(options['slug'])!r} is kept in a file.")
        owner, key = researcher_named(options["owner"]), key_from(options, new=False)
        path = options["place"] or Path(found.place)
        if options["as_template"]:
            with said_plainly(path):
                made = kept_study_template(kept=found, path=path, key=key, by=owner, slug=options["new_slug"])
            self.stdout.write(f"Made the draft {made.slug} like {found.slug}, which stays in its file.")
            return
        with said_plainly(path):
            study = study_bring_back(kept=found, path=path, key=key, by=owner, slug=options["new_slug"])
        self.stdout.write(f"Brought back {study.slug}. It is still archived.")
