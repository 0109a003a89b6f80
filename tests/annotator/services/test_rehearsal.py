"""A rehearsal fills a copy of the study's places and can be cleared without a trace."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotator.models import (
    Assignment,
    Exclusion,
    Judgment,
    Participation,
    Place,
    Qualification,
    Rater,
    Rehearsal,
    Snapshot,
    Study,
    User,
)
from annotator.selectors.progress import study_progress
from annotator.selectors.rehearsal import rehearsal_progress
from annotator.services.assignment import assignment_next, leases_expire
from annotator.services.exclusion import exclusion_make
from annotator.services.rehearsal import run
from annotator.services.rehearsal.fill import rehearsal_raters, rehearse
from annotator.services.rehearsal.places import rehearsal_clear
from annotator.services.rehearsal.run import rehearsal_request, rehearsal_run, rehearsal_stop
from annotator.services.study import study_launch, study_pause
from annotator.services.submit_and_next import turn_take
from tests.factories import make_judgment, make_participation, make_rater, make_study, make_user

pytestmark = pytest.mark.django_db


def fill(study: Study, **options: Any) -> int:
    raters = rehearsal_raters(study=study, count=4, accuracy=0.9, spread=0, seed=1)
    return rehearse(study=study, raters=raters, seed=1, **options)


def judge(study: Study, times: int = 1) -> Participation:
    person = make_participation(study)
    for _ in range(times):
        task = assignment_next(participation=person)
        assert task is not None
        turn_take(user_id=person.rater.user_id, assignment_pk=task.pk, stage=0, raw={"helpful": "no"})
    return person


def test_a_rehearsal_uses_no_place_of_a_live_study() -> None:
    study = make_study(items=3, launched=True, redundancy=2)
    assert fill(study) == 6
    progress = study_progress(study)
    assert (progress.places, progress.done, progress.leased, progress.free) == (6, 0, 0, 6)
    judge(study, 3)
    judge(study, 3)
    assert study_progress(study).done == 6
    assert Judgment.objects.filter(study=study, source="web", standing="counted").count() == 6


def test_participants_never_get_a_rehearsals_places() -> None:
    study = make_study(items=2, launched=True, redundancy=1)
    fill(study, most=1)
    person = judge(study, 2)
    assert assignment_next(participation=person) is None
    assert Place.objects.filter(study=study, rehearsal=True, assignment__isnull=False).count() <= 2
    assert rehearsal_progress(study).places == 2


@pytest.mark.parametrize("state", ["draft", "paused"])
def test_a_draft_and_a_paused_study_can_be_rehearsed(state: str) -> None:
    study = make_study(items=2, launched=state == "paused", redundancy=2)
    if state == "paused":
        study_pause(study=study)
    study.refresh_from_db()
    assert fill(study) == 4
    study.refresh_from_db()
    assert study.state == state


def test_a_task_whose_lease_is_about_to_end_is_asked_for_again() -> None:
    study = make_study(items=6, launched=True, redundancy=1, lease_minutes=1)

    def run_out() -> None:
        Assignment.objects.filter(state="leased").update(lease_until=timezone.now() - timedelta(minutes=1))
        leases_expire()

    assert fill(study, each=run_out) == 6
    assert Judgment.objects.filter(study=study, standing="counted").count() == 6


def test_a_rater_keeps_the_task_that_comes_with_an_answer() -> None:
    """A turn gives out the next task, so a rehearsal needn't ask for it again."""
    study = make_study(items=12, launched=True, redundancy=1)
    queries = list[int]()
    with CaptureQueriesContext(connection) as seen:
        fill(study, each=lambda: queries.append(len(seen)))
    each = [after - before for before, after in pairwise(queries)][4:]
    assert max(each) < 10, each  # 10 to 12 with the look-up


def test_clearing_a_rehearsal_keeps_all_other_judgments() -> None:
    study = make_study(items=2, launched=True, redundancy=2)
    judge(study, 2)
    imported = make_judgment(study.items.get(key="item-0"), make_rater("from elsewhere"))
    fill(study)
    synthetic = Judgment.objects.filter(study=study, rater__rehearsal=True).first()
    assert synthetic is not None
    exclusion_make(study=study, by=None, reason="odd", judgment=synthetic)
    exclusion_make(study=study, by=None, reason="odd", rater=synthetic.rater)
    kept = set(Judgment.objects.filter(rater__rehearsal=False).values_list("pk", flat=True))

    assert rehearsal_clear(study=study) == 4
    assert set(Judgment.objects.values_list("pk", flat=True)) == kept
    assert imported.pk in kept
    assert study_progress(study).done == 2
    assert not Rater.objects.filter(rehearsal=True).exists()
    assert not User.objects.filter(username__startswith="rehearsal-").exists()
    assert not Place.objects.filter(rehearsal=True).exists()
    assert not Exclusion.objects.exists()
    assert rehearsal_clear(study=study) == 0, "clearing twice changes nothing"


