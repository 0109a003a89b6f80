"""Import rows of studies from material: every HIT type that is made from it, in a number of queries that doesn't grow."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotator.hit_types.registry import hit_type_get, hit_types
from annotator.models import AtomicUnit, Dataset, Explanation, FollowUp, Instance, Output, System
from evaluation.pipelines.study_rows import study_rows

pytestmark = pytest.mark.django_db
MADE = [name for name, kind in hit_types().items() if kind.made_from]
#: Types whose inputs have a form of their own, and an answer to them.
INPUTS = {
    "simulation_preference": ("Context: Tea {}?\nResponse 1: Hot.\nResponse 2: Cold.", "response_1"),
    "simulation_choice": ("Which one, {}?\nA: an owl\nB: an emu", "A"),
}
#: What a study step of a recipe says for these types.
CHOICES = {"rationale_properties": {"group": "support"}, "atomic_units": {"domain": "news"}}


def make_material(hit_type: str, instances: int) -> Dataset:
    """Each instance with explanations of two systems, a follow-up of each, and a generalization question."""
    dataset = Dataset.objects.create(name=f"{hit_type} {instances}")
    systems = [System.objects.get_or_create(name=name, method="cot")[0] for name in ("a", "b")]
    text, answer = INPUTS.get(hit_type, ("Can owl {} swim?", "yes"))
    for n in range(instances):
        instance = Instance.objects.create(
            dataset=dataset,
            key=f"i{n}",
            input=text.format(n),
            gold_label=answer,
            gold_rationale="Owls paddle.",
        )
        FollowUp.objects.create(
            instance=instance, text=f"Do owls {n} float?", kind="rephrase", gold_label="yes", digest="q"
        )
        for system in systems:
            explanation = Explanation.objects.create(
                instance=instance, system=system, text=f"{system} floats.", output=answer, digest=system.name
            )
            AtomicUnit.objects.create(explanation=explanation, number=1, text="floats")
            follow_up = FollowUp.objects.create(
                instance=instance, explanation=explanation, text=text.format(f"{n}, too"), digest="f"
            )
            Output.objects.create(follow_up=follow_up, system=system, text=answer)
    return dataset


@pytest.mark.parametrize("hit_type", MADE)
def test_rows_can_be_imported_and_take_a_fixed_number_of_queries(hit_type: str) -> None:
    queries, made = [], []
    for instances in (1, 5):
        dataset = make_material(hit_type, instances)
        with CaptureQueriesContext(
            connection,
        ) as captured:
            rows = list(study_rows(hit_type=hit_type, dataset=dataset, choices=CHOICES.get(hit_type)))
        queries.append(len(captured))
        made.append(len(rows))
        for row in rows:
            hit_type_get(hit_type).parse_item(row)
    assert made[1] == 5 * made[0] > 0
    assert queries[0] == queries[1] <= 4


def test_a_type_that_is_not_made_from_material_is_refused_with_those_that_are() -> None:
    with pytest.raises(KeyError, match=r"expected one of: .*simulation"):
        list(study_rows(hit_type="external_labels", dataset=Dataset.objects.create(name="d")))
