"""Control arms of a study: their items, places, texts and who gets which."""

from __future__ import annotations

import json
from collections import Counter
from random import Random

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotator.core.allocation import group_order, seeded_order
from annotator.hit_types.arms import arm_of
from annotator.models import Item, Judgment, Place, Snapshot, Study
from annotator.selectors.study import study_hit_type
from annotator.selectors.workload import study_workload
from annotator.services.assignment import assignment_next, assignment_return
from annotator.services.items import item_correct, item_delete, item_edit
from annotator.services.rehearsal.fill import rehearsal_raters, rehearse
from annotator.services.study import study_create, study_launch, study_update
from annotator.services.study_copy import study_duplicate
from annotator.services.submit_and_next import turn_take
from tests.annotator.services.control_studies import arms_seen, control_study, imported, nobody_saw_two_arms
from tests.factories import (
    make_item,
    make_judgment,
    make_participation,
    make_rater,
    make_study,
    make_user,
    simulation_payload,
)

pytestmark = pytest.mark.django_db
ROW = {
    "key": "owl", "question": "Can owls fly?", "explanation": "Birds fly.", "answer": "yes", "follow_up": "Can owlets fly?",
    "real_output": "no", "system": "robot",
}  # fmt: skip


def keys(study: Study) -> list[str]:
    return sorted(study.items.values_list("key", flat=True))


def test_a_study_has_no_control_arms_by_default():
    study = imported(make_study(), ROW)
    assert keys(study) == ["owl"]
    assert study.items.get().payload == {
        name: ROW[name] for name in ("question", "explanation", "answer", "follow_up")
    }
    study_launch(study=study)
    assert Place.objects.filter(study=study).count() == 3


def test_each_row_becomes_an_item_of_each_arm_with_the_same_material():
    study = imported(
        make_study(answer_only_raters=2, nothing_raters=1), ROW, ROW | {"key": "bat", "condition": "long"}
    )
    assert keys(study) == [
        "bat",
        "bat (answer only)",
        "bat (nothing)",
        "owl",
        "owl (answer only)",
        "owl (nothing)",
    ]
    by_key = {item.key: item for item in study.items.all()}
    owl, answer, nothing = (by_key[f"owl{end}"] for end in ("", " (answer only)", " (nothing)"))
    assert nothing.payload == {"follow_up": "Can owlets fly?", "arm": "nothing"}
    assert answer.payload == {
        "question": "Can owls fly?", "answer": "yes", "follow_up": "Can owlets fly?", "arm": "answer_only"
    }  # fmt: skip
    for one in (answer, nothing):
        for name in ("instance_id", "explanation_id", "follow_up_id", "parts", "attributes"):
            assert getattr(one, name) == getattr(owl, name)
    assert (owl.condition, nothing.condition, by_key["bat (nothing)"].condition) == (
        "",
        "nothing",
        "long, nothing",
    )


def test_places_are_those_of_each_arm_and_neighbours_in_the_order():
    study = imported(
        make_study(redundancy=3, answer_only_raters=2, nothing_raters=1),
        *(ROW | {"key": f"owl-{n}", "follow_up": f"Can owl {n} fly?"} for n in range(5)),
    )
    workload = study_workload(study)
    assert (workload.places, workload.units, workload.people) == (30, 5, 6)
    study_launch(study=study)
    places = Place.objects.filter(study=study)
    assert Counter(arm_of(payload) for payload in places.values_list("item__payload", flat=True)) == {
        "": 15, "answer_only": 10, "nothing": 5
    }  # fmt: skip
    order = [
        key.partition(" ")[0]
        for key in places.order_by("position", "number").values_list("item__key", flat=True)
    ]
    assert [key for n, key in enumerate(order) if not n or order[n - 1] != key] == order[::6]


def test_groups_are_neighbours_in_an_order_that_depends_on_the_names_and_the_seed():
    names = [f"{group}{n}" for group in "abc" for n in range(4)]
    groups = [name[0] for name in names]
    positions = group_order(names, groups, seed=3)
    assert sorted(positions) == list(range(12))
    shuffled = list(range(12))
    Random(1).shuffle(shuffled)
    again = group_order([names[i] for i in shuffled], [groups[i] for i in shuffled], seed=3)
    assert [positions[i] for i in shuffled] == again
    assert len({tuple(group_order(names, groups, seed=seed)) for seed in range(20)}) > 10
    assert group_order(names, names, seed=3) == seeded_order(names, seed=3)


