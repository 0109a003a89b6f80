"""Steps that write material without calling a model: gold rationales as a system, and the verdict on each question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.db import transaction

from annotator.core.canonical import text_digest
from annotator.hit_types.base import JSON
from annotator.models import Dataset, Explanation, FollowUp, Instance, Study, System
from evaluation.models import QuestionVerdict

if TYPE_CHECKING:  # imported late, because the web process doesn't load numpy
    from evaluation.ratings.validation import MajorityVerdict

#: The explain method that uses the dataset's own rationales, and the name of its system.
GOLD = "gold"


@transaction.atomic
def gold_explanations(*, dataset: Dataset) -> int:
    """Store each instance's gold rationale as an explanation by the system "gold", with the gold label as its output.
    Returns how many instances have one. Safe to call again.
    """
    system, _ = System.objects.get_or_create(
        workspace=dataset.workspace, name=GOLD, defaults={"model": "", "method": GOLD}
    )
    with_gold = Instance.objects.filter(dataset=dataset).exclude(gold_rationale="").exclude(gold_label="")
    rows = [
        Explanation(
            instance=instance,
            system=system,
            text=instance.gold_rationale,
            output=instance.gold_label,
            digest=text_digest(instance.gold_rationale, instance.gold_label),
        )
        for instance in with_gold.order_by("pk")
    ]
    Explanation.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)


@transaction.atomic
def questions_validate(*, study: Study, dataset: Dataset, verdicts: Sequence[MajorityVerdict]) -> JSON:
    """Store a validation study's verdicts on the dataset's generalization questions; returns the counts.

    The keys of a validation study's items are "f" and the primary key of the question. Calling it again replaces the
    old verdicts.
    """
    from evaluation.ratings.validation import CRITERIA

    pks = {int(verdict.key.removeprefix("f")): verdict.accepted for verdict in verdicts}
    questions = FollowUp.objects.filter(instance__dataset=dataset, pk__in=pks, explanation__isnull=True)
    rows = [
        QuestionVerdict(study=study, follow_up_id=pk, accepted=pks[pk])
        for pk in questions.order_by("pk").values_list("pk", flat=True)
    ]
    QuestionVerdict.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["study", "follow_up"], update_fields=["accepted"]
    )
    return {
        "questions": len(verdicts),
        "accepted": sum(verdict.accepted for verdict in verdicts),
        **{f"not_{name}": sum(not getattr(verdict, name) for verdict in verdicts) for name in CRITERIA},
    }
