"""Which accounts and raters of a file are here already, and what the others are called here."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django.contrib.auth.hashers import make_password
from django.db.models.functions import Lower

from annotator.models import Rater, User
from evaluation.moves.sealed_file import MoveError
from evaluation.moves.tables import Row
from evaluation.releases.pseudonyms import source_imported

#: Of a username that gets a number after it.
_LONGEST = 140


def moment(value: object) -> datetime | None:
    """A time of a row; None if it is none.

    >>> moment("2026-01-02T03:04:05.000006+00:00").year
    2026
    """
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return found if found.tzinfo else None


def account_here(row: Row) -> User | None:
    """The account that a row is of: it has the same username, and the same moment of joining or the same address.

    If somebody else has the username, it may be the one that an earlier file made with a number after it, at the same moment of joining.
    """
    name, joined = str(row.get("username", "")), moment(row.get("date_joined"))
    known = User.objects.alias(lower=Lower("username")).filter(lower=name.lower()).first()
    if known is None:
        return None
    same_mail = known.email and known.email.casefold() == str(row.get("email", "")).casefold()
    if same_mail or known.date_joined == joined:
        return known
    if joined is None:
        return None
    numbered = User.objects.filter(username__startswith=f"{name[:_LONGEST]}-", date_joined=joined)
    return next((one for one in numbered if one.username[len(name[:_LONGEST]) + 1 :].isdigit()), None)


def account_new(row: Row, *, participant: bool) -> Row:
    """The row of a new account: nobody can log in to it with a password, and it has no rights. Only participants' accounts are active."""
    name, number = str(row["username"]), 1
    while User.objects.alias(lower=Lower("username")).filter(lower=name.lower()).exists():
        number += 1
        name = f"{str(row['username'])[:_LONGEST]}-{number}"
    return row | {
        "username": name,
        "password": make_password(None),
        "last_login": None,
        "is_superuser": False,
        "is_staff": False,
        "demo": False,
        "is_active": participant and bool(row.get("is_active")),
    }


def rater_here(row: Row, sources: Mapping[str, str]) -> Rater | None:
    """The rater that a row is of: of the same account, the same simulator, or made at the same moment under the same name.

    ``row["user_id"]`` is the number of an account here; ``sources`` maps the file's names of imports to those here.
    """
    if row["user_id"] is not None:
        return Rater.objects.filter(user=row["user_id"]).first()
    source = sources.get(row["source"], row["source"])
    named = Rater.objects.filter(kind=row["kind"], name=row["name"])
    known = named.filter(source=source).first()
    if known is not None and known.kind == Rater.Kind.SIMULATOR:
        return known
    made = moment(row["created_at"])
    if known is not None and known.user_id is None and known.created_at == made:
        return known
    if made is None:
        return None
    # An earlier file made it under another source, because somebody else has the name.
    return named.filter(user=None, created_at=made, source__startswith=source_imported(source, "")).first()


def rater_new(row: Row, sources: Mapping[str, str], *, mark: str) -> Row:
    """The row of a new rater. If somebody else has the name, the source gets the file's ``mark``, or the name that of the account."""
    made = row | {"source": sources.get(row["source"], row["source"])}
    if not _taken(made):
        return made
    if row["user_id"] is not None:
        made["name"] = User.objects.get(pk=row["user_id"]).username
        if not _taken(made):
            return made
    made["source"] = source_imported(made["source"], mark)
    if _taken(made):
        raise MoveError(f"there is another rater named {row['name']!r} of the same source here")
    return made


def _taken(row: Row) -> bool:
    return Rater.objects.filter(kind=row["kind"], source=row["source"], name=row["name"]).exists()
