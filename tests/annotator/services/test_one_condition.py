"""What somebody answers before an explanation isn't spoilt by another task: over all templates, in random histories."""

from __future__ import annotations

import io
from collections import Counter
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest
from django.utils import timezone

import annotator.demo
from annotator.core.errors import Refused
from annotator.hit_types.registry import hit_type_get, hit_types
from annotator.models import Assignment, Participation, Study
from annotator.services.assignment import assignment_next, assignment_return, leases_expire
from annotator.services.imports.material_import import material_import
from annotator.services.stage_submit import judgment_undo
from annotator.services.study import study_launch
from annotator.services.study_templates import study_create_from_template, study_templates
from annotator.services.submit_and_next import turn_take
from tests.annotator.services.test_queries import answer
from tests.factories import EASY, make_participation, make_user

DEMO = Path(annotator.demo.__path__[0])
TEMPLATES = [one.key for one in study_templates() if (DEMO / f"{one.key}.jsonl").is_file()]
ROWS = 12


def template_study(template: str, slug: str) -> Study:
    """A live study as its template makes it, without the steps before the tasks."""
    fields = {name: value for name, value in EASY.items() if name != "hit_type"}
    study = study_create_from_template(by=None, template=template, slug=slug, title=slug, **fields)
    lines = (DEMO / f"{template}.jsonl").read_bytes().splitlines(keepends=True)[:ROWS]
    material_import(study=study, file=io.BytesIO(b"".join(lines)), name="m.jsonl")
    study_launch(study=study)
    study.refresh_from_db()
    return study


def needs_it(name: str) -> bool:
    """Whether some item has a stage after another one, or raters of different arms."""
    kind = hit_types()[name]
    lines = (DEMO / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    import json

    payloads = [kind.parse_item(json.loads(line)).payload for line in lines]
    return any(len(kind.every_stage(payload)) > 1 or kind.arms(payload) > 1 for payload in payloads)


def seen_of(user_pk: int) -> Counter[str]:
    """How often somebody was given each input, in whichever study."""
    rows = Assignment.objects.filter(rater__user_id=user_pk)
    return Counter(rows.values_list("item__instance__input", flat=True))


@pytest.mark.parametrize("template", TEMPLATES)
def test_staged_types_give_one_condition_of_an_instance_by_default(template: str) -> None:
    kind = hit_type_get(template)
    assert kind.defaults.one_condition_per_instance or not needs_it(template)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "template", [name for name in TEMPLATES if hit_types()[name].defaults.one_condition_per_instance]
)
def test_no_history_shows_anybody_an_instance_twice(template: str) -> None:
    """Two studies with the same questions; people take, answer, skip, undo and let leases lapse at random."""
    studies = [template_study(template, f"{template}-{number}".replace("_", "-")) for number in (1, 2)]
    assert all(study.one_condition_per_instance for study in studies)
    rng = Random(f"history {template}")
    users = [make_user() for _ in range(3)]
    people = [(user, [make_participation(study, user) for study in studies]) for user in users]
    for _ in range(60):
        user, participations = rng.choice(people)
        person = Participation.objects.select_related("study", "rater").get(pk=rng.choice(participations).pk)
        try:
            act(person, rng)
        except Refused:
            continue
        assert max(seen_of(user.pk).values(), default=0) <= 1
    assert all(seen_of(user.pk) for user in users)


def act(person: Participation, rng: Random) -> None:
    assignment = assignment_next(participation=person)
    if assignment is None:
        return
    user_id = person.rater.user_id or 0
    choice = rng.random()
    if choice < 0.15:
        assignment_return(user_id=user_id, assignment_pk=assignment.pk, reason="too hard")
    elif choice < 0.3:
        Assignment.objects.filter(pk=assignment.pk).update(lease_until=timezone.now() - timedelta(minutes=1))
        leases_expire()
    else:
        kind = hit_type_get(person.study.hit_type)
        turn = turn_take(
            user_id=user_id,
            assignment_pk=assignment.pk,
            stage=assignment.stage,
            raw=answer(kind, assignment, assignment.stage),
        )
        if turn.submitted.finished and rng.random() < 0.3:
            judgment_undo(user_id=user_id, assignment_pk=assignment.pk)
