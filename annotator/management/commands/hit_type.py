"""Check a file that declares a HIT type, or show what it makes; it needs no database."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotator.core.words import plural
from annotator.hit_types.base import JSON, Stage
from annotator.hit_types.declaration.made import DeclaredHitType
from annotator.hit_types.declaration.problems import DeclarationRefused, path_text
from annotator.hit_types.declaration.reading import hit_type_read, sample_payload
from annotator.hit_types.declaration.shape import SCHEMA_FILE


class Command(BaseCommand):
    help = "Check a file that declares a HIT type, or show its stages and its prompt. docs/declare-a-hit-type.md explains the file."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        what = parser.add_subparsers(dest="what", required=True, metavar="check|show|schema")
        check = what.add_parser("check", help="list every problem of a file, with its line")
        check.add_argument(
            "files", metavar="FILE", nargs="+", type=Path, help="YAML or JSON; - for standard input"
        )
        show = what.add_parser("show", help="the stages and the prompt of a file, with an item of its own")
        show.add_argument("file", metavar="FILE", type=Path, help="YAML or JSON; - for standard input")
        what.add_parser("schema", help="print the JSON Schema of the format, for editors")

    def handle(self, *, what: str, **options: Any) -> None:
        if what == "schema":
            self.stdout.write(SCHEMA_FILE.read_text(encoding="utf-8"), ending="")
        elif what == "show":
            for line in _shown(_read(options["file"])):
                self.stdout.write(line)
        else:
            self._check(options["files"])

    def _check(self, files: list[Path]) -> None:
        faulty = 0
        for file in files:
            try:
                kind = _kind(file)
            except DeclarationRefused as error:
                faulty += 1
                for problem in error.problems:
                    at = f"{file}:{problem.line}" if problem.line else str(file)
                    self.stdout.write(f"{at}: {path_text(problem.path)} {problem.message}")
                continue
            self.stdout.write(f"{file}: {kind.name}, version {kind.version}: {_counted(kind)}")
        if faulty:
            raise CommandError(f"{plural(faulty, 'file')} with problems; nothing was changed")


def _source(file: Path) -> bytes:
    try:
        return sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror}") from None


def _kind(file: Path) -> DeclaredHitType:
    return hit_type_read(_source(file))


def _read(file: Path) -> DeclaredHitType:
    try:
        return _kind(file)
    except DeclarationRefused as error:
        raise CommandError(f"{file}:\n{error}") from None


def _counted(kind: DeclaredHitType) -> str:
    counts = [
        plural(len(kind.declaration["stages"]), "stage"),
        plural(len(kind.questions), "question"),
        plural(len(kind.variables), "variable"),
        plural(len(kind.practice), "practice question"),
        plural(len(kind.exam), "exam question"),
    ]
    return ", ".join(counts)


def _shown(kind: DeclaredHitType) -> Iterator[str]:
    """A type as text: each stage as a rater sees it, and the prompt of each as a model gets it."""
    payload: JSON = sample_payload(kind) or {}
    yield f"{kind.title} ({kind.name}, version {kind.version})"
    for number, stage in enumerate(kind.stages(payload)):
        yield ""
        yield f"Stage {number + 1}: {stage.title}"
        yield from _stage(stage)
    yield ""
    yield "Variables"
    for variable in kind.variables:
        labels = f": {', '.join(variable.labels)}" if variable.labels else ""
        yield f"  {variable.name} ({variable.level}){labels}"
    for number, stage in enumerate(kind.stages(payload)):
        yield ""
        yield f"Prompt of stage {stage.name}"
        for message in kind.prompt(payload, number):
            yield f"--- {message.role}"
            yield message.content


def _stage(stage: Stage) -> Iterator[str]:
    if stage.lead:
        yield f"  {stage.lead}"
    for block in stage.blocks:
        yield f"  [{block.label}] {block.text}".rstrip()
        yield from (f"    {line}" for line in block.items)
    for asked in stage.fields:
        when = " and ".join(f"{name} is {' or '.join(values)}" for name, values in asked.when)
        yield f"  {asked.name}: {asked.label}" + (f" (if {when})" if when else "")
        if asked.help:
            yield f"    {asked.help}"
        for option in asked.options:
            yield f"    ( ) {option.label}" + (f": {option.detail}" if option.detail else "")
