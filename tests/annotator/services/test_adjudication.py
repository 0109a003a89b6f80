"""Adjudication: two people label a contested item without seeing each other's labels, a third settles a tie."""

from __future__ import annotations

from array import array
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotator.core import kept_figures
from annotator.hit_types.base import FieldErrors
from annotator.models import Adjudication, AuditEntry, Item, Membership, Study, User
from annotator.selectors import adjudication_order
from annotator.selectors import study as study_selectors
from annotator.selectors.adjudication import adjudicated_items, adjudication_queue, settled
from annotator.selectors.adjudication_order import ItemsInOrder, WaitingItems
from annotator.services.adjudication import (
    UNDO,
    adjudicated_to_gold,
    adjudication_record,
    adjudication_undo,
)
from annotator.services.exclusion import exclusion_make
from annotator.tasks import figures_renew_task
from tests.factories import make_item, make_judgment, make_rater, make_study, make_user

pytestmark = pytest.mark.django_db
YES = {"helpful": "yes", "answer": "yes"}
NO = {"helpful": "yes", "answer": "no"}
UNSURE = {"helpful": "no"}


def member(study: Study, name: str, role: str = "reviewer") -> User:
    user = make_user(name, staff=True)
    Membership.objects.create(study=study, user=user, role=role)
    return user


@pytest.fixture
def study(researcher: User, simulation: str) -> Study:
    """Item a: yes, no. Item b: yes, yes, no. Item c: all agree."""
    made = make_study(by=researcher, hit_type=simulation)
    for key, given in {"a": ("yes", "no"), "b": ("yes", "yes", "no"), "c": ("yes", "yes")}.items():
        item = make_item(made, key=key)
        for name, answer in zip(("ann", "ben", "cam"), given, strict=False):
            make_judgment(item, make_rater(name), answer)
    return made


@pytest.fixture
def item(study: Study) -> Item:
    return study.items.get(key="a")


def keys(study: Study, user: User) -> list[str]:
    queue = adjudication_queue(study=study, user=user)
    named = dict(study.items.values_list("pk", "key"))
    return [named[one.item] for one in queue.waiting]


def test_two_people_who_agree_decide_an_item(study: Study, item: Item, researcher: User) -> None:
    other, third = member(study, "one"), member(study, "two")
    assert keys(study, researcher) == ["a", "b"], "most divided first; agreed items aren't listed"
    first = adjudication_record(item=item, by=researcher, raw=YES)
    assert keys(study, researcher) == ["b"], "nobody labels an item twice"
    assert keys(study, other) == ["a", "b"]
    second = adjudication_record(item=item, by=other, raw=YES)
    assert [(one.seat, one.round, one.adjudicator) for one in (first, second)] == [(1, 1, 1), (2, 1, 2)]
    assert keys(study, third) == ["b"], "no tie, so no third"
    [found] = adjudicated_items(study=study)
    assert (found.item, found.state, found.response) == (item, "decided", YES)
    with pytest.raises(ValidationError, match="doesn't need another adjudicator"):
        adjudication_record(item=item, by=third, raw=NO)


def test_a_third_person_settles_a_tie(study: Study, item: Item, researcher: User) -> None:
    other, third = member(study, "one"), member(study, "two")
    adjudication_record(item=item, by=researcher, raw=YES)
    adjudication_record(item=item, by=other, raw=NO)
    assert adjudicated_items(study=study)[0].response is None
    assert [one.tie for one in adjudication_queue(study=study, user=third).waiting] == [True, False]
    last = adjudication_record(item=item, by=third, raw=NO)
    assert (last.seat, last.round) == (3, 2)
    assert adjudicated_items(study=study)[0].response == NO


def test_three_different_labels_decide_nothing_and_the_page_says_what_to_do(
    study: Study, item: Item, researcher: User
) -> None:
    exclusion_make(study=study, by=None, reason="odd", item=study.items.get(key="b"))
    for user, raw in ((researcher, YES), (member(study, "one"), NO), (member(study, "two"), UNSURE)):
        adjudication_record(item=item, by=user, raw=raw)
    assert adjudicated_items(study=study)[0].state == "undecided"
    queue = adjudication_queue(study=study, user=member(study, "late"))
    assert (len(queue.waiting), queue.undecided) == (0, 1)
    assert "three different labels: discuss the guidelines" in queue.empty_words


