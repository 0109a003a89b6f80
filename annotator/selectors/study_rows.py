"""Rows of the researchers' lists: raters with counts and times, items with counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotator.core.kept_figures import StudyCount
from annotator.models import Item, Judgment, Place, Rater, Study
from annotator.models.replacement import MOST_RATERS
from annotator.selectors.judgment import EXCLUDED

_RATERS = StudyCount(
    "raters of a study",
    """
SELECT r.id, r.name, r.kind, r.rehearsal, bool_or(j.source = 'import'), count(*), count(*) FILTER (WHERE j.standing = 'surplus'),
    percentile_cont(0.5) WITHIN GROUP (ORDER BY j.seconds), count(*) FILTER (WHERE j.seconds < %(least)s),
    max(j.created_at)
FROM annotator_judgment j JOIN annotator_rater r ON r.id = j.rater_id
WHERE j.study_id = %(study)s GROUP BY r.id ORDER BY r.rehearsal,
    CASE WHEN %(sort)s = 'judgments' THEN -count(*) END,
    CASE WHEN %(sort)s = 'rater' THEN r.name END,
    CASE WHEN %(sort)s = 'kind' THEN r.kind END,
    CASE WHEN %(sort)s = 'seconds' THEN percentile_cont(0.5) WITHIN GROUP (ORDER BY j.seconds) END NULLS LAST,
    CASE WHEN %(sort)s = 'fast' THEN -count(*) FILTER (WHERE j.seconds < %(least)s)::float / count(*) END,
    CASE WHEN %(sort)s = 'last' THEN max(j.created_at) END DESC NULLS LAST,
    count(*) DESC, r.name LIMIT %(limit)s OFFSET %(offset)s
""",
)
#: What raters can be sorted by, the first by default: the most judgments, names, kinds, the shortest times, the largest share
#: of fast judgments, the latest judgment.
RATER_SORTS = ("judgments", "rater", "kind", "seconds", "fast", "last")


@dataclass(frozen=True)
class RaterRow:
    """One rater of a study. ``fast`` counts judgments under the study's ``min_seconds``."""

    pk: int
    name: str
    kind: str
    rehearsal: bool
    imported: bool
    judgments: int
    surplus: int
    median_seconds: float | None
    fast: int
    last_at: Any

    @property
    def kind_name(self) -> str:
        """What the rater is called: only participants of the study are called that."""
        if self.kind == Rater.Kind.SIMULATOR:
            return "simulator"
        if self.rehearsal:
            return "rehearsal rater"
        return "imported rater" if self.imported else "participant"

    @property
    def fast_percent(self) -> float:
        return 100 * self.fast / self.judgments


def raters_of(study: Study, *, limit: int = 100, offset: int = 0, sort: str = "judgments") -> list[RaterRow]:
    """Raters with judgments in the study: rehearsal raters last, in the order of one of ``RATER_SORTS``."""
    asked = {"study": study.pk, "least": study.min_seconds, "limit": limit, "offset": offset, "sort": sort}
    return [RaterRow(*row) for row in _RATERS.rows(asked)]


def items_of(study: Study) -> QuerySet[Item]:
    """The study's items with two numbers of judgments by people that held a place: ``counted``, and ``excluded`` by their
    rater, their item or themselves. Rehearsals and simulators are not people. ``raters`` is how many people the item is for:
    it differs between arms and for shared items, and is 0 before the launch and for withdrawn items without judgments.
    """
    people = Judgment.objects.filter(
        item=OuterRef("pk"), standing=Judgment.Standing.COUNTED, rater__kind=Rater.Kind.HUMAN, rater__rehearsal=False
    )  # fmt: skip
    found = study.items.select_related("instance", "explanation__system", "follow_up")
    places = Place.objects.filter(item=OuterRef("pk"), rehearsal=False, number__lte=MOST_RATERS)
    return found.annotate(
        counted=_number(people.exclude(EXCLUDED)), excluded=_number(people.filter(EXCLUDED)), raters=_number(places)
    ).order_by("id")  # fmt: skip


def _number(found: QuerySet[Any]) -> Coalesce:
    rows = found.order_by().values("item").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(rows), 0)
