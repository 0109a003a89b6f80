"""Every page of the large study as its researcher opens it, with the lists' filters and the parts that pages load later.

A figure is counted for the first visit of the first page that has it, and kept for the others. What the page leaves to a job is done
here, once the page has been answered, as a worker would do it. ``TEN_MILLION_PAGES`` names some of the pages, with spaces between them.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from benchmarks.researcher_pages.run import MOST_MS, MOST_QUERIES
from benchmarks.ten_million.measuring import postgres_seconds

ROUNDS = 3
HEAD = "| page | queries | first reply, ms | counted by jobs, s | ms | processor, ms | Postgres, ms | |\n|---|---:|---:|---:|---:|---:|---:|---|"
#: A page that still waits for a job after so many visits never opens.
MOST_VISITS = 10
PAGES = (
    "live/", "rehearsal/", "items/", "raters/", "payments/", "judgments/", "exports/", "contested/", "exclusions/",
    "simulators/", "change/", "exam/", "versions/", "manage/", "members/", "import/", "desk/", "messages/", "requests/",
    "languages/", "images/", "audit/", "adjudication/", "participants/", "questionnaires/", "recruitment/",
    "recruitment/links/", "payments/panel/", "payments/top-up/", "duplicate/", "remove/",
)  # fmt: skip
LISTS = (
    "judgments/?excluded=yes", "judgments/?excluded=no", "judgments/?source=simulator", "judgments/?standing=surplus",
    "judgments/?item=item-77", "judgments/?seconds_below=1", "judgments/?rehearsal=yes", "judgments/?role=gold",
    "items/?q=item-77", "items/?q=nowhere", "raters/?page=2",
)  # fmt: skip
PARTS = (
    "reports/", "agreement-so-far/", "confidence-so-far/", "disagreement/", "planned-so-far/", "plan/", "reports/compare/"
)  # fmt: skip
EVERYWHERE = ("/admin/annotator/study/", "/admin/annotator/study/deleted/")


def addresses(study: Any) -> list[str]:
    root = f"/admin/annotator/study/{study.pk}/"
    judgment = study.judgments.order_by("pk")[1000]
    found = [*EVERYWHERE]
    found += [root + page for page in (*PAGES, *LISTS)]
    found += [
        f"{root}items/{judgment.item_id}/",
        f"{root}judgments/{judgment.pk}/",
        f"{root}judgments/?rater={judgment.rater.name}",
    ]
    found += [f"{root}judgments/?after={judgment.pk}", f"{root}items/?after={judgment.item_id}"]
    small = type(study).objects.filter(workspace=study.workspace_id).latest("pk")
    found += [
        f"/admin/annotator/study/{small.pk}/{page}" for page in ("live/", "judgments/", "raters/", "items/")
    ]
    return found + [f"/studies/{study.pk}/{part}" for part in PARTS]


@dataclass
class Visit:
    """One request: its status, whether it was answered with all figures, its queries, and milliseconds in all, of Python's processor time
    and of Postgres'."""

    status: int
    whole: bool
    queries: int
    ms: float
    processor: float
    postgres: float


@dataclass
class Browser:
    """A researcher's browser, and the jobs that its pages have asked for."""

    client: Any
    jobs: list[dict[str, Any]] = field(default_factory=list)

    def opens(self, address: str) -> Visit:
        from django.db import connection
        from django.test.utils import CaptureQueriesContext

        used, theirs, began = time.process_time(), postgres_seconds(), time.perf_counter()
        asked = patch("annotator.core.kept_figures.enqueue", lambda name, **about: self.jobs.append(about))
        with asked, CaptureQueriesContext(connection) as seen:
            reply = self.client.get(address, headers={"HX-Request": "true"} if "/studies/" in address else {})
        taken = 1000 * (time.perf_counter() - began)
        processor = 1000 * (time.process_time() - used)
        whole = reply.status_code == 200 and "Refresh" not in reply
        return Visit(
            reply.status_code, whole, len(seen), taken, processor, 1000 * (postgres_seconds() - theirs)
        )

    def works(self) -> float:
        """Do the jobs; the seconds that they took."""
        from annotator.tasks import figures_renew_task

        began = time.perf_counter()
        while self.jobs:
            figures_renew_task(**self.jobs.pop())
        return time.perf_counter() - began


def line(browser: Browser, address: str, shown: str) -> str:
    first, counted = browser.opens(address), browser.works()
    visits: list[Visit] = []
    for _ in range(MOST_VISITS):
        visit = browser.opens(address)
        if visit.whole:
            visits.append(visit)
            browser.jobs.clear()  # they would count again what is older than half a minute
        else:
            counted += browser.works()
        if len(visits) == ROUNDS:
            break
    if not visits:
        return f"| {shown} | | {first.ms:,.0f} | {counted:,.1f} | status {first.status} | | | |"
    best = min(visits, key=lambda visit: visit.ms)
    over = ["queries"] * (best.queries > MOST_QUERIES) + ["time"] * (best.processor + best.postgres > MOST_MS)
    numbers = (best.ms, min(visit.processor for visit in visits), min(visit.postgres for visit in visits))
    told = " | ".join(f"{number:,.0f}" for number in numbers)
    first_reply = f"{first.ms:,.0f}" + ("" if first.status == 200 else f" ({first.status})")
    return f"| {shown} | {best.queries} | {first_reply} | {counted:,.1f} | {told} | {(over and 'over: ' + ', '.join(over)) or ''} |"


def main() -> None:
    from django.db import connection
    from django.test import Client

    from annotator.models import Study

    study = Study.objects.get(slug="large")
    client = Client(SERVER_NAME="localhost")
    client.force_login(study.memberships.get().user)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM annotator_judgment")
        print(f"{study.judgments.count():,} of {cursor.fetchone()[0]:,} judgments")
    print(HEAD)
    browser, chosen = Browser(client), os.environ.get("TEN_MILLION_PAGES", "").split()
    for address in addresses(study):
        shown = address.removeprefix(f"/admin/annotator/study/{study.pk}/")
        if not chosen or shown in chosen:
            print(line(browser, address, shown), flush=True)
