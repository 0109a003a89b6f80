"""Links that another page, script or mailing list signs with a secret that it shares with the study."""

from __future__ import annotations

import hashlib
import hmac
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils.translation import gettext_lazy as _

from annotator.recruitment.identity import LinkRefused
from annotator.recruitment.panel import OpenedLink
from annotator.recruitment.sent_links import SentLinks


class SharedSecret(SentLinks):
    """Plain links, or signed ones: ``?person_id=ID&expires=SECONDS&signature=HMAC``."""

    name = "shared_secret"
    title = "Links signed with your own secret"
    person = "person_id"
    parameters = {"person_id": "{person}"}
    token = "signature"  # noqa: S105 - the name of a parameter
    shared_secret = True
    hints = {
        "secret": "Make one with a password manager, and use the same where the links are signed.",
    }

    def link_words(self, signed: bool) -> str:
        if not signed:
            return "Replace {person} by the id of each person, and send each person their own link."
        return (
            "Replace {person} by the id of each person and add &expires= and &signature= as the documentation shows."
            " The signature is made with the secret below."
        )

    def verify(self, token: str, link: OpenedLink) -> tuple[Any, datetime]:
        person, expires = (link.parameters.get(name, "") for name in ("person_id", "expires"))
        if not link.secret:
            raise LinkRefused("the study has no secret for links")
        if not hmac.compare_digest(
            signature(secret=link.secret, person=person, expires=expires).encode(),
            token.encode(errors="replace"),
        ):
            raise LinkRefused("its signature is not valid")
        if not expires:
            return {"person_id": person}, datetime.now(UTC) + timedelta(hours=1)
        if not re.fullmatch(r"[0-9]{1,10}", expires):
            raise LinkRefused("its expiry is no time in seconds")
        until = datetime.fromtimestamp(int(expires), UTC)
        if until < datetime.now(UTC):
            raise LinkRefused(
                "it has expired", told=_("The link has expired. Ask the researchers for a new one.")
            )
        return {"person_id": person}, until


def signature(*, secret: str, person: str, expires: str = "") -> str:
    """The signature of a link: the HMAC-SHA256 of ``person|expires`` in hexadecimal digits. ``expires`` is the time in seconds since
    1970 (UTC) until which the link can be opened; empty for one that doesn't expire.

    >>> signature(secret="s", person="77", expires="1790000000")[:16]
    '043b955138373ab9'
    """
    return hmac.new(secret.encode(), f"{person}|{expires}".encode(), hashlib.sha256).hexdigest()
