"""Ask other people in place of excluded judgments: open the places that exclusions have left below k, and close those that
aren't needed any more.

Nobody who has had an item gets it again (``annotator.services.place_claim``), so a place that is opened here goes to
somebody else.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.core.exceptions import ValidationError
from django.db import connection, transaction

from annotator.hit_types.arms import ARM_TITLES
from annotator.models import AuditAction, Exclusion, Item, Place, Study, User
from annotator.models.replacement import MOST_RATERS
from annotator.services.audit import audit_write

# An exclusion in force that covers a judgment: its rater's, or its own. Excluded items are asked about no more.
_COVERS = (
    "x.study_id = j.study_id AND x.lifted_at IS NULL AND (x.judgment_id = j.id OR x.rater_id = j.rater_id)"
)
# The number of raters of an item, by its arm.
_K = ", ".join(["'', s.redundancy", *(f"'{arm}', s.{arm}_raters" for arm in ARM_TITLES if arm)])
# The places to open: as many as each item lacks in its layer, for the judgments that these exclusions cover, oldest first. A
# judgment that has been replaced isn't replaced again. Where items are divided between the raters, an item has as many raters
# as it was launched with places.
_WANTED = (
    """
WITH meant AS (
    SELECT x.id, x.study_id, x.rater_id, x.judgment_id FROM annotator_exclusion x JOIN annotator_study s ON s.id = x.study_id
    WHERE {which} AND x.lifted_at IS NULL AND x.item_id IS NULL
), covered AS (
    SELECT j.id, j.item_id, j.place_id, x.id AS exclusion
    FROM meant x JOIN annotator_judgment j ON j.id = x.judgment_id AND j.study_id = x.study_id
    UNION ALL SELECT j.id, j.item_id, j.place_id, x.id
    FROM meant x JOIN annotator_judgment j ON j.rater_id = x.rater_id AND j.study_id = x.study_id
), lost AS (
    SELECT DISTINCT ON (c.id) c.id AS judgment, c.exclusion, c.item_id, p.rehearsal, p.position, p.study_id,
        (jsonb_build_object({k}) ->> coalesce(i.payload ->> 'arm', ''))::int AS k,
        s.shared_items IS NOT NULL AS divided
    FROM covered c JOIN annotator_place p ON p.id = c.place_id JOIN annotator_item i ON i.id = c.item_id
    JOIN annotator_study s ON s.id = p.study_id
    WHERE i.withdrawn_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM annotator_replacement n WHERE n.judgment_id = c.id)
        AND NOT EXISTS (SELECT 1 FROM annotator_exclusion o WHERE o.item_id = c.item_id AND o.lifted_at IS NULL)
    ORDER BY c.id, c.exclusion
), held AS (
    SELECT p.item_id, p.rehearsal, max(p.number) AS last, count(*) FILTER (WHERE p.number <= {most}) AS own,
        count(*) FILTER (WHERE j.id IS NULL OR NOT EXISTS (SELECT 1 FROM annotator_exclusion x WHERE {covers})) AS places
    FROM annotator_place p LEFT JOIN annotator_judgment j ON j.place_id = p.id
    WHERE p.item_id IN (SELECT item_id FROM lost) GROUP BY p.item_id, p.rehearsal
), numbered AS (
    SELECT lost.*, held.places, held.own, greatest(held.last, {most}) AS last,
        row_number() OVER (PARTITION BY lost.item_id, lost.rehearsal ORDER BY lost.judgment) AS n
    FROM lost JOIN held USING (item_id, rehearsal)
), wanted AS (
    SELECT judgment, exclusion, item_id, rehearsal, position, study_id, last + n AS number
    FROM numbered WHERE places + n <= CASE WHEN divided THEN own ELSE k END
) {then}
""".replace("{covers}", _COVERS)
    .replace("{most}", str(MOST_RATERS))
    .replace("{k}", _K)
)
# Annotators may have passed these positions already, so the places are offered first.
_OPEN = _WANTED.replace("{which}", "x.id = ANY(%(exclusions)s)").replace(
    "{then}",
    """, opened AS (
    INSERT INTO annotator_place (study_id, item_id, number, position, freed, rehearsal)
    SELECT study_id, item_id, number, position, true, rehearsal FROM wanted
    RETURNING id, item_id, number, rehearsal
), made AS (
    INSERT INTO annotator_replacement (place_id, judgment_id, exclusion_id, created_at)
    SELECT opened.id, wanted.judgment, wanted.exclusion, now() FROM opened JOIN wanted USING (item_id, number, rehearsal)
    RETURNING 1
) SELECT count(*) FROM made""",
)
# The studies in which there is something to open.
_LATE = _WANTED.replace(
    "{which}", "x.collect_again AND s.state <> 'closed' AND s.deleted_at IS NULL"
).replace("{then}", "SELECT DISTINCT study_id FROM wanted")
# Free replacements of judgments that count again.
_NEEDLESS = """
SELECT p.id, p.study_id FROM annotator_replacement n JOIN annotator_place p ON p.id = n.place_id
JOIN annotator_judgment j ON j.id = n.judgment_id
WHERE p.assignment_id IS NULL AND {which} AND NOT EXISTS (SELECT 1 FROM annotator_exclusion x WHERE {covers})
""".replace("{covers}", _COVERS)


def collecting_fault(study: Study) -> str:
    """Why places can't be opened again in this study now; empty if they can."""
    if study.state == Study.State.CLOSED:
        return "The study is closed, so nobody else can be asked. Reopen it first, or exclude without asking others."
    return ""


