"""Options that the commands about files of studies share."""

from __future__ import annotations

import getpass
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotator.core.printable import printable, printable_lines
from annotator.core.words import listed
from annotator.models import Study, User, Workspace
from evaluation.moves.sealed_file import Key, MoveError


def key_options(parser: ArgumentParser) -> None:
    """Where the key comes from. A passphrase is never an argument: other users of the computer can read those."""
    of = parser.add_mutually_exclusive_group()
    of.add_argument(
        "--key-file",
        type=Path,
        metavar="FILE",
        help="A file with at least 32 random bytes, which is the key.",
    )
    of.add_argument(
        "--passphrase-file",
        metavar="FILE",
        help="A file whose first line is the passphrase; - for standard input. Default: you are asked for it.",
    )


def key_from(options: dict[str, Any], *, new: bool) -> Key:
    """The key that the options name. A ``new`` passphrase is asked for twice. Raises ``CommandError``."""
    try:
        if options["key_file"]:
            return Key.of_file(options["key_file"].read_bytes())
        named = options["passphrase_file"]
        if named == "-":
            return Key.of_passphrase(sys.stdin.readline().rstrip("\r\n"))
        if named:
            return Key.of_passphrase(Path(named).read_text("utf-8").partition("\n")[0])
        if not sys.stdin.isatty():
            raise CommandError("Name a key: --key-file FILE or --passphrase-file FILE.")
        found = getpass.getpass("Passphrase: ")
        if new and getpass.getpass("Again: ") != found:
            raise CommandError("The two passphrases differ.")
        return Key.of_passphrase(found)
    except MoveError as error:
        raise CommandError(f"The key: {error}.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"The key can't be read: {error}") from error


def study_named(slug: str) -> Study:
    """The study with this short name. Raises ``CommandError``."""
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        raise CommandError(f"There is no study {printable(slug)!r}.")
    return study


def workspace_named(name: str) -> Workspace:
    """The workspace with this name or number. Raises ``CommandError``."""
    found = list(Workspace.objects.filter(name=name)[:2])
    if not found and name.isdecimal():
        found = list(Workspace.objects.filter(pk=int(name)))
    if not found:
        raise CommandError(f"There is no workspace {printable(name)!r}.")
    if len(found) > 1:
        numbers = Workspace.objects.filter(name=name).order_by("pk").values_list("pk", flat=True)
        raise CommandError(
            f"Several workspaces are named {printable(name)!r}; say which by its number: {listed([str(number) for number in numbers])}."
        )
    return found[0]


def researcher_named(name: str) -> User:
    """The researcher with this user name. Raises ``CommandError``."""
    user = User.objects.filter(username=name, is_staff=True, is_active=True).first()
    if user is None:
        raise CommandError(f"There is no researcher {printable(name)!r}.")
    return user


@contextmanager
def said_plainly(path: Path) -> Iterator[None]:
    """Errors of the file as the command says them."""
    try:
        yield
    except MoveError as error:
        raise CommandError(f"{printable(str(path))}: {printable_lines(str(error))}") from error
    except OSError as error:
        raise CommandError(f"{printable(str(path))}: {error.strerror}") from error
