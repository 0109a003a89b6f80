"""Every page of the large study as its researcher opens it, with the lists' filters and the parts that pages load later.

A figure is counted in the first visit of the first page that has it, and kept for the others.
"""

from __future__ import annotations

from typing import Any

from benchmarks.researcher_pages.run import MOST_MS, MOST_QUERIES, opened

ROUNDS = 3
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
    print("| page | queries | first visit, ms | ms | of them in queries | |\n|---|---:|---:|---:|---:|---|")
    for address in addresses(study):
        shown = address.removeprefix(f"/admin/annotator/study/{study.pk}/")
        try:
            queries, first, ms, in_queries = opened(client, address, ROUNDS, forget=False)
        except AssertionError as error:
            print(f"| {shown} | {error} |", flush=True)
            continue
        over = ", ".join(["queries"] * (queries > MOST_QUERIES) + ["time"] * (ms > MOST_MS))
        print(
            f"| {shown} | {queries} | {first:,.0f} | {ms:,.0f} | {in_queries:,.0f} | {over and 'over: ' + over} |",
            flush=True,
        )
