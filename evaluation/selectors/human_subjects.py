"""What venues ask about a study's participants and costs: its conduct, its versions and its model calls."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Count, Q, Sum

from annotator.core.words import plural
from annotator.models import Judgment, Snapshot, Study
from annotator.selectors.conduct import BY_PARTICIPANTS, Conduct, study_conduct
from evaluation.models import Call, Run
from evaluation.selectors.material import datasets_behind


@dataclass(frozen=True)
class Cost:
    """One kind of spending; ``currency`` is empty for model calls, whose prices are in the endpoint's currency."""

    purpose: str
    amount: Decimal
    currency: str
    basis: str


@dataclass(frozen=True)
class Version:
    """A version of the study under which participants worked, with its instructions."""

    number: int
    digest: str
    instructions: str


@dataclass(frozen=True)
class HumanSubjects:
    """Conduct of a study, the versions that participants saw, and what it cost."""

    conduct: Conduct
    versions: tuple[Version, ...]
    costs: tuple[Cost, ...]
    #: Simulators whose server returned several fingerprints, and how many.
    fingerprints: dict[str, int]


def human_subjects(*, study: Study) -> HumanSubjects:
    """All work of participants counts, even if excluded, since it was done and is paid."""
    conduct = study_conduct(study=study)
    used = Judgment.objects.filter(BY_PARTICIPANTS, study=study, snapshot__isnull=False).values("snapshot")
    versions = tuple(
        Version(snapshot.number, snapshot.digest, str(snapshot.content.get("instructions", "")))
        for snapshot in Snapshot.objects.filter(study=study, pk__in=used).order_by("number")
    )
    costs = (*_pay(study, conduct), *_model_calls(study))
    return HumanSubjects(conduct, versions, costs, _fingerprints(study))


def _fingerprints(study: Study) -> dict[str, int]:
    calls = Call.objects.filter(run__study=study, run__rater__isnull=False).exclude(fingerprint="")
    counts = calls.values_list("run__rater__name").annotate(n=Count("fingerprint", distinct=True))
    return {name: n for name, n in counts.order_by("run__rater__name") if n > 1}


def _pay(study: Study, conduct: Conduct) -> list[Cost]:
    found = [
        Cost("Pay for items", conduct.for_items, study.currency, plural(conduct.paid_items, "item")),
        Cost("Bonuses", conduct.bonuses, study.currency, plural(conduct.bonus_entries, "bonus", "bonuses")),
    ]
    if conduct.for_exams:
        basis = plural(conduct.exams_taken, "participant")
        found.insert(1, Cost("Pay for exams", conduct.for_exams, study.currency, basis))
    return found


def _model_calls(study: Study) -> list[Cost]:
    """Calls of this study's simulators and of the runs that made its material, by kind and model."""
    runs = Run.objects.filter(Q(study=study) | Q(dataset__in=datasets_behind(study=study)))
    spent = (
        runs.order_by("kind", "model")
        .values_list("kind", "model")
        .annotate(sum=Sum("spent_cost"), n=Count("id"), requests=Sum("sent_calls"))
    )
    return [
        Cost(
            f"Model calls: {kind.replace('_', ' ')} by {model}",
            amount,
            "",
            f"{plural(requests, 'request')} in {plural(number, 'run')}",
        )
        for kind, model, amount, number, requests in spent
    ]
