"""Items that raters disagree on, and how much each rater agrees with the others on the same items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef

from annotator.core.kept_figures import StudyCount
from annotator.models import Item, Judgment, Rater, Study

#: A rater's agreement with the others is computed from this many of their latest judgments.
LATEST = 200
#: Filters of the list; an empty value filters nothing.
FILTERS = ("system", "condition", "kind", "rater")

# What the filters mean: an item that shows several explanations is one of each of their systems.
_FILTERED = """(%(system)s = '' OR s.name = %(system)s OR EXISTS (SELECT 1 FROM jsonb_each_text(i.parts) AS part
        JOIN annotator_explanation pe ON pe.id = part.value::bigint JOIN annotator_system ps ON ps.id = pe.system_id
        WHERE ps.name = %(system)s)) AND (%(condition)s = '' OR i.condition = %(condition)s)
    AND (%(kind)s = '' OR f.kind = %(kind)s)
    AND (%(rater)s = '' OR EXISTS (SELECT 1 FROM annotator_judgment jr JOIN annotator_rater rr ON rr.id = jr.rater_id
        WHERE jr.item_id = i.id AND rr.name = %(rater)s))"""
# Judgments that count, by people (or, for a rehearsal, by its raters), grouped by their whole response.
_CONTESTED = StudyCount(
    "contested items",
    f"""
WITH answers AS (
    SELECT j.item_id, j.digest, count(*) AS n FROM annotator_judgment j JOIN annotator_rater r ON r.id = j.rater_id
    WHERE j.study_id = %(study)s AND j.standing = 'counted' AND r.kind = 'human' AND r.rehearsal = %(rehearsal)s
        AND NOT EXISTS (SELECT 1 FROM annotator_exclusion x WHERE x.study_id = j.study_id AND x.lifted_at IS NULL
            AND (x.judgment_id = j.id OR x.item_id = j.item_id OR x.rater_id = j.rater_id))
    GROUP BY j.item_id, j.digest
), shares AS (
    SELECT item_id, digest, n, sum(n) OVER (PARTITION BY item_id) AS whole FROM answers
), items AS (
    SELECT item_id, max(whole) AS raters, count(*) AS answers, -sum(n / whole * ln(n / whole)) / ln(2.0) AS entropy
    FROM shares GROUP BY item_id HAVING count(*) > 1
)
SELECT items.item_id, items.raters, items.answers, items.entropy::float FROM items
JOIN annotator_item i ON i.id = items.item_id
LEFT JOIN annotator_explanation e ON e.id = i.explanation_id LEFT JOIN annotator_system s ON s.id = e.system_id
LEFT JOIN annotator_followup f ON f.id = i.follow_up_id
WHERE (%(withdrawn)s OR i.withdrawn_at IS NULL)
    AND {_FILTERED}
ORDER BY items.entropy DESC, items.raters DESC, items.item_id LIMIT %(limit)s OFFSET %(offset)s
""",  # noqa: S608 - constants only
)
# The items that two raters (of whom one may be a simulator) answered differently.
_PAIR = """
    SELECT a.item_id FROM annotator_judgment a JOIN annotator_judgment b ON b.item_id = a.item_id
    WHERE a.study_id = %(study)s AND a.rater_id = %(first)s AND b.rater_id = %(second)s AND a.digest <> b.digest
        AND a.standing = 'counted' AND b.standing = 'counted'
        AND NOT EXISTS (SELECT 1 FROM annotator_exclusion x WHERE x.study_id = a.study_id AND x.lifted_at IS NULL
            AND (x.judgment_id IN (a.id, b.id) OR x.item_id = a.item_id))
"""
# The items that one rater (a simulator) and any of the people that count answered differently.
_AGAINST = """
    SELECT DISTINCT a.item_id FROM annotator_judgment a JOIN annotator_judgment b ON b.item_id = a.item_id
    JOIN annotator_rater o ON o.id = b.rater_id
    WHERE a.study_id = %(study)s AND a.rater_id = %(first)s AND o.kind = 'human' AND o.rehearsal = %(rehearsal)s
        AND a.digest <> b.digest AND a.standing = 'counted' AND b.standing = 'counted'
        AND NOT EXISTS (SELECT 1 FROM annotator_exclusion x WHERE x.study_id = a.study_id AND x.lifted_at IS NULL
            AND (x.judgment_id IN (a.id, b.id) OR x.item_id = a.item_id OR x.rater_id = b.rater_id))
