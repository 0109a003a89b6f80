"""Operations on exclusions. Written by clients/python/generate.py from the API's schema; don't change it by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, Required, TypedDict, Unpack

from foretell_client.transport import Transport, part

RaterKind = Literal["human", "simulator"]


class Exclusion(TypedDict):
    """Exactly one of ``rater`` (its name), ``item`` (its key), ``judgment`` (its id)."""

    id: int
    rater: str | None
    item: str | None
    judgment: int | None
    reason: str
    collect_again: bool
    places_opened: int
    created_at: str
    lifted_at: str | None


class ExclusionSent(TypedDict, total=False):
    """Exactly one of ``rater`` (its name), ``item`` (its key), ``judgment`` (its id)."""

    rater: str | None
    rater_kind: RaterKind
    item: str | None
    judgment: int | None
    reason: Required[str]
    collect_again: bool


class ReasonPatch(TypedDict, total=False):
    reason: str


class ExclusionsOperations:
    """Operations on exclusions."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def change(self, id: int, /, **sent: Unpack[ReasonPatch]) -> Exclusion:
        """Correct the reason; nothing else of an exclusion can change. Needs the role of a reviewer."""
        reply: Exclusion = self._http.json("PATCH", f"exclusions/{id}/", body=sent)
        return reply

    def collect(self, id: int, /) -> Exclusion:
        """Each item that the exclusion leaves with fewer raters than the study asks for gets a place for
        somebody else. Needs the role of a reviewer.
        """
        reply: Exclusion = self._http.json("POST", f"exclusions/{id}/collect/")
        return reply

    def lift(self, id: int, /) -> Exclusion:
        """The exclusion stays on record, with the time at which it was lifted. Judgments that others made in
        place of the excluded ones count too; places that nobody has taken are closed. Needs the role of a
        reviewer.
        """
        reply: Exclusion = self._http.json("POST", f"exclusions/{id}/lift/")
        return reply

    def all(self, slug: str, /, *, page_size: int | None = None) -> Iterator[Exclusion]:
        """All exclusions, including lifted ones."""
        return self._http.pages("GET", f"studies/{part(slug)}/exclusions/", query={"page_size": page_size})

    def create(self, slug: str, /, **sent: Unpack[ExclusionSent]) -> Exclusion:
        """Exclude a rater, an item or a judgment. Needs the role of a reviewer. With ``collect_again``, each
        item that this leaves with fewer raters than the study asks for gets a place for somebody else.
        """
        reply: Exclusion = self._http.json("POST", f"studies/{part(slug)}/exclusions/", body=sent)
        return reply
