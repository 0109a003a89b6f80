"""Files with a random fault each, sent to the editor, its preview and the API: saved whole, or refused with a place, and never a 500."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from lxml import html

from annotator.models import Declaration, DeclaredType, DeclaredVersion, User
from annotator.selectors.declaration import source_digest
from annotator.services.api_tokens import api_token_make
from annotator.services.workspace import workspace_personal
from tests.annotator.hit_types.declaration.mutations import mutated

ADD, PREVIEW = "/admin/annotator/declaredtype/add/", "/preview/hit-type/"
OWN, CHECK = "/api/v1/hit-types/own/", "/api/v1/hit-types/check/"
#: How the files are sent in turn: those that are quick more often.
WAYS = ("check", "preview", "check", "api", "check", "check") * 3 + (
    "editor",
    "check",
    "upload",
    "check",
    "api",
    "check",
)
#: The status of a file that is right, and of one that isn't; the check answers with its problems.
RIGHT = {"check": 200, "preview": 200, "editor": 302, "upload": 302, "api": 201}
WRONG = {"check": 200, "preview": 422, "editor": 400, "upload": 400, "api": 400}
SAVING = ("editor", "upload", "api")


class Sender:
    """A researcher who sends a file to a page or to the API; ``places`` are what the reply says is wrong, each with its line."""

    def __init__(self, researcher: User) -> None:
        self.workspace = workspace_personal(user=researcher).pk
        self.page = Client(raise_request_exception=False)
        self.page.force_login(researcher)
        token = api_token_make(user=researcher)
        self.api = Client(raise_request_exception=False, headers={"Authorization": f"Token {token}"})

    def send(self, way: str, source: str) -> tuple[int, list[str]]:
        """The reply's status, and the places of what is wrong."""
        if way in ("check", "api"):
            to = CHECK if way == "check" else OWN
            reply = self.api.post(to, {"source": source}, content_type="application/json")
            found = reply.json().get("problems", []) if reply.headers["Content-Type"].endswith("json") else []
            return reply.status_code, [f"{one['line']}: {one['path']}" for one in found]
        raw = source.encode("utf-8", "surrogatepass")
        text = raw.decode("utf-8", "replace")  # as a browser sends it
        about: dict[str, Any] = {"base": "0", "workspace": str(self.workspace)}
        if way == "preview":
            reply = self.page.post(PREVIEW, {"source": text, "part": "task"})
        elif way == "editor":
            reply = self.page.post(ADD, {"source": text, "save": "1"} | about)
        else:
            file = SimpleUploadedFile("type.yaml", raw)
            reply = self.page.post(ADD, {"source": "", "upload": "1", "file": file} | about)
            if reply.status_code == 200:  # what is in the editor now is saved
                (area,) = html.fromstring(reply.content).xpath("//textarea[@name='source']")
                reply = self.page.post(ADD, {"source": area.text.removeprefix("\n"), "save": "1"} | about)
        lines = html.fromstring(reply.content).xpath("//li[@data-line]") if reply.content else []
        return reply.status_code, [f"{one.get('data-line')}: {one.text_content()}" for one in lines]


@pytest.mark.django_db
def test_a_thousand_mutated_files_are_saved_whole_or_refused_with_a_place(researcher: User) -> None:
    rng, sender = Random(20_261_128), Sender(researcher)
    saved = refused = 0
    for number in range(1000):
        way = WAYS[number % len(WAYS)]
        status, places = sender.send(way, mutated(rng))
        about = f"file {number} by {way}: {status} {places[:3]}"
        right = not places
        assert status == RIGHT[way] if right else status == WRONG[way], about
        assert all(int(place.split(":")[0]) >= 1 for place in places), about
        refused += not right
        if right and way in SAVING:
            saved += 1
            emptied(about)
        assert not Declaration.objects.exists(), about
        assert not DeclaredType.objects.exists(), about
    assert refused > 500
    assert saved > 30


def emptied(about: str) -> None:
    """Delete the one type that was saved, which is whole."""
    version = DeclaredVersion.objects.select_related("declaration", "type").get()
    assert version.declaration_id == source_digest(version.declaration.source), about
    assert version.checks, about
    version.delete()
    version.type.delete()
    version.declaration.delete()