"""
# Some items, with the answers of all.
_OF_ITEMS = """
WITH pair AS ({pair}), answers AS (
    SELECT j.item_id, j.digest, count(*) AS n FROM pair JOIN annotator_judgment j ON j.item_id = pair.item_id
    JOIN annotator_rater r ON r.id = j.rater_id
    WHERE j.standing = 'counted' AND r.kind = 'human' AND r.rehearsal = %(rehearsal)s
        AND NOT EXISTS (SELECT 1 FROM annotator_exclusion x WHERE x.study_id = j.study_id AND x.lifted_at IS NULL
            AND (x.judgment_id = j.id OR x.item_id = j.item_id OR x.rater_id = j.rater_id))
    GROUP BY j.item_id, j.digest
), shares AS (
    SELECT item_id, digest, n, sum(n) OVER (PARTITION BY item_id) AS whole FROM answers
), items AS (
    SELECT item_id, max(whole) AS raters, count(*) AS answers, -sum(n / whole * ln(n / whole)) / ln(2.0) AS entropy
    FROM shares GROUP BY item_id
)
SELECT pair.item_id, coalesce(items.raters, 0), coalesce(items.answers, 0), coalesce(items.entropy, 0)::float
FROM pair LEFT JOIN items ON items.item_id = pair.item_id JOIN annotator_item i ON i.id = pair.item_id
LEFT JOIN annotator_explanation e ON e.id = i.explanation_id LEFT JOIN annotator_system s ON s.id = e.system_id
LEFT JOIN annotator_followup f ON f.id = i.follow_up_id
WHERE {filters}
ORDER BY items.entropy DESC NULLS LAST, pair.item_id LIMIT %(limit)s OFFSET %(offset)s
"""
_OF_PAIR = StudyCount(
    "items that a pair of raters disagrees on", _OF_ITEMS.format(pair=_PAIR, filters=_FILTERED)
)
_OF_RATER = StudyCount(
    "items that people disagree on with a rater", _OF_ITEMS.format(pair=_AGAINST, filters=_FILTERED)
)
_SAME = StudyCount(
    "same answers of a pair of raters",
    """
SELECT count(*) FILTER (WHERE a.digest = b.digest), count(*)
FROM annotator_judgment a JOIN annotator_judgment b ON b.item_id = a.item_id
WHERE a.study_id = %(study)s AND a.rater_id = %(first)s AND b.rater_id = %(second)s
    AND a.standing = 'counted' AND b.standing = 'counted'
    AND NOT EXISTS (SELECT 1 FROM annotator_exclusion x WHERE x.study_id = a.study_id AND x.lifted_at IS NULL
        AND (x.judgment_id IN (a.id, b.id) OR x.item_id = a.item_id))
""",
)
_AGREEMENT = StudyCount(
    "agreement of raters with the others",
    """
SELECT a.rater_id, count(*) FILTER (WHERE a.digest = b.digest), count(*)
FROM unnest(%(raters)s::bigint[]) AS one(rater) CROSS JOIN LATERAL (
    SELECT j.rater_id, j.item_id, j.digest FROM annotator_judgment j
    WHERE j.study_id = %(study)s AND j.rater_id = one.rater AND j.standing = 'counted' ORDER BY j.id DESC LIMIT %(latest)s
) a JOIN annotator_judgment b ON b.item_id = a.item_id AND b.rater_id <> a.rater_id AND b.standing = 'counted'
JOIN annotator_rater r ON r.id = a.rater_id JOIN annotator_rater o ON o.id = b.rater_id
WHERE o.kind = 'human' AND o.rehearsal = r.rehearsal GROUP BY a.rater_id
""",
)
# The same for all people. Every answer is counted once: looking up the others' answers to each judgment's item took ten million
# look-ups for 5,000 people.
_AGREEMENT_OF_PEOPLE = StudyCount(
    "agreement of all people with the others",
    """
WITH answers AS (
    SELECT j.item_id, r.rehearsal, j.digest, count(*) AS n FROM annotator_judgment j JOIN annotator_rater r ON r.id = j.rater_id
    WHERE j.study_id = %(study)s AND j.standing = 'counted' AND r.kind = 'human' GROUP BY j.item_id, r.rehearsal, j.digest
), shares AS (
    SELECT *, sum(n) OVER (PARTITION BY item_id, rehearsal) AS whole FROM answers
), work AS (
    SELECT j.rater_id, j.item_id, r.rehearsal, j.digest, row_number() OVER (PARTITION BY j.rater_id ORDER BY j.id DESC) AS back
    FROM annotator_judgment j JOIN annotator_rater r ON r.id = j.rater_id
    WHERE j.study_id = %(study)s AND j.standing = 'counted' AND r.kind = 'human'
)
SELECT w.rater_id, sum(s.n - 1)::bigint, sum(s.whole - 1)::bigint FROM work w
JOIN shares s ON s.item_id = w.item_id AND s.rehearsal = w.rehearsal AND s.digest = w.digest
WHERE w.back <= %(latest)s GROUP BY w.rater_id HAVING sum(s.whole - 1) > 0
""",
)
_CHOICES = StudyCount(
    "filters of contested items",
    """
