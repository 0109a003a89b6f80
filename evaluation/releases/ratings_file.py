"""``ratings.csv``: one row for each rating, readable by any statistics program and by ``manage.py agreement``."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from django.db.models import F, FilteredRelation, Min, Q

from annotator.core.csv_cells import cell_neutral
from annotator.models import Explanation, Judgment, Study
from annotator.selectors.adjudication import NOT_ADJUDICATED, SETTLED_COLUMNS, settled_labels_of
from annotator.selectors.judgment import ExclusionReasons
from annotator.selectors.study import study_hit_type
from evaluation.releases.parts import ReleasePart

COLUMNS = {
    "study": "the study's short name",
    "item": "the item's key",
    "unit": "what is rated: the item, or a part of it",
    "instance": "the key of the input that the explanation is about",
    "explanation": "the explanation's number in `tables/explanation.jsonl`; empty if the item shows none or several",
    "system": "the system whose explanation is shown",
    "condition": "the item's condition",
    "role": "ordinary, or gold or attention for checks, which reports leave out",
    "rater": "the rater's pseudonym; a simulator's name",
    "rater_kind": "human or simulator",
    "standing": "counted, or surplus for answers that came after the item had all its raters",
    "excluded": "why the researchers excluded it; empty if they didn't",
    "real_output": "the system's real output on the follow-up, which a simulation is compared with",
    "correct_answer": "the correct answer to the instance, where it is known",
    "variable": "what was asked",
    "value": "the rating",
}


def columns_of(parts: ReleasePart) -> dict[str, str]:
    """The columns of a release with these parts, each with its description."""
    return {**COLUMNS, **(SETTLED_COLUMNS if ReleasePart.ADJUDICATED in parts else {})}


_CHUNK = 2_000
_FIELDS = (
    "item__key", "item__instance__key", "item__explanation_id", "item__explanation__system__name", "item__condition", "item__role",
    "rater__name", "rater__kind", "standing", "real__text", "item__instance__gold_label",
)  # fmt: skip


def _real_output() -> FilteredRelation:
    """The output of the item's own system on its follow-up. Django changes the object, so each query needs its own."""
    own = Q(item__follow_up__outputs__system_id=F("item__explanation__system_id"))
    return FilteredRelation("item__follow_up__outputs", condition=own)


def ratings_csv(studies: Sequence[Study], parts: ReleasePart) -> Iterator[bytes]:
    """The ratings of some studies as CSV, in pieces. Their rows are those of a release (``scratch``)."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    settles = ReleasePart.ADJUDICATED in parts
    writer.writerow(columns_of(parts))
    # Rows of ``scratch`` have the numbers of the release, from 1, after an offset.
    before = (Explanation.objects.aggregate(least=Min("id"))["least"] or 1) - 1
    for study in studies:
        kind, reasons = study_hit_type(study), ExclusionReasons(study)
        adjudicated = settled_labels_of(study) if settles else {}
        rows = Judgment.objects.filter(study=study).annotate(real=_real_output()).order_by("id")
        found = rows.values_list("id", "item_id", "rater_id", "response", "item__payload", *_FIELDS)
        for (
            pk,
            item,
            rater,
            response,
            payload,
            key,
            instance,
            explanation,
            *about,
            real,
            correct,
        ) in found.iterator(chunk_size=_CHUNK):
            excluded = reasons.of(pk, item, rater)
            number = "" if explanation is None else explanation - before
            decided = adjudicated.get(item, {})
            for rating in kind.to_ratings(payload, response):
                unit = f"{key}.{rating.unit}" if rating.unit else key
                settled = decided.get((rating.variable, rating.unit), NOT_ADJUDICATED)
                row = (
                    study.slug, key, unit, instance, number, *about, excluded, real, correct, rating.variable, rating.value,
                    *(settled.cells if settles else ()),
                )  # fmt: skip
                writer.writerow([cell_neutral(cell) for cell in row])
            if out.tell() > 2**20:
                yield out.getvalue().encode()
                out.seek(0)
                out.truncate()
    yield out.getvalue().encode()