def test_a_cleared_draft_launches_as_version_one() -> None:
    study = make_study(items=1, redundancy=1)
    fill(study)
    assert Snapshot.objects.filter(study=study).count() == 1
    rehearsal_clear(study=study)
    assert not Snapshot.objects.filter(study=study).exists()
    study.refresh_from_db()
    assert study.snapshot is None
    assert study_launch(study=study).number == 1


def test_a_rehearsals_job_can_run_twice(django_capture_on_commit_callbacks: Any) -> None:
    study = make_study(items=3, redundancy=2)
    with django_capture_on_commit_callbacks() as callbacks:
        one = rehearsal_request(study=study, by=make_user(), raters=3, accuracy=0.9, seed=1)
    assert len(callbacks) == 1, "a worker is woken once the row is committed"
    assert rehearsal_run(rehearsal_pk=one.pk) == 6
    one.refresh_from_db()
    assert (one.state, rehearsal_progress(study).done) == ("done", 6)
    assert rehearsal_run(rehearsal_pk=one.pk) == 0
    assert Judgment.objects.filter(study=study).count() == 6


def test_a_killed_rehearsal_continues_where_it_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study(items=3, redundancy=2)
    one = rehearsal_request(study=study, by=None, raters=3, accuracy=0.9, seed=1)
    whole = run.rehearse

    def killed(**options: Any) -> int:
        whole(**options, most=2)
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "rehearse", killed)
    with pytest.raises(KeyboardInterrupt):
        rehearsal_run(rehearsal_pk=one.pk)
    one.refresh_from_db()
    assert one.state == Rehearsal.State.RUNNING
    monkeypatch.setattr(run, "rehearse", whole)
    rehearsal_run(rehearsal_pk=one.pk)
    one.refresh_from_db()
    assert one.state == Rehearsal.State.DONE
    assert Judgment.objects.filter(study=study).count() == 6


def test_a_running_rehearsal_excludes_another_and_cannot_be_cleared() -> None:
    study = make_study(items=1)
    one = rehearsal_request(study=study, by=None, raters=3, accuracy=0.9, seed=1)
    with pytest.raises(ValidationError, match="already running"):
        rehearsal_request(study=study, by=None, raters=3, accuracy=0.9, seed=1)
    with pytest.raises(ValidationError, match="Stop it first"):
        rehearsal_clear(study=study)
    assert rehearsal_stop(study=study)
    assert rehearsal_run(rehearsal_pk=one.pk) == 0
    rehearsal_clear(study=study)


def test_an_impossible_rehearsal_gives_the_reason() -> None:
    with pytest.raises(ValidationError, match="Import material first"):
        rehearsal_request(study=make_study(), by=None, raters=3, accuracy=0.9, seed=1)
    study = make_study(items=1)
    with pytest.raises(ValidationError, match="less than or equal to 1"):
        rehearsal_request(study=study, by=None, raters=3, accuracy=1.5, seed=1)


def test_a_rehearsal_with_an_exam_can_be_cleared() -> None:
    study = make_study(items=2, exam_required=True, exam_questions=4, pass_mark=3)
    rehearsal = rehearsal_request(study=study, by=make_user(staff=True), raters=3, accuracy=0.9, seed=1)
    rehearsal_run(rehearsal_pk=rehearsal.pk)
    assert Qualification.objects.filter(rater__rehearsal=True).count() == 3
    assert rehearsal_clear(study=study) == 6
    assert not Rater.objects.filter(rehearsal=True).exists()
    assert not Qualification.objects.exists()


def test_synthetic_raters_have_a_password_only_if_they_log_in() -> None:
    """A hash takes a third of a second of processor, which is a minute for a rehearsal of 200."""
    settled: dict[str, Any] = {"study": make_study(), "count": 2, "accuracy": 1, "spread": 0, "seed": 1}
    first = rehearsal_raters(**settled)[0]
    assert (first.password, first.user.has_usable_password()) == ("", False)
    again = rehearsal_raters(**settled, log_in=True)[0]
    assert again.user == first.user
    assert again.user.check_password(again.password)


def test_a_rehearsal_that_fails_says_why_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    study = make_study(items=1, redundancy=1)
    one = rehearsal_request(study=study, by=None, raters=1, accuracy=0.9, seed=1)
    study.items.all().delete()
    assert rehearsal_run(rehearsal_pk=one.pk) == 0
    one.refresh_from_db()
    assert one.state == "failed"
    assert "There are no items yet" in one.error
    [logged] = [record for record in caplog.records if record.exc_info]
    assert logged.getMessage() == f"rehearsal {one.pk} failed"