SELECT grouping(s.name, i.condition, f.kind), coalesce(s.name, i.condition, f.kind) FROM annotator_item i
LEFT JOIN annotator_explanation e ON e.id = i.explanation_id LEFT JOIN annotator_system s ON s.id = e.system_id
LEFT JOIN annotator_followup f ON f.id = i.follow_up_id WHERE i.study_id = %s
GROUP BY GROUPING SETS ((s.name), (i.condition), (f.kind))
UNION SELECT 3, ps.name FROM annotator_item i CROSS JOIN LATERAL jsonb_each_text(i.parts) AS part
JOIN annotator_explanation pe ON pe.id = part.value::bigint JOIN annotator_system ps ON ps.id = pe.system_id
WHERE i.study_id = %s ORDER BY 1, 2
""",
)
#: What ``grouping`` calls each column of ``_CHOICES``.
_GROUPED = {"system": 3, "condition": 5, "kind": 6}


@dataclass(frozen=True)
class Contested:
    """An item with more than one answer. ``entropy`` is in bits, over the complete responses of ``raters`` people: 0 if
    all gave the same answer, 1 if half gave one answer and half another.
    """

    item: Item
    raters: int
    answers: int
    entropy: float
    judgments: tuple[Judgment, ...]


def contested_items(
    study: Study,
    *,
    rehearsal: bool = False,
    filters: dict[str, str] | None = None,
    pair: tuple[int, int] | None = None,
    against: int | None = None,
    limit: int = 25,
    offset: int = 0,
) -> list[Contested]:
    """Items that people disagree on, most disagreement first, each with all its judgments; a fixed number of queries.

    ``rehearsal`` looks at rehearsal raters instead of people. Simulators don't affect the entropy; their judgments are
    listed too. Excluded and late judgments do not count. ``filters`` may hold any of ``FILTERS``. With a ``pair`` (ids of two raters)
    the items are those that the two answered differently, simulators and excluded raters too; ``against`` a rater (the id), those that
    this rater and one of the people answered differently.
    """
    given = filters or {}
    values: dict[str, Any] = {name: given.get(name, "") for name in FILTERS}
    values |= {"study": study.pk, "rehearsal": rehearsal, "limit": limit, "offset": offset}
    if pair is not None:
        rows = _OF_PAIR.rows(values | {"first": pair[0], "second": pair[1]})
    elif against is not None:
        rows = _OF_RATER.rows(values | {"first": against})
    else:
        rows = _CONTESTED.rows(values | {"withdrawn": True})
    pks = [pk for pk, *_ in rows]
    items = study.items.select_related("instance", "explanation__system", "follow_up").in_bulk(pks)
    judged: dict[int, list[Judgment]] = {}
    found = Judgment.objects.filter(item__in=pks, rater__rehearsal=rehearsal).select_related(
        "rater", "assignment"
    )
    if rehearsal:
        found = found | Judgment.objects.filter(
            item__in=pks, rater__kind=Rater.Kind.SIMULATOR
        ).select_related("rater", "assignment")
    for judgment in found.order_by("rater__kind", "id"):
        judged.setdefault(judgment.item_id, []).append(judgment)
    return [
        Contested(items[pk], int(raters), int(answers), float(entropy), tuple(judged.get(pk, ())))
        for pk, raters, answers, entropy in rows
    ]


def contested_rows(study: Study) -> list[tuple[int, int, int, float]]:
    """(item's id, raters, different answers, entropy in bits) of every item that people disagree on and that isn't withdrawn, most
    disagreement first."""
    values: dict[str, Any] = dict.fromkeys(FILTERS, "")
    values |= {"study": study.pk, "rehearsal": False, "withdrawn": False, "limit": None, "offset": 0}
    return [
        (pk, int(raters), int(answers), float(bits)) for pk, raters, answers, bits in _CONTESTED.rows(values)
    ]


def pair_agreement(study: Study, pair: tuple[int, int]) -> tuple[int, int]:
    """(same, shared): on how many of the items that both raters judged they gave the same whole answer."""
    [(same, shared)] = _SAME.rows({"study": study.pk, "first": pair[0], "second": pair[1]})
    return int(same), int(shared)


def raters_named(study: Study, pks: Sequence[int]) -> list[Rater]:
    """The raters with these ids who have judged in the study, in this order."""
    judged = Judgment.objects.filter(study=study, rater=OuterRef("pk"))
    found = Rater.objects.filter(Exists(judged), pk__in=pks).in_bulk()
    return [found[pk] for pk in pks if pk in found]


def filter_choices(study: Study) -> dict[str, list[str]]:
    """The values that contested items can be filtered by."""
    rows = _CHOICES.rows([study.pk, study.pk])
    return {
        name: [value for grouped, value in rows if grouped == bits and value][:100]
        for name, bits in _GROUPED.items()
    }


def agreement_with_others(study: Study, raters: Sequence[int] | None = None) -> dict[int, tuple[int, int]]:
    """Rater -> (same, pairs): of the other raters' responses to the same items, how many are identical, for some raters or all people of
    the study. Computed from each rater's latest ``LATEST`` judgments. Rehearsal raters are compared with each other only, simulators with
    people.
    """
    values: dict[str, Any] = {"study": study.pk, "latest": LATEST}
    rows = (
        _AGREEMENT_OF_PEOPLE.rows(values)
        if raters is None
        else _AGREEMENT.rows(values | {"raters": list(raters)})
    )
    return {rater: (same, pairs) for rater, same, pairs in rows}
