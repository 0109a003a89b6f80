"""How many excluded judgments other people have made up for, and which items have more judgments than the study asks for."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, Q
from django.db.models.fields.json import KeyTextTransform

from annotator.hit_types.arms import ARM_KEY
from annotator.models import Exclusion, Item, Judgment, Study


@dataclass(frozen=True)
class CollectedAgain:
    """``replaced`` excluded judgments have one of another person in their place. ``over`` items have more people than the study
    asks for, among the judgments that count: exclusions were lifted after others had been asked, or aren't applied.
    """

    replaced: int = 0
    over: int = 0


def collected_again(*, study: Study, exclusions: bool, rehearsal: bool) -> CollectedAgain:
    """Count them in a study, or in its rehearsal; with ``exclusions``, what is excluded doesn't count.

    An item has more judgments with a place than its k only because others were asked in place of an excluded judgment, so
    this is known from the judgments alone, in a release too.
    """
    source = Judgment.Source.REHEARSAL if rehearsal else Judgment.Source.WEB
    active = Exclusion.objects.filter(study=study, lifted_at__isnull=True)
    made = Judgment.objects.filter(study=study, source=source, standing=Judgment.Standing.COUNTED).order_by()
    raters = study.raters_by_arm
    by_item = made.values("item").annotate(n=Count("id")).filter(n__gt=min(raters.values()))
    most = dict(by_item.values_list("item", "n"))
    if not most:
        return CollectedAgain()
    excluded = Q(Exists(active.filter(judgment=OuterRef("pk")))) | Q(
        Exists(active.filter(rater=OuterRef("rater")))
    )
    left = made.filter(item__in=most).filter(excluded).values("item").annotate(n=Count("id"))
    out = dict(left.values_list("item", "n"))
    items = Item.objects.filter(pk__in=most, role=Item.Role.ORDINARY).exclude(
        Exists(active.filter(item=OuterRef("pk")))
    )
    replaced = over = 0
    for pk, arm in items.values_list("pk", KeyTextTransform(ARM_KEY, "payload")):
        more = most[pk] - raters.get(arm or "", most[pk])
        made_up = min(max(more, 0), out.get(pk, 0)) if exclusions else 0
        replaced += made_up
        over += more > made_up
    return CollectedAgain(replaced, over)
