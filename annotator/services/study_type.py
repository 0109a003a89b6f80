"""Move a draft study to the latest version of its workspace's own HIT type."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import transaction

from annotator.core.words import plural
from annotator.hit_types.base import FieldErrors, HitType
from annotator.hit_types.questions import payload_fault
from annotator.models import AuditAction, Item, Study, User
from annotator.selectors.declaration import declaration_kind
from annotator.selectors.declared_type import version_newer
from annotator.services.audit import audit_write
from annotator.services.study_check import study_clean

#: How many items are named that a new version can't show.
_NAMED = 5


@transaction.atomic
def study_newest_type(*, study: Study, by: User | None = None) -> Study:
    """Let a draft use the latest version of its type: its settings, items and own questions stay.

    Raises ``ValidationError``, and changes nothing, if the study isn't a draft, if there is no later version, if somebody has
    answered tasks of this one (a rehearsal), or if the later one can't show an item or a question of the study.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    if study.state != Study.State.DRAFT:
        raise ValidationError("The study was launched with its version of the HIT type, and keeps it.")
    newer = version_newer(study)
    if newer is None:
        raise ValidationError("The study uses the latest version of its HIT type already.")
    if study.judgments.exists():
        raise ValidationError(
            "The study has answers to this version, from a rehearsal. Delete the rehearsal first."
        )
    kind, before = declaration_kind(newer.declaration_id), study.declaration_id or ""
    if faults := _item_faults(study, kind):
        raise ValidationError(faults)
    study.declaration_id = newer.declaration_id
    study_clean(study)
    study.save(update_fields=["declaration"])
    audit_write(
        action=AuditAction.STUDY_CHANGED, study=study, by=by,
        before={"hit_type_file": before[:12]}, after={"hit_type_file": newer.declaration_id[:12], "number": newer.number},
    )  # fmt: skip
    return study


def _item_faults(study: Study, kind: HitType) -> list[str]:
    found = []
    items = Item.objects.filter(study=study, withdrawn_at__isnull=True).order_by("pk")
    for key, payload, gold in items.values_list("key", "payload", "gold").iterator(chunk_size=500):
        fault = payload_fault(kind, payload)
        if not fault and gold:
            try:
                kind.parse_gold(payload, gold)
            except FieldErrors as error:
                fault = f"its correct answer doesn't fit: {error}"
        if fault:
            found.append(f"Item {key}: {fault}")
    more = len(found) - _NAMED
    return found[:_NAMED] + ([f"The same holds for {plural(more, 'other item')}."] if more > 0 else [])
