"""The operations that are measured, each by the product's own service, command or page."""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from django.core.management import call_command
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from benchmarks.ten_million.measuring import Annotator, measured

TURNS = 300


def _study(slug: str = "large") -> Any:
    from annotator.models import Study

    return Study.objects.get(slug=slug)


def folder() -> Path:
    """Where files go: on a disk that has room for them."""
    path = Path(os.environ.get("TEN_MILLION_FOLDER") or Path(tempfile.gettempdir()) / "foretell-ten-million")
    path.mkdir(parents=True, exist_ok=True)
    return path


def turn() -> str:
    person = Annotator(_study())
    for _ in range(20):
        person.turn()
    seconds = [person.turn() for _ in range(TURNS)]
    return f"{TURNS} turns: median {1000 * statistics.median(seconds):.1f} ms, p95 {1000 * sorted(seconds)[TURNS * 95 // 100]:.1f} ms"


def export() -> str:
    from annotator.services.exports import judgments_export

    size = sum(map(len, judgments_export(study=_study())))
    return f"{size / 1e6:,.0f} MB of CSV"


def export_ratings() -> str:
    from annotator.services.exports import judgments_export

    path = folder() / "ratings.csv"
    with path.open("wb") as file:
        for chunk in judgments_export(study=_study(), form="ratings"):
            file.write(chunk)
    return f"{path.stat().st_size / 1e6:,.0f} MB of CSV"


def agreement() -> str:
    """On the ratings of ``export_ratings``."""
    with (folder() / "agreement.txt").open("w") as out:
        call_command(
            "agreement",
            str(folder() / "ratings.csv"),
            "--unit=unit",
            "--rater=rater",
            "--value=value",
            "--bootstrap=0",
            stdout=out,
        )
    return (folder() / "agreement.txt").read_text().partition("\n")[0]


def _report(slug: str) -> Any:
    from evaluation.services import report as service

    service._send = lambda report_id: None  # type: ignore[assignment]
    made = service.report_create(study=_study(slug), choices={"replicates": 0})
    service.report_compute(report_pk=made.pk)
    made.refresh_from_db()
    return made


def report() -> str:
    made = _report("large")
    return f"{made.state} {made.error}"


def report_small() -> str:
    made = _report("small-48")
    return f"{made.state} {made.error}"


def release() -> str:
    """Of the latest report on the small study."""
    from evaluation.models import Report
    from evaluation.services import release as service

    latest = Report.objects.filter(study=_study("small-48"), state="done").latest("pk")
    made = service.release_create(report=latest, title="A small study", authors="Ada Lovelace", send=False)
    service.release_compute(release_pk=made.pk)
    made.refresh_from_db()
    return f"{made.state} {made.error} {(made.bytes or 0) / 1e6:,.0f} MB"


def _somebody(nth: int) -> Any:
    """Somebody who isn't excluded, is in the large study, and has not been used by another operation."""
    from annotator.models import Participation

    people = Participation.objects.filter(study=_study(), rater__name__startswith="person-", state="active")
    people = people.exclude(rater__exclusions__lifted_at=None, rater__exclusions__isnull=False)
    return people.order_by("pk")[nth].rater


def exclusion() -> str:
    """Exclude somebody with all their judgments and ask others instead."""
    from annotator.models import Place
    from annotator.services.exclusion import exclusion_make

    free = Place.objects.filter(study=_study(), freed=True, assignment=None)
    before = free.count()
    exclusion_make(study=_study(), by=None, reason="Too quick.", rater=_somebody(11), collect_again=True)
    return f"{free.count() - before:,} places opened"


def exclusion_lift() -> str:
    from annotator.models import Exclusion
    from annotator.services.exclusion import exclusion_lift as lift

    made = Exclusion.objects.filter(study=_study(), collect_again=True, lifted_at=None).latest("pk")
    lift(exclusion=made)
    return "lifted"


def _erasure(policy: str, nth: int) -> str:
    from annotator.models import Study
    from annotator.services.erasure import data_request_carry_out, data_request_open

    Study.objects.filter(slug="large").update(erasure_policy=policy)
    person = _somebody(nth)
    count = person.judgments.filter(study=_study()).count()
    request = data_request_open(participation=person.participations.get(study=_study()))
    data_request_carry_out(request=request, by=None)
    return f"{count:,} judgments"


