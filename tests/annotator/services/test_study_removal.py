"""Duplicate, archive, delete, restore and purge a study."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.http import Http404
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotator.core.errors import Refused
from annotator.models import Instance, Judgment, Qualification, Rater, Study
from annotator.selectors.study import deleted_studies_for, studies_for, study_get_for
from annotator.selectors.versions import version_diff, versions_of
from annotator.services import study_removal
from annotator.services.assignment import assignment_next
from annotator.services.items import item_correct, item_withdraw
from annotator.services.participation import participation_join
from annotator.services.payment import bonus_give
from annotator.services.rehearsal.fill import rehearsal_raters, rehearse, take_steps
from annotator.services.study import study_close, study_launch, study_update
from annotator.services.study_copy import slug_free, study_duplicate
from annotator.services.study_removal import (
    studies_purge,
    study_archive,
    study_delete,
    study_purge,
    study_restore,
    study_unarchive,
)
from annotator.services.submit_and_next import turn_take
from tests.factories import (
    make_judgment,
    make_participation,
    make_rater,
    make_study,
    make_user,
    simulation_payload,
)

pytestmark = pytest.mark.django_db


def closed_study(**fields) -> Study:
    study = make_study(launched=True, redundancy=2, **fields)
    person = make_participation(study)
    task = assignment_next(participation=person)
    turn_take(user_id=person.rater.user_id, assignment_pk=task.pk, stage=0, raw={"helpful": "no"})
    return study_close(study=study)


def test_a_duplicate_is_a_draft_with_only_settings_and_items() -> None:
    study = closed_study(items=3, pay_per_item="0.40", exam_attempts=5)
    by = make_user(staff=True)
    copy = study_duplicate(study=study, by=by, slug="copy", title="Copy", material=True)
    assert (copy.state, copy.snapshot, copy.launched_at, copy.closed_at) == ("draft", None, None, None)
    assert (copy.pay_per_item, copy.exam_attempts) == (Decimal("0.40"), 5)
    assert copy.join_token != study.join_token
    assert list(copy.items.values_list("key", "payload", "instance")) == list(
        study.items.values_list("key", "payload", "instance")
    )
    assert (copy.judgments.count(), copy.participations.count(), copy.places.count()) == (0, 0, 0)
    assert list(copy.memberships.values_list("user", "role")) == [(by.pk, "owner")]
    study_launch(study=copy)
    assert study_duplicate(study=study, by=by, slug="bare", title="Bare", material=False).items.count() == 0


def test_a_duplicate_has_the_latest_version_of_each_item() -> None:
    study = make_study(items=3, launched=True)
    one, two, _ = study.items.all()
    item_correct(item=one, by=None, reason="typo", payload=simulation_payload("corrected"), gold=None)
    item_withdraw(item=two, by=None, reason="broken")
    copy = study_duplicate(study=study, by=make_user(), slug="copy", title="Copy", material=True)
    assert sorted(copy.items.values_list("key", "version")) == [("item-0", 1), ("item-2", 1)]
    assert copy.items.get(key="item-0").payload == simulation_payload("corrected")


def test_a_taken_short_name_is_refused_and_a_free_one_suggested() -> None:
    study = make_study(slug="owls")
    assert slug_free("owls") == "owls-copy"
    make_study(slug="owls-copy")
    assert slug_free("owls") == "owls-copy-2"
    with pytest.raises(ValidationError):
        study_duplicate(study=study, by=make_user(), slug="owls-copy", title="x", material=False)


def test_a_live_study_cannot_be_archived_or_deleted() -> None:
    study = make_study(items=1, launched=True)
    for refused in (
        lambda: study_archive(study=study),
        lambda: study_delete(study=study, by=None, typed=study.slug),
    ):
        with pytest.raises(ValidationError, match="Close it before"):
            refused()
    study_close(study=study)
    assert study_archive(study=study).archived_at
    study.refresh_from_db()
    assert study_unarchive(study=study).archived_at is None


def test_a_deleted_study_is_hidden_and_can_be_restored() -> None:
    owner = make_user(staff=True)
    study = make_study(items=1, by=owner)
    with pytest.raises(ValidationError, match="Type the short name"):
        study_delete(study=study, by=owner, typed="something")
    assert studies_for(user=owner).filter(pk=study.pk).exists()
    study_delete(study=study, by=owner, typed=study.slug)
    assert not studies_for(user=owner).exists()
    with pytest.raises(Http404):
        study_get_for(user=owner, pk=study.pk)
    (hidden,) = deleted_studies_for(user=owner)
    study_restore(study=hidden)
    assert study_get_for(user=owner, pk=study.pk) == study


def test_nobody_joins_a_deleted_study() -> None:
    study = make_study(items=1, launched=True)
    Study.objects.filter(pk=study.pk).update(deleted_at=timezone.now())
    study.refresh_from_db()
    with pytest.raises(Refused):
        participation_join(study=study, user=make_user())


def test_after_thirty_days_a_deleted_study_is_purged_and_others_stay() -> None:
    study = closed_study(items=3)
    other = make_study(items=1, launched=True)
    kept = make_judgment(other.items.get(), make_rater("elsewhere"))
    make_judgment(study.items.first(), make_rater("simulator", kind="simulator"))
    rehearse(study=study, raters=rehearsal_raters(study=study, count=2, accuracy=1, spread=0, seed=1), seed=1)
    person = study.participations.get(rater__rehearsal=False)
    bonus_give(study=study, rater=person.rater, by=None, amount=Decimal(1), reason="careful")
    instances = Instance.objects.count()
    study_delete(study=study, by=None, typed=study.slug)
    assert studies_purge() == 0
    Study.objects.filter(pk=study.pk).update(deleted_at=timezone.now() - timedelta(days=31))
    assert studies_purge() == 1
    assert studies_purge() == 0
    assert not study_purge(study_pk=study.pk)
    assert Study.objects.get() == other
    assert Judgment.objects.get() == kept
    assert Rater.objects.filter(pk=kept.rater_id).exists()
    assert Instance.objects.count() == instances


def test_a_study_that_is_being_removed_cannot_be_restored() -> None:
    owner = make_user(staff=True)
    study = make_study(items=1, by=owner)
    study_delete(study=study, by=owner, typed=study.slug)
    Study.objects.filter(pk=study.pk).update(deleted_at=timezone.now() - timedelta(days=31))
    assert not deleted_studies_for(user=owner).exists()
    with pytest.raises(ValidationError, match="is being removed"):
        study_restore(study=study)


def judged_study(*, items: int, raters: int) -> Study:
    """A deleted study of which every item has that many judgments."""
    study = make_study(items=items, launched=True, redundancy=raters)
    for _ in range(raters):
        person = make_participation(study)
        for _ in range(items):
            task = assignment_next(participation=person)
            turn_take(user_id=person.rater.user_id, assignment_pk=task.pk, stage=0, raw={"helpful": "no"})
    return study_delete(study=study_close(study=study), by=None, typed=study.slug)


def test_a_purge_loads_no_judgment_and_deletes_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    study = judged_study(items=6, raters=2)
    monkeypatch.setattr(study_removal, "BATCH", 4)
    with CaptureQueriesContext(connection) as done:
        assert study_purge(study_pk=study.pk)
    statements = [one["sql"] for one in done.captured_queries]
    assert not [one for one in statements if one.startswith("SELECT") and 'judgment"."response"' in one]
    reviews = [one for one in statements if one.startswith('DELETE FROM "annotator_review"')]
    assert len(reviews) == 3
    assert not [one for one in reviews if "SELECT" in one], (
        "Postgres would read all reviews instead of their index"
    )
    for table in ("judgment", "assignment"):
        assert sum(one.startswith(f'DELETE FROM "annotator_{table}"') for one in statements) == 3, table
    assert not Study.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_purge_that_was_interrupted_keeps_what_it_did_and_can_be_continued(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = judged_study(items=4, raters=1)
    monkeypatch.setattr(study_removal, "BATCH", 1)
    deleted: list[str] = []

    def killed(execute: Callable[..., object], sql: str, *rest: object) -> object:
        if sql.startswith('DELETE FROM "annotator_item"'):
            deleted.append(sql)
            if len(deleted) == 2:
                raise KeyboardInterrupt
        return execute(sql, *rest)

    with connection.execute_wrapper(killed), pytest.raises(KeyboardInterrupt):
        study_purge(study_pk=study.pk)
    assert (study.judgments.count(), study.places.count(), study.items.count()) == (3, 3, 3)
    with pytest.raises(ValidationError, match="is being removed"):
        study_restore(study=study)
    assert studies_purge() == 1
    assert not Study.objects.exists()


def test_versions_are_listed_with_their_differences() -> None:
    study = make_study(items=1, launched=True, consent_text="You may stop.\nData are kept.")
    study_update(
        study=study, by=make_user("rosa"), consent_text="You may stop.\nData are deleted.", redundancy=5
    )
    second, first = versions_of(study)
    assert (second.number, first.number, second.created_by.username) == (2, 1, "rosa")
    changes = {one.name: one for one in version_diff(first, second)}
    assert set(changes) == {"consent text", "raters per item"}
    assert changes["raters per item"].after == "5"
    assert ("-", "Data are kept.") in changes["consent text"].lines
    assert ("+", "Data are deleted.") in changes["consent text"].lines
    assert version_diff(first, first) == []


def test_purging_a_study_keeps_qualifications_earned_in_it() -> None:
    study = make_study(items=1, launched=True, exam_required=True, exam_questions=4, pass_mark=3)
    person = make_participation(study)
    take_steps(person)
    assert Qualification.objects.get().attempt is not None
    study_close(study=study)
    study_delete(study=study, by=None, typed=study.slug)
    assert study_purge(study_pk=study.pk)
    kept = Qualification.objects.get()
    assert (kept.rater, kept.attempt, kept.revoked_at) == (person.rater, None, None)
