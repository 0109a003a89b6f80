"""What of a study differs from its sealed plan, in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db.models import Count, Max

from annotator.core.words import listed, plural
from annotator.models import Exclusion, Study
from evaluation.planning.plan_document import Plan
from evaluation.selectors.analysis_plan import people_judgments, study_design

#: Facts of the design, and how a sentence names them.
_FACTS = {
    "items": "items",
    "instances": "instances",
    "systems": "systems",
    "raters for each item": "raters for each item",
}


def study_deviations(*, study: Study, plan: Plan, design: Mapping[str, Any]) -> list[str]:
    """Exclusions that follow none of the plan's rules, and facts of the design that have changed since it was sealed.

    An exclusion follows a rule if its reason begins with the rule's name, in upper or lower case. Reasons aren't repeated: they may name people.
    """
    said = []
    strange: Counter[str] = Counter()
    for exclusion in Exclusion.objects.filter(study=study, lifted_at__isnull=True):
        reason = exclusion.reason.strip().casefold()
        if not any(reason.startswith(name.casefold()) for name in plan.exclusion_rules):
            strange["rater" if exclusion.rater_id else "item" if exclusion.item_id else "judgment"] += 1
    if strange:
        found = listed([plural(n, kind) for kind, n in strange.items()])
        total = sum(strange.values())
        said.append(
            f"{plural(total, 'exclusion')} ({found}) {'follows' if total == 1 else 'follow'} none of the plan’s rules."
        )
    now = study_design(study)
    for name, words in _FACTS.items():
        if name in design and design[name] != now[name]:
            said.append(f"The study has {now[name]:,} {words}; the plan was sealed with {design[name]:,}.")
    return said


def items_completed(study: Study) -> dict[str, datetime]:
    """When each item with all its raters got the last of their judgments; excluded raters' and judgments don't count."""
    held = Exclusion.objects.filter(study=study, lifted_at__isnull=True)
    counted = people_judgments(study).filter(standing="counted").exclude(
        rater__in=held.filter(rater__isnull=False).values("rater")
    ).exclude(pk__in=held.filter(judgment__isnull=False).values("judgment"))  # fmt: skip
    by_item = counted.values("item__key").annotate(n=Count("pk"), last=Max("created_at")).order_by()
    return {row["item__key"]: row["last"] for row in by_item if row["n"] >= study.redundancy}
