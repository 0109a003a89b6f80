"""Submissions are compared with the panel: lost, doubled and late webhooks change nothing in the end, and places follow the work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.utils import timezone

from annotator.models import PanelEvent, PanelStudy, Participation, Study, User
from annotator.recruitment.webhooks import SUBMISSION_CHANGED, Webhook
from annotator.services.assignment import assignment_next
from annotator.services.panel_connection import panel_hooks_set_up
from annotator.services.panel_events import panel_event_receive, panel_secret
from annotator.services.panel_reconcile import panel_reconcile, panel_reconcile_sweep, panel_work_follow
from annotator.services.panel_study import panel_study_follow, panel_study_move
from annotator.services.stage_submit import stage_submit
from tests.annotator.services.panel_people import arrives, connected_study, created, joins, published
from tests.prolific_api import ProlificBooks, prolific_api

pytestmark = pytest.mark.django_db


@pytest.fixture
def books() -> Iterator[ProlificBooks]:
    with prolific_api() as found:
        yield found


def compared(row: PanelStudy) -> PanelStudy:
    panel_reconcile(row=PanelStudy.objects.select_related("study").get(pk=row.pk))
    return PanelStudy.objects.select_related("study").get(pk=row.pk)


def does_everything(participation: Participation) -> None:
    while task := assignment_next(participation=participation):
        stage_submit(
            user_id=participation.rater.user_id,
            assignment_pk=task.pk,
            stage=0,
            raw={"helpful": "yes", "answer": "yes"},
        )
    Participation.objects.filter(pk=participation.pk).update(finished_at=timezone.now())


def test_what_no_webhook_told_is_found(books: ProlificBooks, researcher: User) -> None:
    study, connection = connected_study(researcher)
    row = published(study, connection, places=9)
    gone, here = arrives(books, row, "ann"), arrives(books, row, "bob")
    task = assignment_next(participation=gone[1])
    assert task is not None
    books.move(gone[0], "RETURNED")
    books.outbox.clear()  # the webhook is lost
    assert panel_reconcile(row=row) == 2, "ann returned, and bob's first status"
    ann, bob = (Participation.objects.get(pk=one.pk) for one in (gone[1], here[1]))
    assert (ann.state, ann.panel_status) == ("left", "RETURNED")
    assert (bob.state, bob.panel_status) == ("active", "ACTIVE")
    task.refresh_from_db()
    assert task.state not in ("leased", "submitted"), "the task goes to somebody else"
    assert panel_reconcile(row=PanelStudy.objects.get(pk=row.pk)) == 0, "asked again, nothing changes"
    assert PanelEvent.objects.filter(event_id__startswith="compared:").count() == 2


def test_a_webhook_about_something_earlier_does_not_undo_the_comparison(
    books: ProlificBooks, researcher: User
) -> None:
    study, connection = connected_study(researcher)
    row = published(study, connection)
    submission, ann = arrives(books, row, "ann")
    books.move(submission, "AWAITING REVIEW")
    compared(row)
    late = Webhook(
        "e1", "d1", SUBMISSION_CHANGED, submission, "ann", "ACTIVE", timezone.now() - timedelta(minutes=5)
    )
    stored = panel_event_receive(study=Study.objects.get(pk=study.pk), event=late)
    assert stored is not None
    assert stored.outcome == "older"
    ann.refresh_from_db()
    assert ann.panel_status == "AWAITING REVIEW"


def test_submissions_that_only_one_side_knows_are_listed(books: ProlificBooks, researcher: User) -> None:
    study, connection = connected_study(researcher)
    row = published(study, connection, places=9)
    never = books.arrive(row.remote_id, "never-came")
    arrives(books, row, "ann")
    made_up = joins(study, "made-up", "no-such-submission")
    row = compared(row)
    assert [(one["end"], one["status"]) for one in row.only_there] == [(never[-6:], "ACTIVE")]
    assert row.only_here == [made_up.pk]
    assert row.counts == {"ACTIVE": 2}
    assert "never-came" not in str(row.only_there), "no id of a person who isn't here is kept"


def test_people_who_found_no_task_are_counted(books: ProlificBooks, researcher: User) -> None:
    study, connection = connected_study(researcher)
    row = published(study, connection, places=9)
    for number, code in enumerate(["DONE", "NONE", "NONE"]):
        books.complete(books.arrive(row.remote_id, f"p{number}"), code)
    assert compared(row).exits == {"completion_code": 1, "nothing_left_code": 2}


def test_another_persons_submission_changes_nothing(books: ProlificBooks, researcher: User) -> None:
    study, connection = connected_study(researcher)
    row = published(study, connection)
    submission = books.arrive(row.remote_id, "ann")
    thief = joins(study, "somebody-else", submission)
    compared(row)
    thief.refresh_from_db()
    assert thief.panel_status == ""


def test_places_are_raised_within_the_limit_and_the_study_stops_when_it_is_full(
    books: ProlificBooks, researcher: User
) -> None:
    study, connection = connected_study(researcher)  # two items for two raters each: two people
    row = panel_study_follow(row=published(study, connection, places=2), follows=True, most_places=3, by=None)
    submission, ann = arrives(books, row, "ann")
    does_everything(ann)
    books.complete(submission, "DONE")
    second, _ = arrives(books, row, "bob")
    row = compared(row)
    assert panel_work_follow(row=row) == "", "bob is at work and may do what is left; both places are taken"
    books.complete(second, "DONE")
    books.move(second, "REJECTED")
    row = compared(row)
    assert panel_work_follow(row=row) == "3 places", "a rejected submission keeps its place there"
    assert books.studies[row.remote_id]["status"] == "ACTIVE"
    third, _ = arrives(books, row, "cleo")
    books.move(third, "REJECTED")
    row = compared(row)
    assert panel_work_follow(row=row) == "", "never above the limit"
    study_row = Study.objects.get(pk=study.pk)
    does_everything(joins(study_row, "dan", "elsewhere"))
    row = compared(row)
    assert panel_work_follow(row=row) in ("stopped", ""), "every place is answered"
    assert books.studies[row.remote_id]["status"] in ("COMPLETED", "AWAITING REVIEW")


def test_the_places_of_a_draft_follow_the_work_downwards(books: ProlificBooks, researcher: User) -> None:
    study, connection = connected_study(researcher)
    row = panel_study_follow(row=created(study, connection, places=2), follows=True, most_places=9, by=None)
    row = compared(row)
    assert panel_work_follow(row=row) == ""
    does_everything(joins(study, "by-link", "elsewhere"))
    assert panel_work_follow(row=compared(row)) == "1 places"
    assert books.studies[row.remote_id]["total_available_places"] == 1
    assert panel_work_follow(row=compared(row)) == "", "done once"


def test_a_study_that_ended_there_begins_again_for_one_more_person(
    books: ProlificBooks, researcher: User
) -> None:
    """The panel begins a study again only with more places than it has, though one of them is free by then."""
    study, connection = connected_study(researcher, redundancy=1, max_items_per_rater=1)
    row = panel_study_follow(row=published(study, connection), follows=True, most_places=9, by=None)
    people = [arrives(books, row, name) for name in ("ann", "bob")]
    task = assignment_next(participation=people[0][1])
    assert task is not None
    stage_submit(
        user_id=people[0][1].rater.user_id, assignment_pk=task.pk, stage=0, raw={"helpful": "yes", "answer": "yes"}
    )  # fmt: skip
    for submission, _ in people:
        books.complete(submission, "DONE")
    books.move(people[1][0], "TIMED-OUT")  # a late correction: bob did nothing
    assert (books.studies[row.remote_id]["status"], books.taken(row.remote_id)) == ("AWAITING REVIEW", 1)
    panel_reconcile_sweep()
    there = books.studies[row.remote_id]
    assert (there["status"], there["total_available_places"]) == ("ACTIVE", 3)


def test_a_study_that_a_researcher_stopped_stays_stopped(books: ProlificBooks, researcher: User) -> None:
    study, connection = connected_study(researcher, redundancy=1, max_items_per_rater=1)
    row = panel_study_follow(row=published(study, connection), follows=True, most_places=9, by=researcher)
    arrives(books, row, "ann")
    row = compared(row)  # somebody is at work, so the study is compared again after its end
    panel_study_move(row=row, transition="stop", by=researcher)
    assert panel_reconcile_sweep() == 1
    assert books.studies[row.remote_id]["status"] == "COMPLETED"


def test_it_pauses_while_enough_people_are_at_work_and_a_researchers_pause_stays(
    books: ProlificBooks, researcher: User
) -> None:
    study, connection = connected_study(researcher)
    row = panel_study_follow(row=published(study, connection, places=5), follows=True, most_places=9, by=None)
    people = [arrives(books, row, name) for name in ("ann", "bob")]
    row = compared(row)
    assert panel_work_follow(row=row) == "paused"
    row = compared(row)
    assert row.paused_by_sweep
    books.move(people[0][0], "RETURNED")
    row = compared(row)
    assert panel_work_follow(row=row) == "resumed"
    books.studies[row.remote_id]["status"] = "PAUSED"
    row = compared(row)
    assert (row.state, panel_work_follow(row=row)) == ("paused", "")


def test_a_sweep_continues_after_one_that_fails(books: ProlificBooks, researcher: User) -> None:
    study, connection = connected_study(researcher)
    first, second = published(study, connection), published(study, connection)
    del books.studies[first.remote_id]
    assert panel_reconcile_sweep() == 1
    first.refresh_from_db()
    second.refresh_from_db()
    assert "404" in first.fault
    assert second.fault == ""
    books.token = "another"
    assert panel_reconcile_sweep() == 0
    connection.refresh_from_db()
    assert "doesn't accept the token" in connection.fault
    before = len(books.exchanges)
    assert panel_reconcile_sweep() == 0
    assert len(books.exchanges) == before, "a refused token isn't sent again and again"


def test_a_comparison_that_is_interrupted_is_simply_made_again(
    books: ProlificBooks, researcher: User
) -> None:
    study, connection = connected_study(researcher)
    row = published(study, connection)
    arrives(books, row, "ann")
    books.troubles = [("GET /api/v1/submissions/", "500")] * 4
    with pytest.raises(ValidationError, match="problem of its own"):
        panel_reconcile(row=row)
    assert panel_reconcile(row=PanelStudy.objects.get(pk=row.pk)) == 1


@pytest.mark.parametrize("seed", [1, 2])
def test_lost_doubled_and_reordered_webhooks_end_at_what_the_panel_says(
    books: ProlificBooks, researcher: User, seed: int
) -> None:
    study, connection = connected_study(researcher)
    client = Client()
    path = f"/recruitment/prolific/{study.join_token}/"
    panel_hooks_set_up(study=study, connection=connection, url=f"https://lab.example{path}", by=None)
    assert panel_secret(study) == books.secret
    row = published(study, connection, places=40)

    def send(url: str, body: bytes, headers: dict[str, str]) -> None:
        sent: Any = {
            f"HTTP_{name.upper().replace('-', '_')}": value
            for name, value in headers.items()
            if name != "Content-Type"
        }
        assert client.post(path, data=body, content_type="application/json", **sent).status_code == 200

    people = [arrives(books, row, f"p{number}") for number in range(12)]
    ends = ("RETURNED", "TIMED-OUT", "AWAITING REVIEW", "APPROVED", "REJECTED", "ACTIVE")
    for number, (submission, _) in enumerate(people):
        if (end := ends[number % len(ends)]) != "ACTIVE":
            books.move(submission, end)
    books.deliver(send, seed=seed, lost=0.4, doubled=0.3)
    row = compared(row)
    there = Counter(one["status"].replace("-", " ") for one in books.submissions.values())
    here = Counter(study.participations.values_list("panel_status", flat=True))
    assert here == there == row.counts
    left = study.participations.filter(state="left").values_list("panel_status", flat=True)
    assert set(left) <= {"RETURNED", "TIMED OUT", "REJECTED"}
    assert (row.only_there, row.only_here) == ([], [])
