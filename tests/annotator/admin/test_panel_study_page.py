"""From an empty form to a published study at the panel, by the recruitment page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection as database
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotator.models import Membership, PanelStudy, Study, User
from tests.annotator.services.panel_people import arrives, connected_study, created, published
from tests.factories import make_user
from tests.prolific_api import ProlificBooks, prolific_api

pytestmark = pytest.mark.django_db


@pytest.fixture
def books() -> Iterator[ProlificBooks]:
    with prolific_api() as found:
        yield found


def root(study: Study) -> str:
    return f"/admin/annotator/study/{study.pk}/recruitment/"


def shown(client: Client, study: Study) -> str:
    return client.get(root(study)).content.decode()


def does(client: Client, study: Study, action: str, **more: Any) -> str:
    """Press a button; what the page says afterwards."""
    row = study.panel_study_rows.first()
    sent = {"do": action, "row": row.pk if row else "", **more}
    return client.post(root(study), sent, follow=True).content.decode()


def test_from_an_empty_form_to_published(
    books: ProlificBooks, researcher: User, researcher_client: Client
) -> None:
    study, _ = connected_study(researcher)
    assert "No study on Prolific was created from here yet" in shown(researcher_client, study)
    form = researcher_client.get(f"{root(study)}new/").context["form"]
    sent = {name: form.initial.get(name, form.fields[name].initial) for name in form.fields}
    sent = {name: value for name, value in sent.items() if value not in (None, False)} | {
        "description": "Read."
    }
    wrong = researcher_client.post(f"{root(study)}new/", sent | {"do": "preview", "filters": "Aeg: 18-40"})
    assert wrong.status_code == 400
    assert "Did you mean “Age”" in wrong.content.decode()
    preview = researcher_client.post(f"{root(study)}new/", sent | {"do": "preview", "filters": "Age: 18-40"})
    text = preview.content.decode()
    assert "Fees and taxes" in text
    assert f"<dt>Recruitment takes</dt><dd>about {sent['places'] * 12} minutes</dd>" in text
    assert "external_study_url" in text
    assert books.studies == {}
    hidden = dict(preview.context["sent"]) | {"devices": form.initial["devices"], "do": "create"}
    assert researcher_client.post(f"{root(study)}new/", hidden).status_code == 302
    study.refresh_from_db()
    assert "is live now" in does(researcher_client, study, "publish")
    assert "Webhooks are set up and confirmed" in does(researcher_client, study, "hooks")
    assert "no webhook has come yet" in shown(researcher_client, study)
    assert "has 4 places now" in does(researcher_client, study, "places", places="4")
    assert "Enter how many places" in does(researcher_client, study, "places", places="many")
    assert "Saved" in does(researcher_client, study, "follow", on="on", most_places="6")
    assert "is paused now" in does(researcher_client, study, "pause")
    assert "is live now" in does(researcher_client, study, "mend").replace(
        "Both sides are the same now", "is live now"
    )
    assert "is ended now" in does(researcher_client, study, "stop")


def test_differences_are_side_by_side(
    books: ProlificBooks, researcher: User, researcher_client: Client
) -> None:
    study, connection = connected_study(researcher)
    row = created(study, connection)
    books.studies[row.remote_id]["name"] = "Renamed there"
    assert "Compared with Prolific" in does(researcher_client, study, "compare")
    text = shown(researcher_client, study)
    assert "Renamed there" in text
    assert "Make Prolific match" in text


def test_the_page_asks_the_panel_nothing_and_its_queries_do_not_grow(
    books: ProlificBooks, researcher: User, researcher_client: Client
) -> None:
    study, connection = connected_study(researcher)
    row = published(study, connection, places=50)
    shown(researcher_client, study)
    before = len(books.exchanges)
    with CaptureQueriesContext(database) as few:
        shown(researcher_client, study)
    assert len(books.exchanges) == before
    for number in range(5):
        arrives(books, row, f"p{number}")
    books.arrive(row.remote_id, "elsewhere")
    with CaptureQueriesContext(database) as many:
        shown(researcher_client, study)
    assert len(many) == len(few)


def test_only_editors_of_the_workspace_spend_its_money(books: ProlificBooks, researcher: User) -> None:
    study, connection = connected_study(researcher)
    row = created(study, connection)
    guest = make_user("gus", staff=True)
    Membership.objects.create(study=study, user=guest, role="editor")
    client = Client()
    client.force_login(guest)
    assert client.get(f"{root(study)}new/").status_code == 404
    assert client.post(root(study), {"do": "publish", "row": row.pk}).status_code == 404
    assert PanelStudy.objects.get(pk=row.pk).state == "draft"


def test_a_row_of_another_study_is_not_found(
    books: ProlificBooks, researcher: User, researcher_client: Client
) -> None:
    study, connection = connected_study(researcher)
    other, _ = connected_study(researcher)
    row = created(other, connection)
    assert researcher_client.post(root(study), {"do": "publish", "row": row.pk}).status_code == 404
