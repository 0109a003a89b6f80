"""Places of explanations that somebody began and didn't complete, in studies that give one person a whole explanation."""

from __future__ import annotations

from django.db import connection

from annotator.core.allocation import WIDTH
from annotator.models import Study
from annotator.models.study_settings.allocation import WholeExplanations

# At each position after an explanation's first: the open places beyond those for people who are at work on an earlier item of
# it, and for people who may still begin it. Nobody comes for these by themselves.
_LEFT_OVER = """
WITH reach AS (
    SELECT (max(n.cursor) / {width} + 1) * {width} AS most FROM annotator_participation n WHERE n.study_id = %(study)s
), unclaimed AS (
    SELECT p.position / {width} AS part, p.position, count(*) AS n FROM annotator_place p
    WHERE p.study_id = %(study)s AND NOT p.rehearsal AND p.assignment_id IS NULL AND NOT p.freed
        AND p.position < (SELECT most FROM reach) GROUP BY p.position
), at_work AS (
    SELECT p.position FROM annotator_participation n
    JOIN annotator_assignment a ON a.participation_id = n.id AND a.state = 'leased'
    JOIN annotator_place p ON p.assignment_id = a.id WHERE n.study_id = %(study)s AND NOT p.rehearsal
), left_over AS (
    SELECT u.position, u.n - coalesce(first.n, 0)
        - (SELECT count(*) FROM at_work w WHERE w.position / {width} = u.part AND w.position < u.position) AS n
    FROM unclaimed u LEFT JOIN unclaimed first ON first.position = u.part * {width} WHERE u.position %% {width} > 0
), numbered AS (
    SELECT p.id, left_over.n, row_number() OVER (PARTITION BY p.position ORDER BY p.number) AS number
    FROM left_over JOIN annotator_place p ON p.position = left_over.position
    WHERE p.study_id = %(study)s AND NOT p.rehearsal AND p.assignment_id IS NULL AND NOT p.freed AND left_over.n > 0
), unlocked AS (  -- what somebody is taking at this moment waits for the next sweep
    SELECT p.id FROM annotator_place p JOIN numbered ON numbered.id = p.id
    WHERE numbered.number <= numbered.n AND p.assignment_id IS NULL ORDER BY p.id FOR UPDATE OF p SKIP LOCKED
)
UPDATE annotator_place p SET freed = true FROM unlocked WHERE p.id = unlocked.id
""".replace("{width}", str(WIDTH))


def left_over_places_free() -> int:
    """Offer first what people have left of the explanations that they began; returns how many places. The sweeper runs it;
    safe to run at any time, and twice.
    """
    studies = Study.objects.filter(
        state=Study.State.LIVE, deleted_at=None, whole_explanations=WholeExplanations.TOGETHER
    )
    freed = 0
    for pk in studies.values_list("pk", flat=True):
        with connection.cursor() as cursor:
            cursor.execute(_LEFT_OVER, {"study": pk})
            freed += cursor.rowcount
    return freed
