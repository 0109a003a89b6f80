"""The study at the panel over the REST API and from the command line."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from rest_framework.test import APIClient

from annotator.models import Membership, Study, User
from tests.annotator.services.panel_people import arrives, connected_study, created
from tests.factories import make_user
from tests.prolific_api import TOKEN, ProlificBooks, prolific_api

pytestmark = pytest.mark.django_db


@pytest.fixture
def books() -> Iterator[ProlificBooks]:
    with prolific_api() as found:
        yield found


def client_of(user: User) -> APIClient:
    client = APIClient()
    client.force_authenticate(user)
    return client


def run(study: Study, *arguments: Any) -> dict[str, Any]:
    said = io.StringIO()
    call_command("panel", study.slug, *arguments, stdout=said, stderr=io.StringIO())
    return json.loads(said.getvalue()) if said.getvalue().startswith("{") else {"said": said.getvalue()}


def test_the_api_shows_and_steers_the_study(books: ProlificBooks, researcher: User) -> None:
    study, connection = connected_study(researcher)
    api, url = client_of(researcher), f"/api/v1/studies/{study.slug}/panel/"
    assert api.get(url).json() == []
    assert api.post(url, {"action": "publish"}).status_code == 404
    row = created(study, connection)
    assert api.post(url, {"action": "publish"}).json()["state"] == "live"
    arrives(books, row, "ann")
    assert api.post(url, {"action": "compare"}).json()["submissions"] == {"ACTIVE": 1}
    assert api.post(url, {"action": "places", "places": 7}).json()["places"] == 7
    assert api.post(url, {"action": "match"}).json()["state"] == "live"
    [shown] = api.get(url).json()
    assert (shown["remote_id"], shown["state"], shown["places"]) == (row.remote_id, "live", 7)
    assert TOKEN not in json.dumps(shown)
    for wrong in ({"action": "places"}, {"action": "delete"}, {"action": "pause", "places": 3}, {"odd": 1}):
        assert api.post(url, wrong, format="json").status_code == 400, wrong
    refused = api.post(url, {"action": "places", "places": 2})
    assert refused.status_code == 400
    assert "can only grow" in refused.content.decode()


def test_the_api_lets_only_editors_of_the_workspace_spend(books: ProlificBooks, researcher: User) -> None:
    study, connection = connected_study(researcher)
    created(study, connection)
    guest = make_user("gus", staff=True)
    Membership.objects.create(study=study, user=guest, role="editor")
    api, url = client_of(guest), f"/api/v1/studies/{study.slug}/panel/"
    assert len(api.get(url).json()) == 1
    assert api.post(url, {"action": "publish"}).status_code == 404


def test_the_command_steers_the_study(books: ProlificBooks, researcher: User) -> None:
    study, connection = connected_study(researcher)
    assert "accepts the token" in run(study, "test")["said"]
    with pytest.raises(CommandError, match="No study was created"):
        run(study, "show")
    created(study, connection)
    assert run(study, "show")["state"] == "draft"
    assert run(study, "publish")["state"] == "live"
    assert run(study, "places", "9")["places"] == 9
    assert run(study, "compare")["submissions"] == {}
    assert run(study, "match")["state"] == "live"
    assert run(study, "stop")["state"] == "ended"
    with pytest.raises(CommandError, match="is ended"):
        run(study, "pause")
    with pytest.raises(CommandError, match="takes a number"):
        run(study, "places")
    with pytest.raises(CommandError, match="there is no study"):
        call_command("panel", "nowhere", "show")
    connection.delete()
    with pytest.raises(CommandError, match="isn't connected"):
        run(study, "test")
