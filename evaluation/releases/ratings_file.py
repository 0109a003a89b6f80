"""``ratings.csv``: one row for each rating, readable by any statistics program and by ``manage.py agreement``."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from annotator.core.csv_cells import cell_neutral
from annotator.models import Judgment, Study
from annotator.selectors.judgment import ExclusionReasons
from annotator.selectors.study import study_hit_type

COLUMNS = {
    "study": "the study's short name",
    "item": "the item's key",
    "unit": "what is rated: the item, or a part of it",
    "instance": "the key of the input that the explanation is about",
    "system": "the system whose explanation is shown",
    "condition": "the item's condition",
    "role": "ordinary, or gold or attention for checks, which reports leave out",
    "rater": "the rater's pseudonym; a simulator's name",
    "rater_kind": "human or simulator",
    "standing": "counted, or surplus for answers that came after the item had all its raters",
    "excluded": "why the researchers excluded it; empty if they didn't",
    "variable": "what was asked",
    "value": "the rating",
}
_CHUNK = 2_000
_FIELDS = (
    "item__key", "item__instance__key", "item__explanation__system__name", "item__condition", "item__role",
    "rater__name", "rater__kind", "standing",
)  # fmt: skip


def ratings_csv(studies: Sequence[Study]) -> Iterator[bytes]:
    """The ratings of some studies as CSV, in pieces."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for study in studies:
        kind, reasons = study_hit_type(study), ExclusionReasons(study)
        rows = Judgment.objects.filter(study=study).order_by("id")
        found = rows.values_list("id", "item_id", "rater_id", "response", "item__payload", *_FIELDS)
        for pk, item, rater, response, payload, key, *about in found.iterator(chunk_size=_CHUNK):
            excluded = reasons.of(pk, item, rater)
            for rating in kind.to_ratings(payload, response):
                unit = f"{key}.{rating.unit}" if rating.unit else key
                row = (study.slug, key, unit, *about, excluded, rating.variable, rating.value)
                writer.writerow([cell_neutral(cell) for cell in row])
            if out.tell() > 2**20:
                yield out.getvalue().encode()
                out.seek(0)
                out.truncate()
    yield out.getvalue().encode()
