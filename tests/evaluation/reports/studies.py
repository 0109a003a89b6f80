"""Small studies whose every figure can be worked out on paper."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.test import Client

from annotator.models import Consent, Item, Judgment, LedgerEntry, Membership, Rater, Study
from evaluation.models import Endpoint, Report, Run
from evaluation.reports.choices import Choices
from evaluation.reports.compute import Computed, compute
from evaluation.services.report import report_compute, report_create
from tests.factories import (
    make_item,
    make_judgment,
    make_participation,
    make_rater,
    make_study,
    make_user,
)

#: item, instance, system, the system's real output, ann's answer, bob's answer
ROWS = [
    ("xa1", "x", "robot-a", "yes", "yes", "yes"),
    ("xa2", "x", "robot-a", "no", "yes", "yes"),
    ("ya1", "y", "robot-a", "yes", "cannot_guess", "cannot_guess"),
    ("ya2", "y", "robot-a", "yes", "yes", "no"),
    ("xb1", "x", "robot-b", "no", "no", "no"),
    ("yb1", "y", "robot-b", "yes", "no", "no"),
]


def small_study(*, simulator: bool = False, **fields: Any) -> Study:
    """Two people on six follow-ups of four explanations; with ``simulator``, gpt-4 says yes to everything."""
    study = make_study(**fields)
    ann, bob = make_rater("ann"), make_rater("bob")
    for key, instance, system, real, first, second in ROWS:
        item = make_item(study, key=key, instance=instance, system=system, real_output=real)
        make_judgment(item, ann, first)
        make_judgment(item, bob, second)
        if simulator:
            make_judgment(item, make_rater("gpt-4", kind="simulator", source="simulator"), "yes")
    return study


def paid_study() -> Study:
    """Two people in the browser at .50 an item, 3 items in 10, 20 and 60 seconds; a bonus of 2; a run that cost 1.25."""
    study = make_study(items=2, launched=True, pay_per_item=Decimal("0.50"), consent_text="")
    places = list(study.places.filter(number__lte=2).order_by("item_id", "number"))
    raters = []
    for number, seconds in enumerate((10, 20, 60)):
        if len(raters) < 2:
            raters.append(make_participation(study).rater)
        place = places[number]
        judgment = make_judgment(place.item, raters[number % 2])
        Judgment.objects.filter(pk=judgment.pk).update(
            source="web", place=place, snapshot=study.snapshot, seconds=seconds
        )
    Consent.objects.create(participation=study.participations.first(), text="I agree.", digest="c0ffee" * 4)
    LedgerEntry.objects.create(study=study, rater=raters[0], kind="bonus", amount=2, reason="thorough")
    endpoint = Endpoint.objects.create(name="e", base_url="http://127.0.0.1:1/v1", model="m")
    Run.objects.create(
        kind="simulate", study=study, endpoint=endpoint, model="m", prompt="p", prompt_digest="d",
        spent_cost=Decimal("1.25"), sent_calls=7,
    )  # fmt: skip
    return study


#: What a type reads of an item's payload, beyond what a simulation has.
PAYLOADS: dict[str, dict[str, Any]] = {
    "atomic_units": {"domain": "news", "ask": ["parse", "input", "output"]},
    "generalization_utility": {"arms": [["before", "after", "follow_up_before", "follow_up_after"]]},
}


def of_type(study: Study, hit_type: str) -> Study:
    """The same study with another type: these tests are about what comes after a type's own parser."""
    Study.objects.filter(pk=study.pk).update(hit_type=hit_type)
    for item in study.items.all():
        Item.objects.filter(pk=item.pk).update(payload=PAYLOADS.get(hit_type, {}) | item.payload)
    study.refresh_from_db()
    return study


def judged(item: Item, rater: Rater | str, response: dict[str, Any]) -> None:
    """Store a response of any type without its type's own parser: these tests are about what comes after it."""
    judgment = make_judgment(item, make_rater(rater) if isinstance(rater, str) else rater)
    Judgment.objects.filter(pk=judgment.pk).update(response=response)


def client_of(*studies: Study, role: str = "owner") -> Client:
    """The browser of a researcher who has this role in the studies."""
    user = make_user(staff=True)
    for study in studies:
        Membership.objects.update_or_create(study=study, user=user, defaults={"role": role})
    client = Client()
    client.force_login(user)
    return client


def computed(study: Study, *, figures: bool = False, **choices: Any) -> Computed:
    parsed = Choices.parse({"min_overlap": 1, "replicates": 0} | choices)
    return compute(study=study, choices=parsed, figures=figures)


def stored(study: Study, **choices: Any) -> Report:
    """A report that is asked for and computed, as the job does it."""
    report = report_create(study=study, choices={"min_overlap": 1, "replicates": 0} | choices)
    report_compute(report_pk=report.pk)
    report.refresh_from_db()
    return report


def table_of(content: dict[str, Any], name: str) -> dict[str, Any]:
    blocks = [block for section in content["sections"] for block in section["blocks"]]
    return next(block for block in blocks if block["id"] == name)


def cells_of(content: dict[str, Any], name: str) -> dict[tuple[str, str], dict[str, Any]]:
    """A table's cells by (row head, column label), groups in front."""
    table = table_of(content, name)
    return {
        (
            " ".join(filter(None, [row["group"], *row["head"]])),
            " ".join(filter(None, [column["group"], column["label"]])),
        ): cell
        for row in table["rows"]
        for column, cell in zip(table["columns"], row["cells"], strict=True)
    }
