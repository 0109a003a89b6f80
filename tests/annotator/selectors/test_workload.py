"""What one person can do and earn in a study, and how many people it takes: on the pages, in the API, and by playing."""

from __future__ import annotations

from decimal import Decimal
from math import ceil

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from annotator.core.canonical import text_digest
from annotator.core.errors import Refused
from annotator.models import Instance, Study
from annotator.selectors.preparation import Preparation
from annotator.selectors.workload import Workload, places_out_of_reach, study_workload
from annotator.services.assignment import assignment_next, assignment_return
from annotator.services.participation import consent_give
from annotator.services.study import launch_faults, study_launch
from tests.factories import make_item, make_participation, make_study, make_user

pytestmark = pytest.mark.django_db

PAID = {"pay_per_item": Decimal("0.60"), "minutes_per_item": 2.0, "pay_floor_per_hour": Decimal("17.90")}


def study_of_conditions(*, instances: int = 3, conditions: int = 4, **fields: object) -> Study:
    """A draft with items of several conditions of each instance."""
    study = make_study(one_condition_per_instance=True, redundancy=3, **fields)
    for number in range(instances):
        items = [make_item(study, key=f"{number}-{condition}") for condition in range(conditions)]
        shared = items[0].instance or Instance.objects.create(
            dataset=items[0].study.dataset, key=f"i{number}", input=f"q{number}"
        )
        for one in items:
            one.instance = shared
            one.save(update_fields=["instance"])
    return study


def hand_out(study: Study, people: int) -> int:
    """The number of places that this many people can fill, each taking tasks until there are none."""
    persons = [make_participation(study, make_user()) for _ in range(people)]
    taken, going = 0, True
    while going:
        going = False
        for person in persons:
            try:
                task = assignment_next(participation=person)
            except Refused:
                continue
            if task is None:
                continue
            task.state = "submitted"
            task.save(update_fields=["state"])
            taken, going = taken + 1, True
    return taken


def test_pay_counts_what_comes_before_the_tasks() -> None:
    study = make_study(items=5, max_items_per_rater=1, consent_text="word " * 3600, **PAID)
    work = study_workload(study)
    assert work.tasks_each == 1
    assert work.preparation.minutes >= 24
    assert work.per_hour == pytest.approx(0.60 * 60 / (work.preparation.minutes + 2))
    (fault,) = launch_faults(study)
    assert "below your minimum of 17.90" in fault
    assert "(24 before the first task, then 1 task of 2 min)" in fault
    with pytest.raises(ValidationError, match="below your minimum"):
        study_launch(study=study)


def test_each_remedy_mends_the_pay() -> None:
    fields = {
        "consent_text": "word " * 100,
        "max_items_per_rater": 1,
        "exam_required": True,
        "exam_questions": 3,
        "pass_mark": 2,
    }
    study = make_study(items=6, **fields | PAID | {"pay_floor_per_hour": Decimal(9), "minutes_per_item": 1.0})
    floor = float(study.pay_floor_per_hour)
    ways = study_workload(study).remedies(floor)
    assert [way.split(" ")[0] for way in ways] == ["pay", "pay", "give"]
    amounts = [way.split(" ")[1] for way in ways[:2]] + [ways[2].split(" ")[5].replace(",", "")]
    for name, value in zip(("pay_per_item", "exam_pay", "max_items_per_rater"), amounts, strict=True):
        old = getattr(study, name)
        setattr(study, name, int(value) if name.startswith("max") else Decimal(value))
        assert study_workload(study).per_hour >= floor - 1e-9, name
        assert not [fault for fault in launch_faults(study) if "minimum" in fault]
        setattr(study, name, old)


def test_people_needed_can_fill_all_places_and_fewer_cannot() -> None:
    study = study_of_conditions(instances=3, conditions=4)
    work = study_workload(study)
    assert (work.places, work.tasks_each, work.people) == (36, 3, 12)
    study_launch(study=study)
    study.refresh_from_db()
    assert hand_out(study, work.people - 1) < work.places
    other = study_of_conditions(instances=3, conditions=4)
    for item in other.items.all():
        item.instance.input = f"other {item.instance_id}"
        item.instance.save(update_fields=["input"])
    study_launch(study=other)
    other.refresh_from_db()
    assert hand_out(other, work.people) == work.places


@pytest.mark.parametrize(("most", "expected"), [(None, 3), (5, 6), (1, 30)])
def test_people_needed_without_conditions(most: int | None, expected: int) -> None:
    study = make_study(items=10, redundancy=3, max_items_per_rater=most)
    assert study_workload(study).people == expected == max(3, ceil(30 / (most or 10)))


def test_a_study_without_items_needs_nobody() -> None:
    work = study_workload(make_study(**PAID))
    assert (work.places, work.tasks_each, work.people) == (0, 0, 0)
    assert work.per_hour == pytest.approx(18.0)


def test_withdrawn_items_are_not_counted() -> None:
    from annotator.services.items import item_withdraw

    study = make_study(items=4, redundancy=2, launched=True)
    item_withdraw(item=study.items.first(), by=make_user(staff=True), reason="misprint")
    assert study_workload(study).places == 6


def test_places_that_nobody_present_may_take() -> None:
    study = make_study(items=2, redundancy=3, launched=True)
    assert places_out_of_reach(study, study_workload(study)).places == 0, "nobody has joined"
    people = [make_participation(study, make_user()) for _ in range(2)]
    assert places_out_of_reach(study, study_workload(study)).places == 0, "these two can take tasks"
    for person in people:
        for _ in range(2):
            task = assignment_next(participation=person)
            task.state = "submitted"
            task.save(update_fields=["state"])
    found = places_out_of_reach(study, study_workload(study))
    assert (found.places, found.people) == (2, 1)
    make_participation(study, make_user())
    assert places_out_of_reach(study, study_workload(study)).places == 0


