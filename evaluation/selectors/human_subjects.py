"""What venues ask about the people in a study, and what it cost: counted from the study's own rows."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Avg, Count, Q, Sum
from django.db.models.functions import Coalesce

from annotator.models import Consent, ExamAttempt, Judgment, LedgerEntry, Participation, Snapshot, Study
from annotator.selectors.progress import study_progress
from annotator.selectors.snapshot import snapshot_content
from evaluation.models import Run
from evaluation.selectors.material import datasets_behind

#: Judgments that a person made under the study's own rules.
BY_PEOPLE = Q(source=Judgment.Source.WEB)


@dataclass(frozen=True)
class Cost:
    """One kind of spending; ``amount`` in ``currency``, which is that of the endpoint's prices for model calls."""

    what: str
    amount: Decimal
    currency: str
    of: str


@dataclass(frozen=True)
class HumanSubjects:
    """People, time and consent of a study. ``mean_seconds`` and the others are None where nothing was measured."""

    people: int
    rehearsal: int
    joined: int
    finished: int
    left: int
    consents: int
    withdrawn: int
    consent_texts: tuple[str, ...]
    versions: tuple[tuple[int, str, str], ...]
    exams_taken: int
    exams_passed: int
    timed: int
    mean_seconds: float | None
    median_seconds: float | None
    pay_per_hour: float | None
    costs: tuple[Cost, ...]


def human_subjects(*, study: Study) -> HumanSubjects:
    """Count them; every judgment made in the browser counts, excluded or not, since it was work and is paid."""
    judgments = Judgment.objects.filter(study=study)
    timed = judgments.filter(BY_PEOPLE, seconds__isnull=False, standing="counted")
    took = timed.aggregate(n=Count("id"), mean=Avg("seconds"))
    states = dict(
        Participation.objects.filter(study=study).order_by().values_list("state").annotate(n=Count("id"))
    )
    consents = Consent.objects.filter(participation__study=study)
    exams = ExamAttempt.objects.filter(participation__study=study, submitted_at__isnull=False)
    takers = {
        (person, (score or 0) >= mark)
        for person, score, mark in exams.values_list("participation", "score", "pass_mark")
    }
    progress = study_progress(study) if took["n"] else None
    used = judgments.filter(snapshot__isnull=False).values("snapshot")
    versions = Snapshot.objects.filter(study=study, pk__in=used).order_by("number")
    return HumanSubjects(
        people=judgments.filter(rater__kind="human")
        .exclude(rater__rehearsal=True)
        .aggregate(n=Count("rater", distinct=True))["n"],
        rehearsal=judgments.filter(rater__rehearsal=True).aggregate(n=Count("rater", distinct=True))["n"],
        joined=sum(states.values()),
        finished=states.get("finished", 0),
        left=states.get("left", 0) + states.get("removed", 0),
        consents=consents.filter(withdrawn_at__isnull=True).values("participation").distinct().count(),
        withdrawn=consents.filter(withdrawn_at__isnull=False).values("participation").distinct().count(),
        consent_texts=tuple(sorted(set(consents.values_list("digest", flat=True)))),
        versions=tuple(
            (one.number, one.digest, str(one.content.get("instructions", ""))) for one in versions
        ),
        exams_taken=len({person for person, _ in takers}),
        exams_passed=len({person for person, passed in takers if passed}),
        timed=took["n"],
        mean_seconds=took["mean"],
        median_seconds=progress.median_seconds if progress else None,
        pay_per_hour=progress.pay_per_hour if progress else None,
        costs=tuple(_costs(study)),
    )


def _costs(study: Study) -> list[Cost]:
    earned, paid_items = Decimal(0), 0
    by_snapshot = Judgment.objects.filter(BY_PEOPLE, study=study, snapshot__isnull=False)
    for row in by_snapshot.order_by().values("snapshot_id").annotate(n=Count("id")):
        earned += row["n"] * Decimal(str(snapshot_content(row["snapshot_id"])["pay_per_item"]))
        paid_items += row["n"]
    bonus = LedgerEntry.objects.filter(study=study, kind="bonus").aggregate(
        sum=Coalesce(Sum("amount"), Decimal(0)), n=Count("id")
    )
    found = [
        Cost("Pay for items", earned, study.currency, f"{paid_items:,} items"),
        Cost("Bonuses", bonus["sum"], study.currency, f"{bonus['n']:,} entries"),
    ]
    runs = Run.objects.filter(Q(study=study) | Q(dataset__in=datasets_behind(study=study)))
    spent = (
        runs.order_by("kind", "model")
        .values_list("kind", "model")
        .annotate(sum=Sum("spent_cost"), n=Count("id"), requests=Sum("sent_calls"))
    )
    for kind, model, amount, number, requests in spent:
        what = f"Model calls: {kind.replace('_', ' ')} by {model}"
        found.append(Cost(what, amount, "", f"{requests:,} requests in {number:,} runs"))
    return found
