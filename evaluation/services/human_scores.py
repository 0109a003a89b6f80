"""What people said about a study's items, in the form that Inspect's ``precomputed_scores()`` reads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from annotator.models import AuditAction, Item, Study, User
from annotator.services.audit import audit_write
from evaluation.ratings.people import PeopleSaid, people_said
from evaluation.services.inspect_logs import people_words

#: The columns of an imported log that say which sample an item was made from; kept as attributes, they are written back.
SAMPLE, EPOCH = "sample_id", "epoch"
_NUMBER = re.compile(r"-?\d+\.\d+")


def human_scores(*, study: Study) -> Iterator[str]:
    """JSON lines, one for each item that people have judged, in order of their keys.

    ``id`` is the item's key, or its attribute ``sample_id``, with ``epoch`` if it has that too. ``value`` is the label that most people
    gave, a number where it is one: a single value if the study has one variable, else an object with one for each; a tie has none, and an item with ties only is left out. ``explanation`` has
    the counts, and so has ``metadata``.
    """
    said = people_said(study=study)
    rows = Item.objects.filter(pk__in=said).order_by("key").values_list("pk", "key", "attributes")
    for pk, key, attributes in rows.iterator(chunk_size=1000):
        if record := _record(key, attributes or {}, said[pk]):
            yield json.dumps(record, ensure_ascii=False) + "\n"


def human_scores_download(*, study: Study, by: User | None = None) -> Iterator[str]:
    """``human_scores`` for somebody who takes the file away, which the audit trail records."""
    audit_write(
        action=AuditAction.EXPORTED, study=study, workspace=study.workspace, by=by, target="people's scores"
    )
    return human_scores(study=study)


def _record(key: str, attributes: dict[str, Any], said: PeopleSaid) -> dict[str, Any] | None:
    majority = {".".join(filter(None, labelled)): label for labelled, label in said.majority.items()}
    if not majority:
        return None
    values = {name: _value(label) for name, label in majority.items()}
    counts = {".".join(filter(None, labelled)): dict(found) for labelled, found in said.counts.items()}
    epoch = str(attributes.get(EPOCH) or "")
    return {
        "id": attributes.get(SAMPLE) or key,
        **({"epoch": int(epoch)} if epoch.isdecimal() else {}),
        "value": next(iter(values.values())) if len(said.counts) == 1 else values,
        "answer": ", ".join(f"{name}: {label}" for name, label in majority.items()),
        "explanation": people_words(said),
        "metadata": {"people": said.people, "counts": counts},
    }


def _value(label: str) -> str | int | float:
    """A label that is a number as a number, so that Inspect can compute a mean."""
    if label.removeprefix("-").isdecimal():
        return int(label)
    return float(label) if _NUMBER.fullmatch(label) else label
