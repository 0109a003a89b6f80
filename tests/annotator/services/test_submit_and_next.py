"""Leases and judgments: what is given out, taken, kept and given back."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotator.core.errors import Conflict, DraftConflict, Refused
from annotator.hit_types.base import FieldErrors
from annotator.models import Assignment, Judgment, Place
from annotator.services.assignment import (
    assignment_next,
    assignment_return,
    lease_extend,
    leases_expire,
)
from annotator.services.draft import draft_save
from annotator.services.judgment_undo import judgment_undo
from annotator.services.judgments_record import Given, judgments_record
from annotator.services.stage_submit import stage_submit
from annotator.services.study import study_close, study_pause
from annotator.services.submit_and_next import turn_take
from tests.factories import make_item, make_participation, make_rater, make_study

pytestmark = pytest.mark.django_db
YES = {"helpful": "yes", "answer": "yes"}
NO = {"helpful": "yes", "answer": "no"}


def take(participation):
    return assignment_next(participation=participation)


def submit(participation, assignment, raw=YES):
    return stage_submit(user_id=participation.rater.user_id, assignment_pk=assignment.pk, stage=0, raw=raw)


def turn(participation, assignment, raw=YES):
    return turn_take(user_id=participation.rater.user_id, assignment_pk=assignment.pk, stage=0, raw=raw)


def expire(assignment):
    Assignment.objects.filter(pk=assignment.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert leases_expire() == 1


def test_a_person_keeps_the_same_task_until_it_is_done():
    person = make_participation(make_study(items=3, launched=True))
    assert take(person).pk == take(person).pk


def test_a_person_gets_every_item_exactly_once():
    person = make_participation(make_study(items=5, launched=True))
    seen = []
    assignment = take(person)
    while assignment is not None:
        seen.append(assignment.item_id)
        assignment = turn(person, assignment).assignment
    assert len(seen) == len(set(seen)) == 5


def test_the_item_nearest_to_completion_comes_first():
    study = make_study(items=6, redundancy=3, launched=True)
    first, second = make_participation(study), make_participation(study)
    assert take(first).item_id == take(second).item_id


def test_no_item_is_given_to_more_than_k_people():
    study = make_study(items=1, redundancy=2, launched=True)
    people = [make_participation(study) for _ in range(4)]
    given = [take(person) for person in people]
    assert [g is not None for g in given] == [True, True, False, False]


def test_a_judgment_holds_its_place_and_its_snapshot():
    study = make_study(items=1, launched=True)
    person = make_participation(study)
    submitted = submit(person, take(person))
    judgment = Judgment.objects.get(pk=submitted.judgment)
    assert (judgment.standing, judgment.snapshot, judgment.place.item) == (
        "counted",
        study.snapshot,
        judgment.item,
    )
    assert judgment.response == YES


@pytest.mark.parametrize("send", [submit, turn])
def test_seconds_are_kept_to_the_millisecond(send):
    """A clock's seventeen digits are noise, which exports and releases would carry along."""
    person = make_participation(make_study(items=2, launched=True))
    assignment = take(person)
    began = timezone.now() - timedelta(seconds=12, microseconds=345_678)
    Assignment.objects.filter(pk=assignment.pk).update(leased_at=began, stage_opened_at=began)
    send(person, assignment)
    judgment = Judgment.objects.get(assignment=assignment)
    assert 12.3 < judgment.seconds < 60
    for seconds in (judgment.seconds, *judgment.signals["stages"].values()):
        assert seconds == round(seconds, 3)


def test_a_repeated_submit_is_one_judgment_and_a_different_one_a_conflict():
    person = make_participation(make_study(items=1, launched=True))
    assignment = take(person)
    first, again = submit(person, assignment), submit(person, assignment)
    assert first.judgment == again.judgment
    assert again.repeated
    with pytest.raises(Conflict):
        submit(person, assignment, NO)
    assert Judgment.objects.get().response == YES


def test_changing_cannot_guess_to_an_answer_is_a_conflict():
    person = make_participation(make_study(items=1, launched=True))
    assignment = take(person)
    submit(person, assignment, {"helpful": "no"})
    with pytest.raises(Conflict):
        submit(person, assignment, YES)


@pytest.mark.parametrize("raw", [{}, {"helpful": "perhaps"}, {"helpful": "yes"}, {"helpful": ["yes", "no"]}])
def test_an_invalid_response_writes_nothing(raw):
    person = make_participation(make_study(items=1, launched=True))
    assignment = take(person)
    with pytest.raises(FieldErrors):
        submit(person, assignment, raw)
    assert not Judgment.objects.exists()
    assert take(person).pk == assignment.pk


def test_extra_fields_are_ignored():
    person = make_participation(make_study(items=1, launched=True))
    submit(person, take(person), YES | {"is_gold": "1", "score": "5", "rater": "7"})
    assert Judgment.objects.get().response == YES


