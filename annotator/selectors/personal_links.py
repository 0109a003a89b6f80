"""A study's list of personal links, and whether one of them lets somebody in."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from annotator.core.csv_cells import cell_neutral
from annotator.models import PersonalLink, Study
from annotator.recruitment.identity import LinkRefused
from annotator.recruitment.panels.personal import Personal, personal_address

HEADER = ("name", "email", "id", "link", "state", "expires", "person")


def personal_link_check(*, study: Study, person: str, link: str) -> None:
    """Raises ``LinkRefused`` with words for the visitor unless this is the current link of somebody on the list."""
    row = PersonalLink.objects.filter(study=study, person=person).first()
    if row is None:
        raise LinkRefused(
            "it belongs to nobody on the list",
            told=_("This link is no longer valid. Ask the researchers for a new one."),
        )
    if row.link != link:
        raise LinkRefused(
            "a newer link was made", told=_("There is a newer link for you. Open the newest one that you were sent.")
        )  # fmt: skip
    if row.state == "revoked":
        raise LinkRefused(
            "it was revoked", told=_("This link was withdrawn. Ask the researchers for a new one.")
        )
    if row.state == "expired":
        raise LinkRefused(
            "it has expired", told=_("The link has expired. Ask the researchers for a new one.")
        )


@dataclass(frozen=True)
class ListedPerson:
    """Somebody on the list with their link, and the rater's name and state of those who have joined."""

    row: PersonalLink
    address: str
    rater: str
    joined: str


def personal_links_of(
    study: Study, *, site: str, rows: Iterable[PersonalLink] | None = None
) -> list[ListedPerson]:
    """The list in the order in which it was made, in two queries. ``site`` is the server's address, such as
    ``https://lab.example``."""
    path = reverse("annotator:invitation", args=[study.join_token])
    taking_part = study.participations.filter(recruiter=Personal.name).select_related("rater")
    here = {one.recruiter_id: one for one in taking_part}
    found = list(study.personal_links.all()) if rows is None else list(rows)
    return [
        ListedPerson(
            one,
            personal_address(site.rstrip("/") + path, path=path, person=one.person, link=one.link),
            here[one.person].rater.name if one.person in here else "",
            here[one.person].get_state_display() if one.person in here else "",
        )
        for one in found
    ]  # fmt: skip


def personal_links_csv(people: Iterable[ListedPerson]) -> str:
    """The list as CSV, with each person's link; cells that a spreadsheet would run as a formula are made safe."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(HEADER)
    for person in people:
        row = person.row
        expires = row.expires_at.isoformat() if row.expires_at else ""
        cells = (row.name, row.email, row.own_id, person.address, row.state, expires, row.person)
        writer.writerow([cell_neutral(cell) for cell in cells])
    return out.getvalue()