def test_who_judged_an_item_as_an_annotator_is_not_offered_it(study: Study, item: Item) -> None:
    user = member(study, "one")
    rater = make_rater("ann")
    rater.user = user
    rater.save()
    exclusion_make(study=study, by=None, reason="odd", item=study.items.get(key="b"))
    assert keys(study, user) == []
    with pytest.raises(ValidationError, match="You judged this item as an annotator"):
        adjudication_record(item=item, by=user, raw=YES)
    assert "Ask another member" in adjudication_queue(study=study, user=user).empty_words


def test_adjudicating_needs_the_role_of_a_reviewer(study: Study, item: Item) -> None:
    for user in (member(study, "viewer", "viewer"), make_user("stranger", staff=True), make_user("nobody")):
        with pytest.raises(ValidationError, match="at least the role reviewer"):
            adjudication_record(item=item, by=user, raw=YES)
    assert not Adjudication.objects.exists()


def test_what_cannot_be_recorded_leaves_nothing(study: Study, item: Item, researcher: User) -> None:
    with pytest.raises(FieldErrors, match="answer"):
        adjudication_record(item=item, by=researcher, raw={"helpful": "yes", "answer": "maybe"})
    with pytest.raises(ValidationError, match="isn't contested"):
        adjudication_record(item=study.items.get(key="c"), by=researcher, raw=YES)
    adjudication_record(item=item, by=researcher, raw=YES)
    with pytest.raises(ValidationError, match="already adjudicated"):
        adjudication_record(item=item, by=researcher, raw=NO)
    assert Adjudication.objects.count() == 1
    assert AuditEntry.objects.filter(action="adjudication.labelled").count() == 1


def test_undo_keeps_the_row_and_opens_the_item_again(study: Study, item: Item, researcher: User) -> None:
    first = adjudication_record(item=item, by=researcher, raw=YES)
    with pytest.raises(ValidationError, match="only undo your own"):
        adjudication_undo(adjudication=first, by=member(study, "one"))
    adjudication_undo(adjudication=first, by=researcher)
    again = adjudication_undo(adjudication=first, by=researcher)
    assert again.undone_at is not None
    assert keys(study, researcher) == ["a", "b"]
    assert adjudication_record(item=item, by=researcher, raw=NO).adjudicator == first.adjudicator
    assert Adjudication.objects.count() == 2
    actions = AuditEntry.objects.filter(action__startswith="adjudication.").order_by("id")
    assert [one.action.partition(".")[2] for one in actions] == ["labelled", "undone", "labelled"]
    assert all("yes" not in str(one.after) for one in actions), "the trail doesn't tell the label"


def test_a_label_that_others_followed_or_that_is_old_stays(
    study: Study, item: Item, researcher: User
) -> None:
    first = adjudication_record(item=item, by=researcher, raw=YES)
    adjudication_record(item=item, by=member(study, "one"), raw=NO)
    with pytest.raises(ValidationError, match="has labelled this item since"):
        adjudication_undo(adjudication=first, by=researcher)
    old = adjudication_record(item=study.items.get(key="b"), by=researcher, raw=YES)
    Adjudication.objects.filter(pk=old.pk).update(created_at=timezone.now() - UNDO - timedelta(seconds=1))
    with pytest.raises(ValidationError, match="too late"):
        adjudication_undo(adjudication=old, by=researcher)


def test_the_database_holds_one_label_for_each_seat_and_person(
    study: Study, item: Item, researcher: User
) -> None:
    one = adjudication_record(item=item, by=researcher, raw=YES)
    for changes in (
        {"seat": 1, "adjudicator": 9},
        {"seat": 2, "adjudicator": 1},
        {"seat": 4, "adjudicator": 9},
    ):
        values = {"study": study, "item": item, "response": YES, "digest": one.digest} | changes
        with pytest.raises(IntegrityError), transaction.atomic():
            Adjudication.objects.create(**values)


