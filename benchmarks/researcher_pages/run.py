"""``python -m benchmarks researcher-pages``: queries and server time of each page of a large study, as its owner opens it.

The study has ``--items`` items, all judged by ``--people`` people; SQL creates the rows. In a database that ``DATABASE_URL`` names,
the study stays and is opened again the next time. Django's test client opens every page once to warm up, once with nothing kept, and
``--rounds`` times as the study's next visitors open it. The shortest of these visits counts, because longer ones include other work of
the machine.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

PAGES = (
    "live/", "rehearsal/", "items/", "raters/", "payments/", "judgments/", "exports/", "contested/", "exclusions/",
    "simulators/", "change/", "exam/", "versions/", "manage/", "members/",
)  # fmt: skip
MOST_QUERIES, MOST_MS = 20, 100
_ITEMS = """
INSERT INTO annotator_item (study_id, key, payload, role, condition, parts, version, withdrawn_reason, created_at)
SELECT %s, 'item-' || n, jsonb_build_object('question', 'Can bird ' || n || ' fly?', 'explanation',
    repeat('All birds can fly. ', 12), 'answer', 'yes', 'follow_up', 'Can its chick fly?'),
    'ordinary', '', '{}', 1, '', now() FROM generate_series(1, %s) n
"""
_RATERS = """
INSERT INTO annotator_rater (kind, source, name, rehearsal, created_at)
SELECT 'human', 'benchmark', 'person-' || n, false, now() FROM generate_series(1, %s) n
"""
_PARTICIPATIONS = """
INSERT INTO annotator_participation (study_id, rater_id, state, recruiter, recruiter_id, practice_done, cursor, joined_at,
    instructions_at)
SELECT %s, id, 'active', '', '', 0, -1, now(), now() FROM annotator_rater WHERE source = 'benchmark'
"""
_ASSIGNMENTS = """
INSERT INTO annotator_assignment (participation_id, item_id, rater_id, snapshot_id, state, stage, presentation, draft,
    draft_version, taken_back, leased_at, lease_until, stage_opened_at, reason)
SELECT p.id, i.id, p.rater_id, %s, 'submitted', 0, '{}', '{}', 0, 0, now(), now(), now(), ''
FROM annotator_participation p, annotator_item i WHERE p.study_id = %s AND i.study_id = %s
"""
_PLACES = """
INSERT INTO annotator_place (study_id, item_id, number, position, freed, rehearsal, assignment_id)
SELECT %s, a.item_id, row_number() OVER (PARTITION BY a.item_id ORDER BY a.id), a.item_id, false, false, a.id
FROM annotator_assignment a JOIN annotator_participation p ON p.id = a.participation_id WHERE p.study_id = %s
"""
_JUDGMENTS = """
INSERT INTO annotator_judgment (study_id, item_id, rater_id, snapshot_id, assignment_id, place_id, response, digest,
    standing, source, seconds, signals, created_at)
SELECT %s, a.item_id, a.rater_id, %s, a.id, l.id,
    CASE WHEN (a.item_id + a.rater_id) %% 3 = 0 THEN '{"helpful": "no"}'::jsonb
         ELSE '{"helpful": "yes", "answer": "yes"}'::jsonb END,
    CASE WHEN (a.item_id + a.rater_id) %% 3 = 0 THEN 'no' ELSE 'yes' END,
    'counted', 'web', 10 + a.id %% 90, '{}', now() - (a.id %% 100000) * interval '1 second'
FROM annotator_assignment a JOIN annotator_place l ON l.assignment_id = a.id WHERE l.study_id = %s
"""


def study_make(*, items: int, people: int) -> Any:
    """A live study with all places filled."""
    from django.db import connection

    from annotator.models import Study, User
    from annotator.services.study import study_create, study_launch

    made = Study.objects.filter(slug="large").first()
    if made is not None:
        return made
    owner = User.objects.create_user("benchmark", password="a-long-password-7", is_staff=True)
    study = study_create(
        by=owner, hit_type="simulation", slug="large", title="A large study", redundancy=people, consent_text="",
        practice_required=False, exam_required=False, pay_per_item="0.1",
    )  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_ITEMS, [study.pk, 1])
        study_launch(study=study)
        study = Study.objects.get(pk=study.pk)
        cursor.execute("DELETE FROM annotator_place WHERE study_id = %s", [study.pk])
        cursor.execute("DELETE FROM annotator_item WHERE study_id = %s", [study.pk])
        cursor.execute(_ITEMS, [study.pk, items])
        cursor.execute(_RATERS, [people])
        cursor.execute(_PARTICIPATIONS, [study.pk])
        cursor.execute(_ASSIGNMENTS, [study.snapshot_id, study.pk, study.pk])
        cursor.execute(_PLACES, [study.pk, study.pk])
        cursor.execute(_JUDGMENTS, [study.pk, study.snapshot_id, study.pk])
        cursor.execute("VACUUM ANALYZE")
    return study


def opened(client: Any, url: str, rounds: int, *, forget: bool = True) -> tuple[int, float, float, float]:
    """The queries of a visit, the milliseconds of the first visit, which counts everything, and the shortest of ``rounds`` further
    visits, in total and in queries. Without ``forget``, the first visit counts only what no other page has counted.
    """
    from django.core.cache import cache
    from django.db import connection

    queries: list[float] = []

    def count(execute: Any, *arguments: Any) -> Any:
        began = time.perf_counter()
        try:
            return execute(*arguments)
        finally:
            queries.append(1000 * (time.perf_counter() - began))

    if forget:
        client.get(url)  # templates, connections
        cache.clear()
    visits = []
    for _ in range(rounds + 1):
        queries.clear()
        began = time.perf_counter()
        with connection.execute_wrapper(count):
            reply = client.get(url)
        visits.append((1000 * (time.perf_counter() - began), sum(queries)))
        assert reply.status_code == 200, (url, reply.status_code)
    later = visits[1:]
    return len(queries), visits[0][0], min(visit[0] for visit in later), min(visit[1] for visit in later)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks researcher-pages", description=__doc__)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--people", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    from django.test import Client

    study = study_make(items=chosen.items, people=chosen.people)
    client = Client(SERVER_NAME="localhost")
    client.force_login(study.memberships.get().user)
    root = f"/admin/annotator/study/{study.pk}/"
    addresses = ["/admin/annotator/study/", *(root + page for page in PAGES), f"/studies/{study.pk}/reports/"]
    print(f"{study.items.count():,} items, {study.judgments.count():,} judgments")
    print("| page | queries | first visit, ms | ms | of them in queries | |\n|---|---:|---:|---:|---:|---|")
    for address in addresses:
        queries, first, ms, in_queries = opened(client, address, chosen.rounds)
        over = ", ".join(["queries"] * (queries > MOST_QUERIES) + ["time"] * (ms > MOST_MS))
        print(
            f"| {address.removeprefix(root)} | {queries} | {first:.0f} | {ms:.0f} | {in_queries:.0f} | {over and 'over: ' + over} |",
            flush=True,
        )


if __name__ == "__main__":
    import os

    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "foretell.settings")
    django.setup()
    main()
