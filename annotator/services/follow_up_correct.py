"""The follow-up of an item whose text was corrected: reports and releases read it there, not in the item."""

from __future__ import annotations

from annotator.core.canonical import text_digest
from annotator.hit_types.base import JSON, HitType
from annotator.models import FollowUp, Item, Output


def follow_up_corrected(*, kind: HitType, item: Item, payload: JSON) -> FollowUp | None:
    """The follow-up that ``item`` has once its content is ``payload``: its own, or one with the corrected text.

    Other items may share the old one, so it stays. The systems' real outputs are taken over: a correction mends what
    annotators read, and what a system answered is in the material.
    """
    old = item.follow_up
    if old is None:
        return None
    text = _text(kind, item.payload, payload, old.text)
    if text in ("", old.text):
        return old
    new, created = FollowUp.objects.get_or_create(
        instance_id=old.instance_id,
        explanation=old.explanation,
        digest=text_digest(text, old.generator, old.kind),
        defaults={
            "text": text,
            "generator": old.generator,
            "kind": old.kind,
            "gold_label": old.gold_label,
        },
    )
    if created:
        Output.objects.bulk_create(
            Output(follow_up=new, system_id=output.system_id, text=output.text)
            for output in old.outputs.all()
        )
    return new


def _text(kind: HitType, before: JSON, after: JSON, text: str) -> str:
    """The follow-up's text in ``after``, given that it was ``text`` in ``before``; empty if that can't be known."""
    name = next((name for name, value in before.items() if value == text), None)
    if name is not None:
        return str(after.get(name, ""))
    # Composed of several fields, such as a question and its options: as the type composes it.
    try:
        if kind.parse_item(before).material.follow_up == text:
            return kind.parse_item(after).material.follow_up
    except ValueError:
        pass
    return ""
