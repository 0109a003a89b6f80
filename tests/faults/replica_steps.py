"""What a process does that has a replica; run by ``test_replica`` with both addresses in its environment."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import django

django.setup()

import psycopg  # noqa: E402
from django.db import connections  # noqa: E402
from django.test import Client  # noqa: E402

from annotator.core import replica  # noqa: E402
from annotator.models import Export, Item, Study, User  # noqa: E402
from annotator.services.exports import export_build, export_request  # noqa: E402
from benchmarks.soak.studies import studies_make  # noqa: E402
from evaluation.models import Release, Report  # noqa: E402
from evaluation.services.release import release_compute, release_create  # noqa: E402
from evaluation.services.report import report_compute, report_create  # noqa: E402
from tests.factories import make_judgment, make_rater  # noqa: E402


@contextmanager
def counted() -> Iterator[dict[str, int]]:
    """How many statements each server gets in the block, without the question whether the replica is current."""
    numbers = {"default": 0, "replica": 0}

    def count(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        numbers[context["connection"].alias] += "pg_is_in_recovery" not in sql
        return execute(sql, params, many, context)

    with connections["default"].execute_wrapper(count), connections["replica"].execute_wrapper(count):
        yield numbers


def live_page(study: Study) -> tuple[str, dict[str, int]]:
    client = Client()
    client.force_login(User.objects.get(username="owner"))
    with counted() as numbers:
        reply = client.get(f"/admin/annotator/study/{study.pk}/live/", headers={"host": "localhost"})
    assert reply.status_code == 200, reply
    return reply.text, numbers


def work(study: Study) -> dict[str, Any]:
    """A report, its release, an export and the live page: what came of each, and what the servers were asked."""
    found: dict[str, Any] = {}
    report = report_create(study=study, send=False)
    with counted() as found["report"]:
        assert report_compute(report_pk=report.pk)
    report.refresh_from_db()
    assert report.state == Report.State.DONE, report.error
    release = release_create(report=report, send=False)
    with counted() as found["release"]:
        assert release_compute(release_pk=release.pk)
    release.refresh_from_db()
    assert release.state == Release.State.DONE, release.error
    assert release.findings["differing"] == 0
    export = export_request(study=study, by=User.objects.get(username="owner"), form="ratings")
    with counted() as found["export"]:
        assert export_build(export_pk=export.pk)
    export.refresh_from_db()
    assert export.state == Export.State.DONE, export.error
    found["rows"] = export.rows
    for _ in range(50):  # a page waits only 0.2 s for the replica, which isn't enough on a busy machine
        _, found["live"] = live_page(study)
        if found["live"]["replica"] or not replica.replica_current(patience=20):
            break
    return found


def with_replica() -> dict[str, Any]:
    User.objects.create_superuser("owner", "owner@example.org", "a long enough password")
    studies_make({"simulation": 4}, 2)
    study = Study.objects.get()
    for name in ("one", "two"):
        rater = make_rater(name)
        for item in study.items.all():
            make_judgment(item, rater)
    found = work(study)
    with psycopg.connect(os.environ["REPLICA_SUPERUSER_URL"], autocommit=True) as server:
        server.execute("SELECT pg_wal_replay_pause()")
        Study.objects.filter(pk=study.pk).update(title="Renamed just now")
        found["current while behind"] = replica.replica_current(patience=0.2)
        page, found["live while behind"] = live_page(study)
        assert "Renamed just now" in page
        server.execute("SELECT pg_wal_replay_resume()")
    found["current afterwards"] = replica.replica_current(patience=20)

    def write() -> int:
        """Writes go to the primary, and what is read back in this block comes from the replica."""
        item = Item.objects.first()
        assert item is not None
        assert item._state.db == "replica"
        item.withdrawn_reason = "for this test"
        item.save()
        return item.pk

    pk = replica.replica_read(write)
    found["written"] = Item.objects.get(pk=pk).withdrawn_reason
    return found


if __name__ == "__main__":
    print(json.dumps(with_replica() if sys.argv[1] == "with" else work(Study.objects.get())))
