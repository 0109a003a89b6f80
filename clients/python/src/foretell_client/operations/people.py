"""Operations on people. Written by clients/python/generate.py from the API's schema; don't change it by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, Required, TypedDict, Unpack

from foretell_client.transport import Transport, part

LinkActionAction = Literal["revoke", "renew"]
MemberRole = Literal["owner", "editor", "reviewer", "viewer"]
ParticipantState = Literal["active", "finished", "left", "removed"]


class Invite(TypedDict, total=False):
    role: Required[MemberRole]
    email: str


class Invited(TypedDict):
    id: int
    link: str


class Member(TypedDict):
    id: int
    username: str
    role: MemberRole


class Members(TypedDict):
    members: list[Member]
    invitations: list[OpenInvitation]


class OpenInvitation(TypedDict):
    id: int
    email: str
    role: MemberRole
    expires_at: str


class Participant(TypedDict):
    id: int
    rater: int
    name: str
    state: ParticipantState
    recruiter: str
    recruiter_id: str
    recruiter_session: str
    recruiter_verified: bool
    panel_status: str
    panel_status_at: str | None
    done: int
    joined_at: str
    finished_at: str | None


class LinkActionPatch(TypedDict, total=False):
    action: LinkActionAction


class MemberPatch(TypedDict, total=False):
    role: MemberRole


class PeopleAdded(TypedDict):
    added: list[PersonalLink]


class People(TypedDict, total=False):
    people: Required[list[Person]]
    expires_at: str | None


class Person(TypedDict, total=False):
    name: str
    email: str
    id: str


class PersonalLink(TypedDict):
    key: int
    name: str
    email: str
    id: str
    person: str
    link: str
    state: str
    expires_at: str | None
    rater: str


class PeopleOperations:
    """Operations on people."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def invitations_delete(self, id: int, /) -> None:
        """Its link no longer works. Needs the role of an owner."""
        self._http.nothing("DELETE", f"invitations/{id}/")

    def members_change(self, id: int, /, **sent: Unpack[MemberPatch]) -> Member:
        """Give a member another role. Needs the role of an owner."""
        reply: Member = self._http.json("PATCH", f"members/{id}/", body=sent)
        return reply

    def members_delete(self, id: int, /) -> None:
        """End a membership. Needs the role of an owner."""
        self._http.nothing("DELETE", f"members/{id}/")

    def members(self, slug: str, /) -> Members:
        """Who has which role, and whose invitation is open."""
        reply: Members = self._http.json("GET", f"studies/{part(slug)}/members/")
        return reply

    def members_create(self, slug: str, /, **sent: Unpack[Invite]) -> Invited:
        """Make an invitation for a colleague. Needs the role of an owner."""
        reply: Invited = self._http.json("POST", f"studies/{part(slug)}/members/", body=sent)
        return reply

    def participants(
        self,
        slug: str,
        /,
        *,
        link: Literal["none", "plain", "signed"] | None = None,
        page_size: int | None = None,
        q: str | None = None,
        status: str | None = None,
    ) -> Iterator[Participant]:
        """The participants by id, with their panel's ids and how much they have done."""
        return self._http.pages(
            "GET",
            f"studies/{part(slug)}/participants/",
            query={"link": link, "page_size": page_size, "q": q, "status": status},
        )

    def personal_links(self, slug: str, /, *, page_size: int | None = None) -> Iterator[PersonalLink]:
        """The list with everybody's link. Needs the role of an editor."""
        return self._http.pages(
            "GET", f"studies/{part(slug)}/personal-links/", query={"page_size": page_size}
        )

    def personal_links_create(self, slug: str, /, **sent: Unpack[People]) -> PeopleAdded:
        """Add people; the reply has their links. Needs the role of an editor."""
        reply: PeopleAdded = self._http.json("POST", f"studies/{part(slug)}/personal-links/", body=sent)
        return reply

    def personal_links_change(self, slug: str, id: int, /, **sent: Unpack[LinkActionPatch]) -> PersonalLink:
        """Revoke the link, or make a new one, after which the earlier one doesn't work. Needs the role of an
        editor.
        """
        reply: PersonalLink = self._http.json(
            "PATCH", f"studies/{part(slug)}/personal-links/{id}/", body=sent
        )
        return reply

    def personal_links_delete(self, slug: str, id: int, /) -> None:
        """Take somebody off the list who hasn't joined. Needs the role of an editor."""
        self._http.nothing("DELETE", f"studies/{part(slug)}/personal-links/{id}/")
