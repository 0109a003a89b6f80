"""An answer "before" an explanation is never given after another task showed it: all templates, in random histories."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import pytest
from django.utils import timezone

from annotator.core.errors import Refused
from annotator.hit_types.registry import hit_type_get
from annotator.models import Assignment, Participation
from annotator.services.assignment import assignment_next, assignment_return, leases_expire
from annotator.services.judgment_undo import judgment_undo
from annotator.services.submit_and_next import turn_take
from tests.annotator.services.answers import answer
from tests.annotator.services.template_studies import (
    TEMPLATES,
    demo_rows,
    seen_of,
    template_study,
)
from tests.factories import make_participation, make_user

#: Three raters judged several counterfactuals of each explanation: Limpijankit et al. 2025, "Distribution of Annotations".
#: No stage asks an earlier stage's question again.
SEVERAL_IN_THE_PAPER = {"atomic_units"}


def needs_it(name: str) -> bool:
    """Whether some item has a stage after another one that it could influence, or raters of different arms."""
    kind = hit_type_get(name.partition("/")[0])
    if kind.name in SEVERAL_IN_THE_PAPER:
        return False
    payloads = [kind.parse_item(row).payload for row in demo_rows(name)]
    return any(len(kind.every_stage(payload)) > 1 or kind.arms(payload) > 1 for payload in payloads)


@pytest.mark.parametrize("template", TEMPLATES)
def test_types_with_stages_use_one_condition_per_instance_by_default(template: str) -> None:
    kind = hit_type_get(template.partition("/")[0])
    assert kind.defaults.one_condition_per_instance or not needs_it(template)


def test_three_people_are_enough_where_the_papers_raters_saw_several_items_of_an_input() -> None:
    for name in SEVERAL_IN_THE_PAPER:
        assert not hit_type_get(name).defaults.one_condition_per_instance


@pytest.mark.django_db
@pytest.mark.parametrize(
    "template",
    [name for name in TEMPLATES if hit_type_get(name.partition("/")[0]).defaults.one_condition_per_instance],
)
def test_nobody_sees_an_instance_twice(template: str) -> None:
    """Two studies with the same questions; people take, answer, skip, undo and let leases lapse at random."""
    slug = template.replace("_", "-").replace("/", "-")
    studies = [template_study(template, f"{slug}-{number}") for number in (1, 2)]
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


@pytest.mark.django_db
@pytest.mark.parametrize("template", [name for name in TEMPLATES if needs_it(name)])
def test_nobody_answers_a_question_after_its_explanation_in_another_study(template: str) -> None:
    """A study of properties shows rationales; a staged study of the same questions never follows it."""
    shown, asked = template_study("rationale_properties", "shown"), template_study(template, "asked")
    own = list(asked.items.select_related("instance").order_by("pk"))
    for number, item in enumerate(shown.items.select_related("instance").order_by("pk")):
        assert item.instance
        item.instance.input = own[number % len(own)].instance.input  # type: ignore[union-attr]
        item.instance.save(update_fields=["input"])
    rng = Random(f"shown {template}")
    users = [make_user() for _ in range(3)]
    people = [(user, [make_participation(study, user) for study in (shown, asked)]) for user in users]
    for _ in range(60):
        user, participations = rng.choice(people)
        person = Participation.objects.select_related("study", "rater").get(pk=rng.choice(participations).pk)
        before = seen_of(user.pk)
        had = set(Assignment.objects.filter(rater__user=user).values_list("pk", flat=True))
        try:
            act(person, rng)
        except Refused:
            continue
        new = Assignment.objects.filter(rater__user=user, item__study=asked).exclude(pk__in=had)
        for given in new.select_related("item__instance"):
            assert before[given.item.instance.input] == 0, "its explanation was seen before"
    assert Assignment.objects.filter(item__study=asked).exists()
    assert Assignment.objects.filter(item__study=shown).exists()


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