def test_another_persons_task_is_not_found():
    study = make_study(items=2, launched=True)
    mine, other = make_participation(study), make_participation(study)
    with pytest.raises(Refused) as refused:
        stage_submit(user_id=other.rater.user_id, assignment_pk=take(mine).pk, stage=0, raw=YES)
    assert refused.value.kind == "not_found"


def test_a_later_stage_cannot_be_sent_first():
    person = make_participation(make_study(items=1, launched=True))
    with pytest.raises(Refused):
        stage_submit(user_id=person.rater.user_id, assignment_pk=take(person).pk, stage=1, raw=YES)


def test_an_expired_lease_frees_its_place():
    study = make_study(items=1, redundancy=1, launched=True)
    slow, quick = make_participation(study), make_participation(study)
    late = take(slow)
    assert take(quick) is None
    expire(late)
    assert take(quick).item_id == late.item_id
    assert leases_expire() == 0


def test_a_late_submit_counts_if_the_item_has_a_free_place():
    study = make_study(items=1, redundancy=1, launched=True)
    person = make_participation(study)
    assignment = take(person)
    expire(assignment)
    assert submit(person, assignment).standing == "counted"
    assert Place.objects.get().assignment_id == assignment.pk


def test_a_late_submit_to_a_full_item_is_surplus():
    study = make_study(items=1, redundancy=1, launched=True)
    slow, quick = make_participation(study), make_participation(study)
    late = take(slow)
    expire(late)
    submit(quick, take(quick))
    submitted = submit(slow, late)
    assert submitted.standing == "surplus"
    assert Judgment.objects.get(pk=submitted.judgment).place is None
    assert Judgment.objects.filter(standing="counted").count() == 1


def test_an_expired_task_is_reopened_while_its_place_is_free():
    person = make_participation(make_study(items=2, launched=True))
    assignment = take(person)
    expire(assignment)
    again = take(person)
    assert (again.pk, again.state) == (assignment.pk, "leased")


def test_a_freed_place_that_everybody_has_passed_is_still_found():
    study = make_study(items=3, redundancy=1, launched=True)
    first, second = make_participation(study), make_participation(study)
    dropped = take(first)
    assignment = take(second)
    while assignment is not None:
        assignment = turn(second, assignment).assignment
    expire(dropped)
    assert take(second).item_id == dropped.item_id


def test_a_skipped_task_needs_a_reason_and_is_not_offered_again():
    study = make_study(items=2, redundancy=1, launched=True)
    person, other = make_participation(study), make_participation(study)
    assignment = take(person)
    with pytest.raises(Refused):
        assignment_return(user_id=person.rater.user_id, assignment_pk=assignment.pk, reason=" ")
    assignment_return(user_id=person.rater.user_id, assignment_pk=assignment.pk, reason="the text is cut off")
    assert take(person).item_id != assignment.item_id
    assert take(other).item_id == assignment.item_id


def test_more_time_extends_the_lease_by_its_full_length():
    person = make_participation(make_study(items=1, launched=True, lease_minutes=30))
    assignment = take(person)
    Assignment.objects.update(lease_until=timezone.now() + timedelta(minutes=1))
    longer = lease_extend(user_id=person.rater.user_id, assignment_pk=assignment.pk)
    assert longer.lease_until > timezone.now() + timedelta(minutes=29)


def test_nobody_gets_two_conditions_of_one_instance():
    study = make_study(one_condition_per_instance=True)
    for key, instance in (("a1", "A"), ("a2", "A"), ("b1", "B")):
        make_item(study, key=key, instance=instance, system=f"robot-{key}")
    from annotator.services.study import study_launch

    study_launch(study=study)
    study.refresh_from_db()
    person = make_participation(study)
    seen = []
    assignment = take(person)
    while assignment is not None:
        seen.append(assignment.item.instance.key)
        assignment = turn(person, assignment).assignment
    assert sorted(seen) == ["A", "B"]


def test_the_number_of_items_per_person_is_limited():
    person = make_participation(make_study(items=3, max_items_per_rater=1, launched=True))
    result = turn(person, take(person))
    assert result.assignment is None
    assert result.refusal.kind == "full"


@pytest.mark.parametrize(("stop", "kind"), [(study_pause, "paused"), (study_close, "closed")])
def test_a_stopped_study_gives_out_no_tasks_but_accepts_open_ones(stop, kind):
    study = make_study(items=2, launched=True)
    person, other = make_participation(study), make_participation(study)
    assignment = take(person)
    stop(study=study)
    with pytest.raises(Refused) as refused:
        take(other)
    assert refused.value.kind == kind
    result = turn(person, assignment)
    assert result.submitted.standing == "counted"
    assert result.refusal.kind == kind


def test_undo_reopens_the_task_with_its_answer_as_draft():
    person = make_participation(make_study(items=2, launched=True))
    assignment = take(person)
    following = turn(person, assignment).assignment
    reopened = judgment_undo(user_id=person.rater.user_id, assignment_pk=assignment.pk)
    assert (reopened.state, reopened.draft) == ("leased", YES)
    assert not Judgment.objects.exists()
    assert turn(person, assignment, NO).assignment.pk == following.pk
    assert Judgment.objects.get().response == NO