def test_a_skipped_item_is_out_of_reach_of_the_one_who_skipped_it() -> None:
    study = make_study(items=1, redundancy=1, launched=True)
    person = make_participation(study, make_user())
    task = assignment_next(participation=person)
    assignment_return(user_id=person.rater.user_id, assignment_pk=task.pk, reason="unclear")
    assert places_out_of_reach(study, study_workload(study)).places == 1


def test_people_at_their_maximum_can_take_nothing() -> None:
    study = make_study(items=3, redundancy=1, max_items_per_rater=1, launched=True)
    person = make_participation(study, make_user())
    task = assignment_next(participation=person)
    task.state = "submitted"
    task.save(update_fields=["state"])
    found = places_out_of_reach(study, study_workload(study))
    assert (found.places, found.people) == (2, 2)


def test_the_pages_and_the_api_say_it() -> None:
    owner = make_user(staff=True)
    study = study_of_conditions(instances=3, conditions=4, by=owner)
    client = Client()
    client.force_login(owner)
    words = "At least 12 participants are needed: nobody gets two items of one instance, so one person can do at most 3 tasks of 36."
    for page in ("", "rehearsal/"):
        assert words in client.get(f"/admin/annotator/study/{study.pk}/{page or 'live/'}").content.decode(), (
            page
        )
    study_launch(study=study)
    study.refresh_from_db()
    for _ in range(2):
        person = make_participation(study, make_user())
        for _ in range(3):
            task = assignment_next(participation=person)
            task.state = "submitted"
            task.save(update_fields=["state"])
    live = client.get(f"/admin/annotator/study/{study.pk}/live/").content.decode()
    assert "30 free places that nobody who has joined may take: invite at least 10 more people" in live
    assert "at least 12 are needed" in live
    told = client.get(f"/api/v1/studies/{study.slug}/progress/").json()
    assert (
        told["people_needed"],
        told["tasks_each"],
        told["places_out_of_reach"],
        told["people_missing"],
    ) == (12, 3, 30, 10)


def test_a_study_below_its_minimum_is_not_launched_and_says_what_would_mend_it() -> None:
    owner = make_user(staff=True)
    study = make_study(items=5, by=owner, max_items_per_rater=1, consent_text="word " * 3600, **PAID)
    client = Client()
    client.force_login(owner)
    address = f"/admin/annotator/study/{study.pk}"
    for words in (
        client.get(f"{address}/live/").content.decode(),
        client.post(f"{address}/do/launch/", follow=True).content.decode(),
        client.post(f"/api/v1/studies/{study.slug}/launch/").content.decode(),
    ):
        assert "below your minimum of 17.90" in words
        assert "before the first task, then 1 task of 2 min" in words
        assert "Any one of these would mend it: pay " in words
    study.refresh_from_db()
    assert study.state == "draft"


def test_the_invitation_says_what_a_person_can_really_earn() -> None:
    fields = {"consent_text": "word " * 4000, "max_items_per_rater": 1, **PAID, "pay_floor_per_hour": 0}
    study = make_study(items=5, launched=True, **fields)
    work = study_workload(study)
    page = Client().get(f"/join/{study.join_token}/").content.decode()
    assert f"You can do 1 task and earn 0.60 USD in about {work.minutes:.0f} minutes" in page
    assert f"{work.per_hour:.2f} USD an hour" in page
    assert "18.00" not in page


def test_owner_participant_and_program_read_the_same_hourly_pay() -> None:
    owner = make_user(staff=True)
    fields = {"consent_text": "word " * 4000, "max_items_per_rater": 1, **PAID, "pay_floor_per_hour": 0}
    study = make_study(items=5, by=owner, **fields)
    client = Client()
    client.force_login(owner)
    hourly = f"{study_workload(study).per_hour:.2f} USD an hour"
    assert hourly in client.get(f"/admin/annotator/study/{study.pk}/live/").content.decode()
    study_launch(study=study)
    study.refresh_from_db()
    assert hourly in Client().get(f"/join/{study.join_token}/").content.decode()
    told = client.get(f"/api/v1/studies/{study.slug}/progress/").json()
    assert f"{told['pay_per_hour_planned']:.2f} USD an hour" == hourly
    # work over HTTP: it takes a moment, so the hour is the time before the task
    person = make_participation(study)
    consent_give(participation=person, digest=text_digest(study.consent_text))
    assert person.rater.user is not None
    worker = Client()
    worker.force_login(person.rater.user)
    worker.get(f"/study/{study.slug}/task/")
    [task] = person.assignments.values_list("pk", flat=True)
    worker.post(f"/task/{task}/", {"stage": "0", "helpful": "no"})
    measured = client.get(f"/api/v1/studies/{study.slug}/progress/").json()["pay_per_hour"]
    minutes = study_workload(study).preparation.minutes
    assert measured == pytest.approx(0.60 * 60 / minutes, rel=0.05), "not 0.60 for some seconds"


def test_workload_at_another_time_for_a_task() -> None:
    work = Workload(
        places=10,
        units=10,
        tasks_each=10,
        people=1,
        preparation=Preparation(5, 0, 0),
        minutes_each=1,
        pay=Decimal(1),
        exam_pay=Decimal(0),
    )
    assert work.per_hour == pytest.approx(10 * 60 / 15)
    assert work.per_hour_at(0.5) == pytest.approx(10 * 60 / 10)
