"""Arguments that several commands share."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.db import transaction

from annotator.core.tables.faults import FileRefused
from annotator.core.words import plural
from annotator.models import Study, User
from annotator.services.study import study_create


def study_arguments(parser: ArgumentParser) -> None:
    """Add STUDY and FILE, and the options that create the study if needed; ``study_named`` reads them."""
    parser.add_argument("study", metavar="STUDY", help="the study's slug")
    parser.add_argument("file", metavar="FILE", type=Path)
    parser.add_argument("--create", action="store_true", help="create the study if there is none")
    parser.add_argument("--hit-type", default="", help="with --create: the new study's HIT type")
    parser.add_argument("--title", default="", help="with --create: the new study's title")
    parser.add_argument("--owner", default="", help="with --create: user name of the study's owner")


@contextmanager
def study_and_file(*, file: Path, dry_run: bool, **options: Any) -> Iterator[tuple[Study, IO[bytes]]]:
    """The study and the opened file of an import; a dry run stores nothing. What is refused becomes a ``CommandError``."""
    try:
        opened = file.open("rb")
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror}") from None
    try:
        with opened, transaction.atomic():
            yield study_named(**options), opened
            if dry_run:
                transaction.set_rollback(True)
    except ValidationError as error:
        raise CommandError("\n".join([*error.messages, "Nothing was imported."])) from None
    except FileRefused as refused:
        raise CommandError(f"{refused}\nNothing was imported: {plural(refused.total, 'fault')}.") from None


def pairs(arguments: Iterable[str], option: str) -> dict[str, str]:
    """``name=value`` arguments as a dictionary.

    >>> pairs(["question=Input.question"], "--map")
    {'question': 'Input.question'}
    """
    values: dict[str, str] = {}
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not equals or not name or not value:
            raise CommandError(f"{option}: expected NAME=VALUE, got {argument!r}")
        if name in values:
            raise CommandError(f"{option}: {name} is given twice")
        values[name] = value
    return values


def owner_named(username: str) -> User | None:
    """The user with that name; None if the name is empty. Raises ``CommandError``."""
    if not username:
        return None
    user = User.objects.filter(username=username).first()
    if user is None:
        raise CommandError(f"--owner: there is no user {username!r}")
    return user


def study_named(
    *, study: str, create: bool = False, hit_type: str = "", title: str = "", owner: str = "", **_: Any
) -> Study:
    """The study with that slug; with ``create``, a new draft if there is none. Raises ``CommandError``."""
    existing = Study.objects.filter(slug=study, deleted_at__isnull=True).first()
    if existing is not None:
        if hit_type and existing.hit_type != hit_type:
            raise CommandError(f"{study} is a study of {existing.hit_type}, not of {hit_type}")
        return existing
    if not create:
        slugs = ", ".join(Study.objects.order_by("slug").values_list("slug", flat=True)[:20])
        raise CommandError(f"no study {study!r} (there are: {slugs or 'none'}); --create makes one")
    if not hit_type:
        raise CommandError("--create needs --hit-type")
    try:
        return study_create(
            by=owner_named(owner), hit_type=hit_type, slug=study, title=title or study.replace("-", " ")
        )
    except ValidationError as error:
        raise CommandError("; ".join(error.messages)) from None