def test_a_copy_of_a_submit_that_arrives_after_the_undo_does_not_bring_the_answer_back():
    """A browser sends again when no reply comes; the first request may still be on its way, and arrive last."""
    person = make_participation(make_study(items=2, launched=True))
    assignment = take(person)
    sent = {
        "user_id": person.rater.user_id, "assignment_pk": assignment.pk, "stage": 0, "raw": YES,
    }  # fmt: skip
    turn_take(**sent, undone=0)
    judgment_undo(user_id=person.rater.user_id, assignment_pk=assignment.pk, undone=0)
    with pytest.raises(Conflict, match="You undid this answer"):
        turn_take(**sent, undone=0)
    assert not Judgment.objects.exists()
    assert turn_take(**sent, undone=1).submitted.standing == "counted"
    assert turn_take(**sent, undone=0).submitted.repeated, "it's stored: sent again, it's acknowledged again"


def test_a_copy_of_an_undo_that_arrives_late_does_not_undo_the_next_answer():
    person = make_participation(make_study(items=2, launched=True))
    assignment = take(person)
    where = {"user_id": person.rater.user_id, "assignment_pk": assignment.pk}
    turn_take(**where, stage=0, raw=YES, undone=0)
    judgment_undo(**where, undone=0)
    turn_take(**where, stage=0, raw=NO, undone=1)
    with pytest.raises(Refused, match="no answer to undo"):
        judgment_undo(**where, undone=0)
    assert Judgment.objects.get().response == NO
    judgment_undo(**where, undone=1)
    assert not Judgment.objects.exists()


def test_undo_is_refused_after_its_time():
    person = make_participation(make_study(items=2, launched=True, undo_seconds=10))
    assignment = take(person)
    submit(person, assignment)
    Judgment.objects.update(created_at=timezone.now() - timedelta(seconds=60))
    with pytest.raises(Refused):
        judgment_undo(user_id=person.rater.user_id, assignment_pk=assignment.pk)
    assert Judgment.objects.count() == 1


def test_two_tabs_cannot_overwrite_each_others_drafts():
    person = make_participation(make_study(items=1, launched=True))
    assignment = take(person)
    where = {"user_id": person.rater.user_id, "assignment_pk": assignment.pk, "stage": 0}
    assert draft_save(**where, version=0, draft={"helpful": "yes", "score": "1"}) == 1
    with pytest.raises(DraftConflict) as caught:
        draft_save(**where, version=0, draft={"helpful": "no"})
    assert (caught.value.version, caught.value.draft, caught.value.closed) == (1, {"helpful": "yes"}, False)
    assignment.refresh_from_db()
    assert assignment.draft == {"helpful": "yes"}


def test_a_draft_that_arrives_twice_is_no_conflict():
    person = make_participation(make_study(items=1, launched=True))
    where = {"user_id": person.rater.user_id, "assignment_pk": take(person).pk, "stage": 0}
    draft = {"helpful": "yes", "score": "not asked"}
    assert [draft_save(**where, version=0, draft=draft) for _ in range(2)] == [1, 1]


def test_a_simulators_judgment_is_stored_once_in_the_same_form():
    study = make_study(items=1, launched=True)
    rater = make_rater("gpt", kind="simulator", source="simulator")
    item = study.items.get()

    def record(response: dict[str, str]) -> int:
        return judgments_record(study=study, rater=rater, given=[Given(item, response)], source="simulator")

    assert (record(YES), record(YES)) == (1, 0)
    with pytest.raises(Conflict):
        record(NO)
    assert [one.response for one in study.judgments.all()] == [YES]
    assert Place.objects.filter(assignment__isnull=True).count() == 3, "simulators take no place"


@pytest.mark.parametrize("size", [5, 60])
def test_the_number_of_queries_of_submit_and_next_is_constant(size):
    study = make_study(items=size, launched=True)
    person = make_participation(study)
    assignment = take(person)
    for _ in range(3):
        assignment = turn(person, assignment).assignment
    with CaptureQueriesContext(
        connection,
    ) as queries:
        turn(person, assignment)
    work = [q["sql"] for q in queries if not q["sql"].startswith(("SAVEPOINT", "RELEASE"))]
    assert len(work) == 3, "\n".join(work)


def test_the_statements_of_a_turn_are_planned_once_for_each_connection():
    study = make_study(items=20, launched=True)
    person = make_participation(study)
    assignment = take(person)
    for _ in range(10):
        assignment = turn(person, assignment).assignment
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement, generic_plans, custom_plans FROM pg_prepared_statements")
        plans = {statement: counts for statement, *counts in cursor.fetchall()}
    claim = next(
        counts
        for statement, counts in plans.items()
        if "annotator_place" in statement and "freed" in statement
    )
    assert claim[0] >= 5
    assert all(custom == 0 for _, custom in plans.values()), plans
