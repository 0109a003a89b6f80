"""Personal links: a class, a lab or anybody else on a list of the study; each person gets a link of their own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.core.signing import BadSignature, Signer

from annotator.recruitment.identity import LinkRefused
from annotator.recruitment.panel import OpenedLink
from annotator.recruitment.sent_links import SentLinks

#: What else could be signed with the same key has another salt.
SALT = "annotator.personal_link"


class Personal(SentLinks):
    """Signed by this server. The ids on the links are made up: who they are is only on the study's list."""

    name = "personal"
    title = "Personal links"
    person, submission = "person_id", "link_id"
    parameters = {"person_id": "…", "link_id": "…"}
    token = "key"  # noqa: S105 - the name of a parameter
    listed = True

    def link(self, address: str) -> str:
        return address

    def link_words(self, signed: bool) -> str:
        return (
            "Upload a list of people on the page of personal links: everybody gets their own link. Nobody can join with the link "
            "below alone."
        )

    def verify(self, token: str, link: OpenedLink) -> tuple[Any, datetime]:
        person, code = (link.parameters.get(name, "") for name in ("person_id", "link_id"))
        if not 20 <= len(token) <= 100 or not token.isascii():
            raise LinkRefused("its key can't be one")
        try:
            Signer(salt=SALT).unsign(f"{link.path}|{person}|{code}:{token}")
        except BadSignature:
            raise LinkRefused("its signature is not valid") from None
        return {"person_id": person, "link_id": code}, datetime.now(UTC) + timedelta(hours=1)


def personal_address(address: str, *, path: str, person: str, link: str) -> str:
    """The personal link to the join page ``address``, whose ``path`` is signed with it."""
    key = Signer(salt=SALT).sign(f"{path}|{person}|{link}").rpartition(":")[2]
    query = urlencode({"person_id": person, "link_id": link, "key": key})
    return f"{address}?{query}"
