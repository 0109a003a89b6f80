"""The number of queries of a submit is independent of the items, the judgments and the person's own work."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from django.db import connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext

import annotator.demo
from annotator.hit_types.registry import hit_types
from annotator.models import Assignment, Instance, Participation, Study
from annotator.services.assignment import assignment_next
from annotator.services.imports.material_import import material_import
from annotator.services.participation import participation_join
from annotator.services.rehearsal.fill import rehearsal_raters, rehearse, take_steps
from annotator.services.study import study_create, study_launch
from tests.annotator.services.answers import answer
from tests.factories import make_user

pytestmark = pytest.mark.django_db
DEMO = Path(annotator.demo.__path__[0])
TYPES = [name for name in hit_types() if (DEMO / f"{name}.jsonl").is_file()]


def filled_study(name: str, *, items: int, others: int) -> Study:
    """A study with an exam, a requirement and one condition a person, some of it done by others."""
    study = study_create(
        by=None, hit_type=name, slug=f"q-{items}", title="Q", practice_required=False, requires=["utility"],
        one_condition_per_instance=True, redundancy=4,
    )  # fmt: skip
    rows = [json.loads(line) for line in (DEMO / f"{name}.jsonl").read_text().splitlines()]
    made = []
    for n in range(items):
        row = dict(rows[n % len(rows)].items()) | {"key": f"k{n}", "instance": f"i{n}"}
        if name == "generalization_utility":
            row["arms"] = ["all", "in_turn"]
        made.append(json.dumps(row))
    material_import(study=study, file=io.BytesIO("\n".join(made).encode()), name="m.jsonl")
    Instance.objects.update(input=F("key"))  # the demo's few questions stand for many different ones
    study_launch(study=study)
    study.refresh_from_db()
    raters = rehearsal_raters(study=study, count=others, accuracy=1, spread=0, seed=1)
    rehearse(study=study, raters=raters, seed=1, most=others * items // 2)
    return study


def counts_of_a_task(study: Study, *, tasks: int) -> list[int]:
    """Queries of the submit of each stage of a person's last task, over HTTP, after ``tasks`` before it."""
    user = make_user(f"me-{study.slug}")
    from annotator.services.exam import qualification_grant
    from annotator.services.participation import rater_for

    qualification_grant(rater=rater_for(user=user), hit_type="utility", workspace=None, by=None)
    person = participation_join(study=study, user=user)
    take_steps(person)
    client = Client()
    client.force_login(user)
    found: list[int] = []
    for number in range(tasks + 1):
        assignment = assignment_next(participation=Participation.objects.get(pk=person.pk))
        assert assignment
        kind = hit_types()[study.hit_type]
        for stage in range(len(kind.stages(assignment.item.payload, assignment.presentation))):
            raw = answer(kind, Assignment.objects.select_related("item").get(pk=assignment.pk), stage)
            with CaptureQueriesContext(connection) as captured:
                reply = client.post(
                    f"/task/{assignment.pk}/", raw | {"stage": str(stage)}, headers={"HX-Request": "true"}
                )
            assert reply.status_code == 200
            if number == tasks:
                found.append(len(captured))
    return found


@pytest.mark.parametrize("name", TYPES)
def test_the_number_of_queries_of_a_submit_is_constant(name: str) -> None:
    """Of every stage: the first person's second task of 6 items, and a late one's ninth of 14 among others' work."""
    few = counts_of_a_task(filled_study(name, items=6, others=0), tasks=1)
    many = counts_of_a_task(filled_study(name, items=14, others=3), tasks=8)
    if name == "generalization_utility":  # arms have stages of their own; each stage costs alike
        few, many = sorted({*few[:-1]}) + few[-1:], sorted({*many[:-1]}) + many[-1:]
    assert few == many
    assert max(few) <= 16, few