def test_arms_can_be_added_and_taken_away_until_the_launch():
    study = imported(make_study(), ROW)
    study_update(study=study, nothing_raters=2)
    assert keys(study) == ["owl", "owl (nothing)"]
    study_update(study=study, nothing_raters=0, answer_only_raters=1)
    assert keys(study) == ["owl", "owl (answer only)"]
    study_launch(study=study)
    with pytest.raises(ValidationError, match="can't be changed after the launch"):
        study_update(study=study, nothing_raters=1)


def test_items_follow_those_that_they_are_made_from():
    study = imported(make_study(nothing_raters=2), ROW)
    owl, control = study.items.get(key="owl"), study.items.get(key="owl (nothing)")
    item_edit(item=owl, payload=owl.payload | {"follow_up": "Can an owlet swim?"}, gold=None)
    control.refresh_from_db()
    owl.refresh_from_db()
    assert control.payload["follow_up"] == "Can an owlet swim?"
    assert control.follow_up_id == owl.follow_up_id
    for change in (
        lambda: item_edit(item=control, payload=control.payload, gold=None),
        lambda: item_delete(item=control),
    ):
        with pytest.raises(ValidationError, match=r"made from item owl\. Change that one"):
            change()
    item_delete(item=owl)
    assert keys(study) == []


def test_items_that_are_judged_are_not_changed():
    study = imported(make_study(nothing_raters=2), ROW)
    owl, control = study.items.get(key="owl"), study.items.get(key="owl (nothing)")
    make_judgment(control, make_rater("gpt", kind="simulator"))
    with pytest.raises(ValidationError, match="1 item of the control arms would change and has judgments"):
        item_edit(item=owl, payload=owl.payload | {"follow_up": "Can an owlet swim?"}, gold=None)
    with pytest.raises(
        ValidationError, match="1 item of the control arms has judgments and can't be deleted"
    ):
        study_update(study=study, nothing_raters=0)
    assert keys(study) == ["owl", "owl (nothing)"]


def test_the_same_file_again_changes_nothing():
    study = imported(make_study(nothing_raters=2), ROW)
    before = list(study.items.order_by("id").values())
    imported(study, ROW)
    assert list(study.items.order_by("id").values()) == before


def test_checks_are_not_given_out_in_control_arms():
    gold = {"helpful": "yes", "answer": "no"}
    study = imported(make_study(nothing_raters=2), ROW, ROW | {"key": "check", "role": "gold", "gold": gold})
    assert keys(study) == ["check", "owl", "owl (nothing)"]
    assert study.items.get(key="owl (nothing)").gold is None


def test_other_types_and_arms_are_refused():
    with pytest.raises(ValidationError, match=r"don't have this control arm\. They have: none") as error:
        study_create(by=None, hit_type="plausibility", slug="p", title="P", nothing_raters=1)
    assert set(error.value.message_dict) == {"nothing_raters"}
    with pytest.raises(ValidationError, match="They have: “nothing”"):
        study_create(by=None, hit_type="forward_simulation", slug="p", title="P", answer_only_raters=1)


def test_forward_simulation_has_its_own_control_condition():
    row = {
        "input": "Fine film.",
        "explanation": "Fine is good.",
        "real_output": "yes",
        "key": "a",
        "system": "s",
    }
    study = imported(
        make_study(hit_type="forward_simulation", nothing_raters=2),
        row,
        row | {"key": "b", "explanation": ""},
    )
    found = {item.key: item for item in study.items.all()}
    assert set(found) == {"a", "a (nothing)", "b"}  # b has nothing that could be left out
    assert found["a (nothing)"].condition == found["b"].condition == "no explanation"
    assert found["a (nothing)"].payload == {
        "input": "Fine film.", "options": [], "explanation": "", "saliency": [], "arm": "nothing"
    }  # fmt: skip


def test_a_copy_has_the_arms_too():
    owner = make_user("rita", staff=True)
    study = imported(make_study(by=owner, nothing_raters=2), ROW)
    copy = study_duplicate(study=study, by=owner, slug="copy", title="Copy", material=True)
    assert copy.nothing_raters == 2
    assert keys(copy) == keys(study)