def erasure_anonymise() -> str:
    return _erasure("anonymise", 31)


def erasure_delete() -> str:
    return _erasure("delete", 41)


def sweeps() -> str:
    """Every periodic task once; those above a tenth of a second are named."""
    from celery import current_app
    from django.conf import settings

    import foretell.celery

    foretell.celery.app.loader.import_default_modules()
    slow = []
    for entry in settings.CELERY_BEAT_SCHEDULE.values():
        began = time.perf_counter()
        current_app.tasks[entry["task"]]()
        seconds = time.perf_counter() - began
        if seconds > 0.1:
            slow.append(f"{entry['task']} {seconds:.1f} s")
    return ", ".join(slow) or "none above 0.1 s"


def backup() -> str:
    path = folder() / "backup"
    shutil.rmtree(path, ignore_errors=True)
    with (folder() / "backup.txt").open("w") as out:
        call_command("backup", path, only="database", stdout=out)
    return f"{sum(one.stat().st_size for one in path.rglob('*') if one.is_file()) / 1e6:,.0f} MB"


def restore() -> str:
    """Into the empty database that ``DATABASE_URL`` names now."""
    call_command("restore", folder() / "backup")
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM annotator_judgment")
        return f"{cursor.fetchone()[0]:,} judgments"


def migrate() -> str:
    """An index of the judgments, dropped and built anew while people work, as a migration does it."""
    from annotator.migrations._indexes import AddIndexWhilePeopleWork
    from annotator.models import Judgment

    index = next(one for one in Judgment._meta.indexes if one.name == "judgment_by_study")
    state = MigrationExecutor(connection).loader.project_state()
    with connection.schema_editor(atomic=False) as editor:
        AddIndexWhilePeopleWork("judgment", index).database_forwards("annotator", editor, state, state)
    return "built anew"


def column() -> str:
    """A migration that adds a column to the judgments and one that drops it, while a backup reads the table for 20 seconds."""
    import psycopg
    from django.core.management.commands import migrate as of_django

    def handle(self: Any, *args: Any, **options: Any) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("ALTER TABLE annotator_judgment ADD COLUMN soon integer")
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("ALTER TABLE annotator_judgment DROP COLUMN soon")

    with psycopg.connect(os.environ["DATABASE_URL"]) as reading:
        reading.execute("SELECT FROM annotator_judgment LIMIT 1")
        threading.Timer(20, reading.rollback).start()
        with patch.object(of_django.Command, "handle", handle):
            call_command("migrate", verbosity=0)
    return "added and dropped"


def _purge(slug: str) -> str:
    from annotator.models import Study
    from annotator.services.study_removal import study_purge

    pk = _study(slug).pk
    Study.objects.filter(pk=pk).update(deleted_at=timezone.now() - timedelta(days=31), state="closed")
    study_purge(study_pk=pk)
    return "left" if Study.objects.filter(pk=pk).exists() else "removed"


def deletion_small() -> str:
    return _purge("small-49")


def deletion() -> str:
    return _purge("large")


#: The operations in the order in which they're measured, with the study in which somebody works meanwhile.
OPERATIONS: dict[str, tuple[Callable[[], str], str]] = {
    "turn": (turn, ""),
    "sweeps": (sweeps, ""),
    "export": (export, "large"),
    "export_ratings": (export_ratings, "large"),
    "agreement": (agreement, ""),
    "report": (report, "large"),
    "report_small": (report_small, "large"),
    "release": (release, "large"),
    "exclusion": (exclusion, "large"),
    "exclusion_lift": (exclusion_lift, "large"),
    "erasure_anonymise": (erasure_anonymise, "large"),
    "erasure_delete": (erasure_delete, "large"),
    "migrate": (migrate, "large"),
    "column": (column, "large"),
    "backup": (backup, "large"),
    "deletion_small": (deletion_small, "large"),
    "deletion": (deletion, "small-0"),
    "restore": (restore, ""),
}


def one(name: str) -> dict[str, Any]:
    return measured(OPERATIONS[name][0])
