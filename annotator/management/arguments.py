"""What the commands' arguments have in common."""

from __future__ import annotations

from collections.abc import Iterable

from django.core.management.base import CommandError

from annotator.models import User


def pairs(arguments: Iterable[str], option: str) -> dict[str, str]:
    """``name=value`` arguments as a dictionary.

    >>> pairs(["question=Input.question"], "--map")
    {'question': 'Input.question'}
    """
    found: dict[str, str] = {}
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not equals or not name or not value:
            raise CommandError(f"{option}: expected NAME=VALUE, got {argument!r}")
        if name in found:
            raise CommandError(f"{option}: {name} is given twice")
        found[name] = value
    return found


def owner_named(username: str) -> User | None:
    """The user of that name; none where the name is empty. Raises ``CommandError``."""
    if not username:
        return None
    user = User.objects.filter(username=username).first()
    if user is None:
        raise CommandError(f"--owner: there is no user {username!r}")
    return user