def test_the_queue_costs_the_same_number_of_queries_for_many_items(study: Study, researcher: User) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            adjudication_queue(study=study, user=researcher)
        return len(seen)

    few = queries()
    for number in range(4):
        new = make_item(study, key=f"more-{number}")
        make_judgment(new, make_rater("ann"), "yes")
        make_judgment(new, make_rater("ben"), "no")
        adjudication_record(item=new, by=member(study, f"m{number}"), raw=YES)
    assert queries() == few == 4, "one of them asks whether the study is large"


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Every study is large here. What was queued: no worker runs."""
    found: list[dict[str, Any]] = []
    monkeypatch.setattr(kept_figures, "enqueue", lambda name, **about: found.append(about))
    monkeypatch.setattr(study_selectors, "LARGE", 1)
    cache.clear()
    return found


def test_a_large_studys_queue_is_kept_but_knows_the_latest_labels(
    study: Study, item: Item, researcher: User, large: list[dict[str, Any]]
) -> None:
    assert keys(study, researcher) == ["a", "b"]
    adjudication_record(item=item, by=researcher, raw=YES)
    with CaptureQueriesContext(connection) as seen:
        queue = adjudication_queue(study=study, user=researcher)
    assert not [one for one in seen.captured_queries if "digest, count(*)" in one["sql"]], (
        "judgments aren't counted again"
    )
    assert (queue.contested, queue.mine, [one.item for one in queue.waiting]) == (
        2,
        1,
        [study.items.get(key="b").pk],
    )
    assert queue.waiting[0].raters == 3
    assert (queue.waiting.number_of(item.pk), queue.waiting.number_of(queue.waiting[0].item)) == (0, 1)
    make_judgment(make_item(study, key="new"), make_rater("ann"), "yes")
    make_judgment(study.items.get(key="new"), make_rater("ben"), "no")
    assert adjudication_queue(study=study, user=researcher).contested == 2
    figures_renew_task(figures="contested items in order", values=[study.pk, "entropy"])
    assert keys(study, researcher) == ["new", "b"]


def test_another_order_of_a_large_study_is_computed_by_a_job(
    study: Study, researcher: User, large: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(adjudication_order.ORDERS, "last", "the last first")
    monkeypatch.setitem(
        adjudication_order._UNCERTAINTY, "last", lambda study: {study.items.get(key="b").pk: 2.0}
    )
    queue = adjudication_queue(study=study, user=researcher, order="last")
    assert queue.computing
    assert [one.item for one in queue.waiting] == [one.pk for one in study.items.filter(key__in="ab")]
    for _ in range(2):
        figures_renew_task(**large[0])
    queue = adjudication_queue(study=study, user=researcher, order="last")
    assert not queue.computing
    assert [one.bits for one in queue.waiting] == [2.0, -1.0]
    assert [one.item for one in queue.waiting[1:5]] == [study.items.get(key="a").pk]


def test_places_in_the_queue_pass_over_what_is_left_out() -> None:
    every = ItemsInOrder(*(array(kind, range(10, 20)) for kind in "qiid"))
    waiting = WaitingItems(every, [0, 3, 4, 9], [5])
    assert [one.item for one in waiting] == [11, 12, 15, 16, 17, 18]
    assert [one.item for one in waiting if one.tie] == [15]
    assert [waiting.number_of(item) for item in (10, 11, 13, 15, 18, 19, 99)] == [0, 1, 0, 3, 6, 0, 0]
    assert waiting[-1].item == 18
    with pytest.raises(IndexError):
        waiting[6]


def test_decided_items_are_gold_in_a_new_draft(study: Study, item: Item, researcher: User) -> None:
    with pytest.raises(ValidationError, match="No item is decided yet"):
        adjudicated_to_gold(study=study, by=researcher, slug="next", title="Next")
    assert not Study.objects.filter(slug="next").exists()
    for user in (researcher, member(study, "one")):
        adjudication_record(item=item, by=user, raw=NO)
    copy, items = adjudicated_to_gold(study=study, by=researcher, slug="next", title="Next")
    assert (copy.state, items) == ("draft", 1)
    found = {one.key: (one.role, one.gold) for one in copy.items.all()}
    assert found == {"a": ("gold", NO), "b": ("ordinary", None), "c": ("ordinary", None)}
    assert study.items.get(key="a").role == "ordinary"


def test_units_are_settled_one_by_one() -> None:
    first, second = {("q", "1"): "yes", ("q", "2"): "no"}, {("q", "1"): "yes", ("q", "2"): "yes"}
    assert settled([first, second]) == {("q", "1"): "yes"}
    assert settled([first, second, {("q", "2"): "no"}]) == {("q", "1"): "yes", ("q", "2"): "no"}
    assert settled([first]) == {}
