"""How long one turn (submit and next) takes as a study grows: 2,000 items and no judgments to 200,000 and a million.

Runs on its own embedded Postgres, in this process and without HTTP, because only the database's work grows.
Prints the median of the turns at each size and the ratio to the smallest; and, because times depend on what else the machine
does, the processor time in Python and in Postgres, and what a turn reads from outside Postgres's memory and writes to its log.

    python -m benchmarks.core_loop.growth [--largest 200000]
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=200_000, help="Items of the largest study.")
    parser.add_argument("--turns", type=int, default=300)
    options = parser.parse_args()
    from foretell.embedded import EmbeddedServers

    with tempfile.TemporaryDirectory(prefix="foretell-growth-") as directory:
        servers = EmbeddedServers(Path(directory))
        try:
            os.environ["DATABASE_URL"] = servers.start_postgres()
            os.environ["REDIS_URL"] = "redis://127.0.0.1:1/0"
            os.environ["DJANGO_SETTINGS_MODULE"] = "foretell.settings"
            import django

            django.setup()
            from django.core.management import call_command

            call_command("migrate", verbosity=0)
            measure(options.largest, options.turns)
        finally:
            servers.stop()


def measure(largest: int, turns: int) -> None:
    first = None
    print(
        f"{'items':>9} {'judgments':>10} {'turn, ms':>9} {'p95':>7} {'ratio':>6} {'Python, ms':>11} {'Postgres, ms':>13}"
        f" {'pages read':>11} {'whole pages logged':>19} {'log, kB':>8}"
    )
    for items, judgments in ((2_000, 0), (20_000, 60_000), (largest, largest * 5)):
        study = grown(items, judgments)
        before = counted()
        times = run_turns(study, turns)
        python, postgres, pages, images, log = (
            (now - then) / turns for now, then in zip(counted(), before, strict=True)
        )
        median = statistics.median(times) * 1000
        first = first or median
        p95 = sorted(times)[int(len(times) * 0.95)] * 1000
        print(
            f"{items:>9} {judgments:>10} {median:>9.2f} {p95:>7.2f} {median / first:>6.2f} {python * 1000:>11.2f}"
            f" {postgres * 1000:>13.2f} {pages:>11.1f} {images:>19.1f} {log / 1000:>8.1f}"
        )


def counted() -> tuple[float, ...]:
    """So far: seconds of processor in this process and in its Postgres backend, pages that were read from outside
    Postgres's memory, whole pages and bytes that were written to its log."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid(), pg_stat_force_next_flush()")
        pid = cursor.fetchone()[0]
        time.sleep(0.5)  # the statistics are sent when the next statement comes
        cursor.execute(
            "SELECT (SELECT sum(heap_blks_read + coalesce(idx_blks_read, 0)) FROM pg_statio_user_tables), wal_fpi, wal_bytes"
            " FROM pg_stat_wal"
        )
        pages, images, log = map(float, cursor.fetchone())
    parts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    backend = (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")
    return time.process_time(), backend, pages, images, log


def grown(items: int, judgments: int, source: bytes = b""):  # type: ignore[no-untyped-def]
    """A launched study with this many items and judgments; a third of its places are free.

    ``source`` is the file of a declared type whose items have the columns of ``simulation``, which is the type without one.
    """
    from django.db import connection

    from annotator.models import Study
    from annotator.services.study import study_create, study_launch

    per_item = judgments // items
    easy: dict[str, Any] = {"consent_text": "", "practice_required": False, "exam_required": False}
    easy |= {"joins_per_hour": None, "joins_per_address": None}
    hit_type, slug = "simulation", f"growth-{items}"
    if source:
        from annotator.models import Workspace
        from annotator.services.declared_type import declared_type_save

        easy["workspace"] = Workspace.objects.create(name="Declared")
        hit_type = declared_type_save(workspace=easy["workspace"], by=None, source=source).type.name
        slug = f"declared-{items}"
    study = study_create(
        by=None,
        hit_type=hit_type,
        slug=slug,
        title="Growth",
        redundancy=max(3, per_item + 2),
        **easy,
    )
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO annotator_item (study_id, key, payload, role, condition, parts, created_at)
               SELECT %s, 'item-' || n, jsonb_build_object('question', 'Can bird ' || n || ' fly?', 'explanation',
                   repeat('All birds can fly. ', 12), 'answer', 'yes', 'follow_up', 'Can its chick fly?'),
                   'ordinary', '', '{}', now() FROM generate_series(1, %s) n""",
            [study.pk, items],
        )
    study_launch(study=study)
    study = Study.objects.get(pk=study.pk)
    if per_item:
        fill(study, per_item)
    return study


def fill(study, per_item: int) -> None:  # type: ignore[no-untyped-def]
    """Whole places filled by SQL, as a hundred raters would have left them."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO annotator_rater (kind, source, name, rehearsal, created_at)
               SELECT 'human', %s, 'r' || n, true, now() FROM generate_series(1, %s) n""",
            [f"growth:{study.slug}", per_item],
        )
        cursor.execute(
            """INSERT INTO annotator_participation (study_id, rater_id, state, recruiter, recruiter_id, practice_done,
                   cursor, joined_at, instructions_at) SELECT %s, id, 'active', '', '', 0, -1, now(), now()
               FROM annotator_rater WHERE source = %s""",
            [study.pk, f"growth:{study.slug}"],
        )
        cursor.execute(
            """INSERT INTO annotator_assignment (participation_id, item_id, rater_id, state, stage, presentation, draft,
                   draft_version, taken_back, leased_at, lease_until, stage_opened_at, reason)
               SELECT p.id, i.id, p.rater_id, 'submitted', 0, '{}', '{}', 0, 0, now(), now(), now(), ''
               FROM annotator_participation p, annotator_item i WHERE p.study_id = %s AND i.study_id = %s""",
            [study.pk, study.pk],
        )
        cursor.execute(
            """WITH numbered AS (SELECT a.id, a.item_id,
                   row_number() OVER (PARTITION BY a.item_id ORDER BY a.id) AS number FROM annotator_assignment a
                   JOIN annotator_participation p ON p.id = a.participation_id WHERE p.study_id = %s)
               UPDATE annotator_place SET assignment_id = numbered.id FROM numbered
               WHERE annotator_place.item_id = numbered.item_id AND annotator_place.number = numbered.number""",
            [study.pk],
        )
        cursor.execute(
            """INSERT INTO annotator_judgment (study_id, item_id, rater_id, snapshot_id, assignment_id, place_id,
                   response, digest, standing, source, signals, created_at)
               SELECT %s, a.item_id, a.rater_id, %s, a.id, l.id, '{"helpful": "no"}', '', 'counted', 'rehearsal', '{}',
                   now() FROM annotator_assignment a JOIN annotator_place l ON l.assignment_id = a.id
               WHERE l.study_id = %s""",
            [study.pk, study.snapshot_id, study.pk],
        )
        cursor.execute("VACUUM ANALYZE")


def run_turns(study, turns: int) -> list[float]:  # type: ignore[no-untyped-def]
    from annotator.models import User
    from annotator.services.assignment import assignment_next
    from annotator.services.participation import instructions_finish, participation_join
    from annotator.services.submit_and_next import turn_take

    user = User.objects.create(username=f"turns-{study.pk}")
    participation = participation_join(study=study, user=user)
    instructions_finish(participation=participation)
    assignment = assignment_next(participation=participation)
    times = []
    for _ in range(turns):
        started = time.perf_counter()
        turn = turn_take(user_id=user.pk, assignment_pk=assignment.pk, stage=0, raw={"helpful": "no"})
        times.append(time.perf_counter() - started)
        assignment = turn.assignment
    return times


if __name__ == "__main__":
    main()
