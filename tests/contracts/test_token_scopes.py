"""Every address of the API with every set of scopes: without *personal data*, no reply has a participant's name or id."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from django.core.cache import cache
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import transaction
from django.urls import URLPattern, URLResolver, get_resolver
from rest_framework.test import APIClient

from annotator.models import Exclusion, Export, Judgment, Participation, Rater, Study, User
from annotator.services.api_tokens import api_token_make
from annotator.services.exclusion import exclusion_make
from evaluation.models import Endpoint, KeptJob, KeptStudy, Release, Report, Run
from evaluation.services.release import release_compute, release_create
from tests.evaluation.reports.studies import stored
from tests.factories import make_file_import, make_judgment, make_participation, make_study, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("stored_files")]
SCOPES = ("may_write", "may_run", "may_see_people")
METHODS = ("get", "post", "put", "patch", "delete")
#: By which people are known here: names, ids of panels, what they wrote, and why they were excluded.
PEOPLE = (
    "wanda_1970",
    "Kowalski",
    "5f1c2b3a4d5e6f7a8b9c0d1e",
    "subm-x91k",
    "my cat Moritz",
    "too fast for us",
)


class World:
    """A study with something at each address, and a participant whose data are in all of it."""

    def __init__(self) -> None:
        self.rosa = make_user(staff=True)
        study = make_study(items=3, launched=True, by=self.rosa, slug="walked")
        user = make_user("wanda_1970", email="wanda@home.example", first_name="Wanda", last_name="Kowalski")
        rater = self._person(study, user)
        other = make_participation(study).rater
        for item in study.items.all():
            for one in (rater, other):
                judgment = make_judgment(item, one)
                written = judgment.response | {"comment": "my cat Moritz"}
                Judgment.objects.filter(pk=judgment.pk).update(response=written)
        self.exclusion = exclusion_make(
            study=study, by=None, reason="wanda_1970 was too fast for us", rater=rater
        )
        self.report = stored(study, rule="single:wanda_1970", exclusions=False)
        assert self.report.state == Report.State.DONE, self.report.error
        self.release = release_create(report=self.report, send=False)
        release_compute(release_pk=self.release.pk)
        findings = {"differences": ["α of wanda_1970 · user became 0.5."], "differing": 1, "values": 3}
        Release.objects.filter(pk=self.release.pk).update(findings=findings, error="wanda_1970 is in the way")
        self.file_import = make_file_import(
            study, self.rosa, kind="judgments",
            problems=[{"file": "j.csv", "line": 3, "field": "rater", "value": "wanda_1970", "expected": "a rater"}],
            problems_file=default_storage.save("imports-problems/j.csv", ContentFile(b"3,rater,wanda_1970\r\n")),
        )  # fmt: skip
        endpoint = Endpoint.objects.create(
            name="e", base_url="http://127.0.0.1:1/v1", model="m", workspace=study.workspace
        )
        self.run = Run.objects.create(
            kind="simulate", study=study, endpoint=endpoint, model="m", prompt="p", prompt_digest="d"
        )
        self.export = Export.objects.create(
            study=study, created_by=self.rosa, form="judgments", format="csv", state="done",
            file=default_storage.save("exports/x.csv.gz", ContentFile(b"wanda_1970")),
        )  # fmt: skip
        self.kept = KeptStudy.objects.create(
            workspace=study.workspace, study=10**9, slug="kept", title="Kept", place="/x", sha256="a" * 64, bytes=10, passphrase=True, people=1,
            file=default_storage.save("kept-studies/x.foretell", ContentFile(b"wanda_1970")),
        )  # fmt: skip
        self.kept_job = KeptJob.objects.create(
            kind="keep", workspace=study.workspace, study=10**9, slug="kept", kept=self.kept, state="done"
        )
        self.study = study

    @staticmethod
    def _person(study: Study, user: User) -> Rater:
        participation = make_participation(study, user)
        Participation.objects.filter(pk=participation.pk).update(
            recruiter="prolific", recruiter_id="5f1c2b3a4d5e6f7a8b9c0d1e", recruiter_session="subm-x91k",
            join_parameters={"PROLIFIC_PID": "5f1c2b3a4d5e6f7a8b9c0d1e"},
        )  # fmt: skip
        return participation.rater

    def client(self, **scopes: bool) -> APIClient:
        client = APIClient(raise_request_exception=False)
        token = api_token_make(user=self.rosa, **scopes)
        client.credentials(HTTP_AUTHORIZATION=f"Token {token}")
        return client

    def pk_of(self, address: str) -> int:
        kinds = {
            "releases/": self.release, "reports/": self.report, "runs/": self.run, "exports/": self.export,
            "imports/": self.file_import, "exclusions/": self.exclusion,
            "kept-studies/": self.kept, "kept-jobs/": self.kept_job,
        }  # fmt: skip
        return next((row.pk for start, row in kinds.items() if address.startswith(start)), 1)


def addresses(world: World) -> list[str]:
    """Every address of the API, as the product's own list of them has it, with this world's rows."""

    def patterns(found: Any, before: str) -> Iterator[str]:
        for one in found.url_patterns:
            path = before + str(one.pattern)
            if isinstance(one, URLResolver):
                yield from patterns(one, path)
            elif isinstance(one, URLPattern) and path.startswith("api/v1/"):
                yield path.removeprefix("api/v1/").removesuffix("\\Z").removesuffix("$").replace("^", "")

    known = []
    for path in dict.fromkeys(patterns(get_resolver(), "")):
        if "format" in path and "report_format" not in path:
            continue  # the router's second form of the same address
        for placed in _placed(path, world):
            assert "<" not in placed, placed
            known.append(placed)
    return known


def _placed(path: str, world: World) -> list[str]:

    path = path.replace("(?P<slug>[-a-zA-Z0-9_]+)", "<study:slug>")
    path = re.sub(r"\(\?P<(\w+)>[^)]+\)", r"<study:\1>", path)
    path = re.sub(r"<(?:study|slug):(?:slug|study)>", "walked", path)
    path = path.replace("<row:pk>", str(world.pk_of(path))).replace("<row:other>", str(world.pk_of(path)))
    if "<report_format:as_format>" in path:
        return [
            path.replace("<report_format:as_format>", form)
            for form in ("html", "csv", "json", "text", "latex")
        ]
    return [path.replace("<slug:action>", "pause")]


def body_of(response: Any) -> str:
    body = b"".join(response.streaming_content) if response.streaming else response.content
    return bytes(body).decode("utf-8", "replace")


def test_no_reply_names_anybody_without_the_scope() -> None:
    world = World()
    walked, seen = addresses(world), set()
    assert len(walked) > 40
    alone = [{scope} for scope in SCOPES]
    for given in (set(), *alone, {*SCOPES} - {"may_see_people"}, {*SCOPES}):
        scopes = {scope: scope in given for scope in SCOPES}
        client = world.client(**scopes)
        cache.clear()  # the limit of requests in a minute, which the whole walk exceeds
        for address, method in product(walked, METHODS):
            before = transaction.savepoint()
            data = (
                {"reason": "x", "rater": "wanda_1970"}
                if address.endswith("exclusions/") and method == "post"
                else {}
            )
            if address.endswith("/reports/") and method == "post":
                data = {"only": "rater:PROLIFIC_PID=nobody"}
            response = getattr(client, method)(f"/api/v1/{address}", data, format="json")
            text = body_of(response)
            transaction.savepoint_rollback(before)
            assert response.status_code < 500, (method, address, text[:300])
            found = [word for word in PEOPLE if word in text]
            if scopes["may_see_people"]:
                seen |= {address} if found else set()
            else:
                assert not found, (scopes, method, address, found)
            if method != "get" and not scopes["may_write"]:
                allowed = scopes["may_run"] or scopes["may_see_people"]
                assert response.status_code >= 300 or allowed, (scopes, method, address)
    where = {address.split("/")[-2] for address in seen}
    assert {
        "content",
        "csv",
        "judgments",
        "export",
        "exclusions",
        "lift",
        "problems",
        "file",
    } <= where
    assert Exclusion.objects.filter(lifted_at__isnull=True).exists(), "the walk changed nothing"
