"""Turn the public data of Joshi et al. (2023) into a file that `import_material` takes."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotator.core.tables.faults import FileRefused
from annotator.core.whole_file import whole_file
from annotator.core.words import plural
from annotator.services.imports.rationale_utility import (
    MODELS,
    STAND_INS,
    Converted,
    rationale_utility_rows,
    utility_rows,
)


class Command(BaseCommand):
    help = (
        "Turn rationale_utility.json into rows of a study: of `simulation`, joined with the generated questions of"
        " generalisation_final_*.json (--follow-ups), or of `utility`, with the majority's answers (--utility). Every"
        " oddity of the files is reported."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("rationales", metavar="RATIONALES", type=Path)
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--follow-ups", nargs="+", type=Path, metavar="FILE", help="rows of `simulation`")
        what.add_argument("--utility", action="store_true", help="rows of `utility`")
        parser.add_argument(
            "--system", default="",
            help=f"whose rationales: {', '.join(MODELS)} (default: gpt3; with --utility: all)",
        )  # fmt: skip
        parser.add_argument(
            "--answer", choices=list(STAND_INS), default="label",
            help="the stand-in for the system's own answer, which the data do not contain",
        )  # fmt: skip
        parser.add_argument("--output", required=True, type=Path, metavar="OUT.jsonl")

    def handle(self, **options: Any) -> None:
        try:
            if options["utility"]:
                rows = utility_rows(rationales=options["rationales"], system=options["system"])
                self.stdout.write(f"{plural(len(rows), 'row')} in {options['output']}")
            else:
                system = options["system"] or "gpt3"
                result = rationale_utility_rows(
                    rationales=options["rationales"],
                    follow_ups=options["follow_ups"],
                    system=system,
                    answer=options["answer"],
                )
                rows = result.rows
                self._tell(result, system, options["output"])
            with whole_file(options["output"]) as out:
                out.writelines(f"{json.dumps(row, ensure_ascii=False)}\n".encode() for row in rows)
        except FileRefused as refused:
            raise CommandError(str(refused)) from None
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror}") from None

    def _tell(self, result: Converted, system: str, output: Path) -> None:
        for note in result.notes:
            self.stderr.write(note)
        for kind, count in result.counts.items():
            self.stdout.write(f"{count:6} {kind}")
        joined = len({row["instance"] for row in result.rows})
        self.stdout.write(
            f"{plural(result.questions, 'starter question')} with a rationale of {system}, {joined:,} of them with"
            f" generated questions: {plural(len(result.rows), 'row')} in {output}"
        )