def places_reopen(*, exclusions: Sequence[Exclusion]) -> int:
    """Open a place for each judgment that these exclusions cover, as far as its item has fewer than k raters; returns how
    many were opened. The caller has locked the study. One query, however many judgments there are. Safe to call twice.

    An item has k raters counting those who hold one of its places now. Withdrawn and excluded items, and judgments that
    never held a place (late ones, imports, simulators), get none.
    """
    with connection.cursor() as cursor:
        cursor.execute(_OPEN, {"exclusions": [exclusion.pk for exclusion in exclusions]})
        return int(cursor.fetchone()[0])


def places_close(*, study: Study) -> int:
    """Close the places that were opened in place of judgments which count again and that nobody has taken; returns how
    many. The caller has locked the study.

    Places that somebody is just taking are passed over: waiting for them here could end in a deadlock with their submit.
    """
    with connection.cursor() as cursor:
        cursor.execute(_NEEDLESS.format(which="p.study_id = %s") + " FOR UPDATE OF p SKIP LOCKED", [study.pk])
        places = [pk for pk, _ in cursor.fetchall()]
    Place.objects.filter(pk__in=places).delete()
    return len(places)


@transaction.atomic
def collect_again(*, exclusion: Exclusion, by: User | None = None) -> int:
    """Ask other people in place of what an exclusion in force covers; returns how many places this opened. Safe to call twice.

    Raises ``ValidationError`` if the exclusion was lifted or is of an item, or if the study is closed.
    """
    study = Study.objects.select_for_update(no_key=True).get(pk=exclusion.study_id)
    exclusion = Exclusion.objects.select_for_update().get(pk=exclusion.pk)
    if exclusion.lifted_at is not None:
        raise ValidationError("The exclusion was lifted, so its judgments count.")
    if exclusion.item_id is not None:
        raise ValidationError("An excluded item isn't asked about again. Correct the item, or lift the exclusion.")  # fmt: skip
    if fault := collecting_fault(study):
        raise ValidationError(fault)
    if not exclusion.collect_again:
        exclusion.collect_again = True
        exclusion.save(update_fields=["collect_again"])
    opened = places_reopen(exclusions=[exclusion])
    collected_write(study=study, by=by, exclusions=[exclusion], opened=opened)
    return opened


def collected_write(*, study: Study, by: User | None, exclusions: Sequence[Exclusion], opened: int) -> None:
    """Record in the audit trail that places were opened."""
    rater = exclusions[0].rater_id if len(exclusions) == 1 else None
    audit_write(
        action=AuditAction.COLLECTED_AGAIN, study=study, by=by, rater=rater,
        target=f"{len(exclusions)} exclusions" if len(exclusions) > 1 else f"exclusion {exclusions[0].pk}",
        after={"places opened": opened},
    )  # fmt: skip


def collect_again_sweep() -> int:
    """Open places for judgments that excluded people have submitted since, and close those that a lifted exclusion left
    over; returns how many. Studies without any aren't locked. Safe to run at any time, and twice.
    """
    with connection.cursor() as cursor:
        cursor.execute(_LATE)
        late = {pk for (pk,) in cursor.fetchall()}
        cursor.execute(_NEEDLESS.format(which="true"))
        needless = {study for _, study in cursor.fetchall()}
    return sum(_sweep(pk) for pk in sorted(late | needless))


@transaction.atomic
def _sweep(pk: int) -> int:
    study = Study.objects.select_for_update(no_key=True).filter(pk=pk).first()
    if study is None or study.state == Study.State.CLOSED:
        return 0
    exclusions = list(Exclusion.objects.filter(study=study, collect_again=True, lifted_at__isnull=True))
    opened = places_reopen(exclusions=exclusions) if exclusions else 0
    if opened:
        collected_write(study=study, by=None, exclusions=exclusions, opened=opened)
    return opened + places_close(study=study)


def corrected_places_open(*, study: Study, old: Item, new: Item, position: int, raters: int) -> None:
    """Open the places of a corrected item for ``raters`` people who haven't had an earlier version of it.

    The caller has locked the old item's places, so nobody is just taking a task of it.
    """
    Place.objects.bulk_create(
        Place(study=study, item=new, number=number, position=position, freed=True)
        for number in range(1, raters + 1)
    )
    with connection.cursor() as cursor:
        cursor.execute(_BAR, {"old": old.pk, "new": new.pk})


_BAR = """
INSERT INTO annotator_assignment (participation_id, item_id, rater_id, instance_id_of_item, snapshot_id, state, stage,
    presentation, draft, draft_version, taken_back, leased_at, lease_until, stage_opened_at, reason, sole)
SELECT participation_id, %(new)s, rater_id, instance_id_of_item, snapshot_id, 'barred', 0,
    '{}', '{}', 0, 0, now(), now(), now(), '', false
FROM annotator_assignment WHERE item_id = %(old)s
"""
