"""Check a file that declares a HIT type or a questionnaire, or show what it makes, without a database; save it in a workspace, or print what is
saved there."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotator.core.words import plural
from annotator.hit_types.arms import ARM_TITLES
from annotator.hit_types.base import JSON, Stage
from annotator.hit_types.declaration.made import DeclaredHitType
from annotator.hit_types.declaration.making import version_of
from annotator.hit_types.declaration.problems import DeclarationRefused, Problem, path_text
from annotator.hit_types.declaration.questionnaire import declares_questionnaire, questionnaires_read
from annotator.hit_types.declaration.reading import hit_type_read, sample_payload
from annotator.hit_types.declaration.shape import SCHEMA_FILE


class Command(BaseCommand):
    help = "Check a file that declares a HIT type or a questionnaire, or show a type's stages and prompt. docs/declare-a-hit-type.md explains the file."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        what = parser.add_subparsers(
            dest="what", required=True, metavar="check|show|schema|import|export|try"
        )
        check = what.add_parser(
            "check", help="say which kind of file it is, and list every problem with its line"
        )
        check.add_argument(
            "files", metavar="FILE", nargs="+", type=Path, help="YAML or JSON; - for standard input"
        )
        show = what.add_parser("show", help="the stages and the prompt of a file, with an item of its own")
        show.add_argument("file", metavar="FILE", type=Path, help="YAML or JSON; - for standard input")
        load = what.add_parser(
            "import", help="save a file as a new version of a workspace's HIT type or questionnaire"
        )
        load.add_argument("file", metavar="FILE", type=Path, help="YAML or JSON; - for standard input")
        load.add_argument("--workspace", metavar="NAME", required=True, help="its name or number")
        load.add_argument("--owner", metavar="USER", default="", help="user name of whoever saves it")
        save = what.add_parser("export", help="print the file of a workspace's HIT type")
        save.add_argument("name", metavar="NAME", help="the type's name")
        save.add_argument("--workspace", metavar="NAME", required=True, help="its name or number")
        save.add_argument(
            "--questionnaire", action="store_true", help="the workspace's questionnaire of that name"
        )
        save.add_argument("--number", metavar="N", type=int, help="the version, by default the latest")
        attempt = what.add_parser("try", help="make a demo study of a type of the gallery, with a rehearsal")
        attempt.add_argument("name", metavar="NAME", help="the type's name")
        attempt.add_argument(
            "--workspace", metavar="NAME", default="", help="its name or number, by default the owner's own"
        )
        attempt.add_argument("--owner", metavar="USER", required=True, help="user name of the study's owner")
        what.add_parser("schema", help="print the JSON Schema of the format, for editors")

    def handle(self, *, what: str, **options: Any) -> None:
        if what == "schema":
            self.stdout.write(SCHEMA_FILE.read_text(encoding="utf-8"), ending="")
        elif what == "show":
            for line in _shown(_read(options["file"])):
                self.stdout.write(line)
        elif what == "import":
            self._import(**options)
        elif what == "export":
            self.stdout.write(_exported(**options), ending="")
        elif what == "try":
            from annotator.management.workspace_types import tried

            for line in tried(options["name"], options["workspace"], options["owner"]):
                self.stdout.write(line)
        else:
            self._check(options["files"])

    def _import(self, *, file: Path, workspace: str, owner: str, **_: Any) -> None:
        from annotator.management.workspace_types import imported

        self.stdout.write(f"{file}: {imported(_source(file), workspace, owner, str(file))}")

    def _check(self, files: list[Path]) -> None:
        faulty = 0
        for file in files:
            try:
                said = _checked(file)
            except DeclarationRefused as error:
                faulty += 1
                for problem in error.problems:
                    at = f"{file}:{problem.line}" if problem.line else str(file)
                    self.stdout.write(f"{at}: {path_text(problem.path)} {problem.message}")
                continue
            self.stdout.write(f"{file}: {said}")
        if faulty:
            raise CommandError(f"{plural(faulty, 'file')} with problems; nothing was changed")


def _exported(*, name: str, workspace: str, number: int | None, questionnaire: bool, **_: Any) -> str:
    from annotator.management.workspace_types import exported

    return exported(name, workspace, number, questionnaire=questionnaire)


def _source(file: Path) -> bytes:
    try:
        return sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror}") from None


def _checked(file: Path) -> str:
    """Which kind of file it is, and what it has. Raises ``DeclarationRefused``."""
    source = _source(file)
    if not declares_questionnaire(source):
        kind = hit_type_read(source)
        return f"HIT type {kind.name}, version {kind.version}: {_counted(kind)}"
    try:
        text = source.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise DeclarationRefused([Problem((), "isn't UTF-8 text; save it as UTF-8", 1)]) from None
    found = [
        f"questionnaire {one.name}, version {version_of({one.name: one.spec})}: "
        f"{plural(len(one.stage.fields), 'question')}, {plural(len(one.spec.get('scores', {})), 'score')}"
        for one in questionnaires_read(text)
    ]
    return "; ".join(found)


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
    if kind.control_arms:
        counts.append(plural(len(kind.control_arms), "control arm"))
    return ", ".join(counts)


def _shown(kind: DeclaredHitType) -> Iterator[str]:
    """A type as text: each stage as a rater sees it, and the prompt of each as a model gets it."""
    payload: JSON = sample_payload(kind) or {}
    own = kind.with_arms(kind.control_arms)
    items = {"": payload, **{f", {ARM_TITLES[arm]}": kind.control(payload, arm) for arm in kind.control_arms}}
    yield f"{kind.title} ({kind.name}, version {kind.version})"
    for arm, item in items.items():
        for number, stage in enumerate(kind.stages(item)):
            yield ""
            yield f"Stage {number + 1}{arm}: {stage.title}"
            yield from _stage(stage)
    yield ""
    yield "Variables"
    for variable in kind.variables:
        labels = f": {', '.join(variable.labels)}" if variable.labels else ""
        yield f"  {variable.name} ({variable.level}){labels}"
    for item in items.values():
        for number, stage in enumerate(kind.stages(item)):
            yield ""
            yield f"Prompt of stage {stage.name}"
            for message in own.prompt(item, number):
                yield f"--- {message.role}"
                yield message.content


def _stage(stage: Stage) -> Iterator[str]:
    if stage.lead:
        yield f"  {stage.lead}"
    for block in stage.blocks:
        yield f"  [{block.label}] {block.text}".rstrip()
        yield from (f"    {line}" for line in block.items)
    for asked in stage.fields:
        lists = [] if asked.only_if else [f"{name} is {' or '.join(values)}" for name, values in asked.when]
        when = " and ".join([*lists, *filter(None, [asked.only_if])])
        yield f"  {asked.name}: {asked.label}" + (f" (if {when})" if when else "")
        if asked.help:
            yield f"    {asked.help}"
        for option in asked.options:
            yield f"    ( ) {option.label}" + (f": {option.detail}" if option.detail else "")