def test_instructions_practice_exam_and_prompt_are_those_of_the_arms():
    plain, armed = make_study(), make_study(nothing_raters=1)
    usual, own = study_hit_type(plain), study_hit_type(armed)
    assert own.instructions.startswith(usual.instructions.rstrip())
    assert "## Pages with one question only" in own.instructions
    assert "## Pages without an explanation" not in own.instructions
    assert len(own.exam) == len(usual.exam) + 7
    assert len(own.practice) == len(usual.practice) + 1
    assert own.prompt_text != usual.prompt_text == (usual.folder / "prompt.md").read_text("utf-8")


def test_a_correction_has_the_places_of_its_arm():
    study = control_study(instances=1, systems=1, follow_ups=1, nothing_raters=1)
    control = study.items.get(key="x0-s0-0 (nothing)")
    again = item_correct(
        item=control, by=None, reason="typo", payload=control.payload | {"follow_up": "Can it?"}, gold=None
    )
    assert again.places.count() == 1


def test_nobody_gets_two_arms_of_an_instance_and_everything_is_judged():
    study = control_study(instances=3)
    people = [make_participation(study) for _ in range(9)]
    work(study, people)
    assert not Place.objects.filter(study=study, assignment__isnull=True).exists()
    assert nobody_saw_two_arms(study)
    arms = Counter(
        arm_of(payload)
        for payload in Judgment.objects.filter(study=study).values_list("item__payload", flat=True)
    )
    assert arms == {"": 24, "answer_only": 24, "nothing": 24}


def work(study: Study, people, most: int = 1_000) -> None:  # type: ignore[no-untyped-def]
    """Everybody answers one task in turn until nothing is left for anybody."""
    left = list(people)
    while left:
        for person in list(left):
            assignment = assignment_next(participation=person)
            if assignment is None:
                left.remove(person)
                continue
            turn_take(
                user_id=person.rater.user_id, assignment_pk=assignment.pk, stage=0, raw={"helpful": "no"}
            )


def test_a_skipped_task_counts_as_seen():
    study = control_study(instances=1, systems=1, follow_ups=1)
    person = make_participation(study)
    first = assignment_next(participation=person)
    assignment_return(user_id=person.rater.user_id, assignment_pk=first.pk, reason="too hard")
    assert assignment_next(participation=person) is None


def test_an_instance_seen_in_another_study_counts_too():
    plain = make_study()
    make_item(plain, key="elsewhere", payload=simulation_payload(1) | {"question": "Can bird 0 fly?"})
    study_launch(study=plain)
    plain.refresh_from_db()
    study = control_study(instances=1, systems=1, follow_ups=3)
    user = make_user()
    assert assignment_next(participation=make_participation(plain, user))
    work(study, [make_participation(study, user)])
    assert nobody_saw_two_arms(plain, study)
    assert set.union(*arms_seen(study).values()) == {""}


def test_rehearsal_raters_follow_the_same_rule():
    study = control_study(instances=2, launched=False)
    raters = rehearsal_raters(study=study, count=9, accuracy=0.9, spread=0.0, seed=1)
    rehearse(study=study, raters=raters, seed=1)
    assert Judgment.objects.filter(study=study, source="rehearsal").count() == 48
    assert nobody_saw_two_arms(study)


def test_a_turn_takes_one_statement_more_with_control_arms():
    study = control_study(instances=8)
    person = make_participation(study)
    assignment = assignment_next(participation=person)
    for _ in range(2):
        assignment = turn_take(
            user_id=person.rater.user_id, assignment_pk=assignment.pk, stage=0, raw={"helpful": "no"}
        ).assignment
    with CaptureQueriesContext(connection) as queries:
        turn_take(user_id=person.rater.user_id, assignment_pk=assignment.pk, stage=0, raw={"helpful": "no"})
    assert len([q for q in queries if not q["sql"].startswith(("SAVEPOINT", "RELEASE"))]) == 4


def test_snapshots_of_a_study_without_arms_do_not_name_them():
    study = imported(make_study(), ROW)
    study_launch(study=study)
    assert "raters" not in json.dumps(list(Snapshot.objects.get(study=study).content))
    assert not Item.objects.filter(payload__has_key="arm").exists()
