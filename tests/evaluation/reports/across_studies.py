"""Studies that a report joins: simulated answers and plausibility of the same explanations."""

from typing import Any

from annotator.models import Explanation, Instance, Item, Study, System
from evaluation.reports.choices import Choices
from evaluation.reports.compute import compute_across
from tests.evaluation.reports.studies import judged, of_type
from tests.factories import make_item, make_judgment, make_rater, make_study


def across(*studies: Study, **choices: Any) -> dict[str, Any]:
    parsed = Choices.parse({"min_overlap": 1, "replicates": 0} | choices)
    return compute_across(studies=studies, choices=parsed, figures=False).content


def same_inputs(*studies: Study) -> None:
    """The factory writes the item's key into the question; here an instance of one name is one question."""
    for instance in Instance.objects.filter(items__study__in=studies).distinct():
        Instance.objects.filter(pk=instance.pk).update(input=f"Question {instance.key}?")


def simulated(precision: dict[tuple[str, str], tuple[int, int]], **fields: Any) -> Study:
    """(instance, system) -> (right, follow-ups): one person predicts yes; the system says yes where it is right."""
    study = make_study(**fields)
    ann = make_rater("ann")
    for (instance, system), (right, total) in precision.items():
        for number in range(total):
            real = "yes" if number < right else "no"
            key = f"{instance}{system}{number}"
            make_judgment(
                make_item(study, key=key, instance=instance, system=system, real_output=real), ann, "yes"
            )
    return study


def judged_plausible(scores: dict[tuple[str, str], str]) -> Study:
    """(instance, system) -> one person's answer; an item shows all systems' explanations of an instance."""
    study = make_study()
    for instance in sorted({name for name, _ in scores}):
        item = make_item(study, key=instance, instance=instance)
        parts, shown, response = {}, [], {}
        for number, (name, system) in enumerate(sorted(k for k in scores if k[0] == instance), start=1):
            maker, _ = System.objects.get_or_create(name=system)
            explanation, _ = Explanation.objects.get_or_create(
                instance=item.instance, system=maker, digest=system, defaults={"text": "Because."}
            )
            parts[str(number)] = explanation.pk
            shown.append({"key": str(number), "text": "Because."})
            response[f"justifies_{number}"] = scores[name, system]
        judged(item, "ann", response)
        Item.objects.filter(pk=item.pk).update(payload=item.payload | {"explanations": shown}, parts=parts)
    return of_type(study, "plausibility")
