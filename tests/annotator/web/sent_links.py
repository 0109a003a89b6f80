"""People who open a link that they were sent."""

from __future__ import annotations

from django.test import Client

from annotator.models import Participation, PersonalLink
from annotator.selectors.personal_links import personal_links_of

SITE = "http://testserver"


def address(row: PersonalLink) -> str:
    [one] = personal_links_of(row.study, site=SITE, rows=[row])
    return one.address.removeprefix(SITE)


def joins(client: Client, link: str) -> Participation | None:
    """The participation that this browser then continues; None if the link was refused."""
    shown = client.get(link)
    if shown.status_code != 200:
        return None
    assert client.post(shown.context["join_url"]).status_code == 302
    return Participation.objects.select_related("rater").get(rater__user=client.session["_auth_user_id"])
