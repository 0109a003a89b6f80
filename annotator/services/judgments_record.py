"""Record complete judgments that weren't made on a page, such as a simulator's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from annotator.core.canonical import digest_of
from annotator.core.errors import Conflict
from annotator.core.words import plural
from annotator.hit_types.base import JSON
from annotator.hit_types.confidence import answer_of
from annotator.models import Item, Judgment, Rater, Study
from annotator.selectors.study import study_hit_type


@dataclass(frozen=True)
class Given:
    """One whole response to one item; ``presentation`` is what was drawn for it (an order, an arm)."""

    item: Item
    response: Mapping[str, Any]
    seconds: float | None = None
    signals: JSON = field(default_factory=dict)
    presentation: JSON | None = None


@transaction.atomic
def judgments_record(*, study: Study, rater: Rater, given: Sequence[Given], source: str) -> int:
    """Record one rater's complete judgments of items of one study, in a fixed number of statements; returns how many are
    new. Each response passes the HIT type's own parser. Recording the same response again changes nothing; a different
    one is a ``Conflict``. Raises ``FieldErrors``; then nothing is written.
    """
    kind = study_hit_type(study)
    rows = []
    for one in given:
        response = kind.parse_whole(one.item.payload, one.response, one.presentation)
        rows.append(
            Judgment(
                study=study,
                item=one.item,
                rater=rater,
                snapshot_id=study.snapshot_id,
                response=response,
                digest=digest_of(answer_of(kind, response)),
                source=source,
                seconds=one.seconds,
                signals=one.signals,
            )
        )
    before = Judgment.objects.filter(study=study, rater=rater).count() if rows else 0
    Judgment.objects.bulk_create(rows, ignore_conflicts=True)
    kept = dict(
        Judgment.objects.filter(rater=rater, item__in=[row.item_id for row in rows]).values_list(
            "item_id", "response"
        )
    )
    strange = [row for row in rows if kept.get(row.item_id) != row.response]
    if strange:
        raise Conflict(
            f"{rater} has already judged {plural(len(strange), 'item')} differently, {strange[0].item} first."
        )
    return Judgment.objects.filter(study=study, rater=rater).count() - before if rows else 0
