"""Small studies whose every figure can be worked out on paper."""

from __future__ import annotations

from typing import Any

from django.test import Client

from annotator.models import Item, Judgment, Membership, Rater, Study
from evaluation.models import Report
from evaluation.reports.choices import Choices
from evaluation.reports.compute import Computed, compute
from evaluation.services.report import report_compute, report_create
from tests.factories import make_item, make_judgment, make_rater, make_study, make_user

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
