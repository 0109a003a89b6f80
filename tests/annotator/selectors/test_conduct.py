"""Conduct of a study: participants only; rehearsal raters and imported raters are counted apart."""

from decimal import Decimal

import pytest

from annotator.models import Consent, Exam, ExamAttempt, Judgment, LedgerEntry
from annotator.selectors.conduct import GroupWork, study_conduct
from annotator.services.assignment import assignment_next
from annotator.services.rehearsal.fill import rehearsal_raters, rehearse
from annotator.services.submit_and_next import turn_take
from tests.factories import make_judgment, make_participation, make_rater, make_study

pytestmark = pytest.mark.django_db


def mixed_study():
    """One participant (2 items, 20 and 40 s, at .75), 6 rehearsal raters and an imported one, in one study."""
    study = make_study(
        items=6, launched=True, redundancy=4, pay_per_item=Decimal("0.75"), min_seconds=1, consent_text="Yes?"
    )
    rehearse(
        study=study, seed=1, most=8,
        raters=rehearsal_raters(study=study, count=6, accuracy=0.8, spread=0.1, seed=1),
    )  # fmt: skip
    Judgment.objects.filter(source="rehearsal").update(seconds=0.1)
    make_judgment(study.items.first(), make_rater("from a file"))
    person = make_participation(study)
    Consent.objects.create(participation=person, text="Yes?", digest="c0ffee")
    items = list(study.places.filter(judgment__isnull=True).order_by("-item_id", "number"))
    for place, seconds in zip({p.item_id: p for p in items}.values(), (20, 40), strict=False):
        judgment = make_judgment(place.item, person.rater)
        Judgment.objects.filter(pk=judgment.pk).update(
            source="web", place=place, snapshot=study.snapshot, seconds=seconds
        )
    return study, person


def test_rehearsal_and_imported_raters_are_not_participants():
    study, _ = mixed_study()
    found = study_conduct(study=study)
    assert (found.participants.raters, found.rehearsal.raters, found.imported.raters) == (1, 6, 1)
    assert (found.participants.judgments, found.rehearsal.judgments, found.imported.judgments) == (2, 8, 1)
    assert found.simulators == GroupWork()
    assert (found.joined, found.consents) == (1, 1)
    assert found.participants.median_seconds == pytest.approx(30)
    assert found.rehearsal.median_seconds == pytest.approx(0.1)
    assert (found.participants.fast, found.rehearsal.fast) == (0, 8)


def test_pay_is_owed_to_participants_only():
    study, person = mixed_study()
    synthetic = Judgment.objects.filter(source="rehearsal").first().rater
    LedgerEntry.objects.create(study=study, rater=synthetic, kind="bonus", amount=9, reason="a slip")
    LedgerEntry.objects.create(study=study, rater=person.rater, kind="bonus", amount=2, reason="thorough")
    LedgerEntry.objects.create(study=study, rater=person.rater, kind="payment", amount=1, reason="half")
    found = study_conduct(study=study)
    assert (found.paid_items, found.for_items) == (2, Decimal("1.50"))
    assert (found.bonuses, found.bonus_entries, found.paid) == (2, 1, 1)
    assert found.earned == Decimal("3.50")
    assert found.owed == Decimal("2.50")
    assert found.pay_per_hour == pytest.approx(0.75 * 3600 / 30)


def test_participants_finish_with_their_maximum_or_with_the_study():
    study = make_study(items=3, redundancy=1, max_items_per_rater=2, launched=True)
    people = [make_participation(study) for _ in range(2)]

    def work(person, turns):
        for _ in range(turns):
            task = assignment_next(participation=person)
            turn_take(user_id=person.rater.user_id, assignment_pk=task.pk, stage=0, raw={"helpful": "no"})

    work(people[0], 2)
    assert study_conduct(study=study).finished == 1, "one has done the most that one person can do"
    work(people[1], 1)
    assert study_conduct(study=study).finished == 2, "the study is full: nobody could do more"
    study.max_items_per_rater = 3
    study.save()
    assert study_conduct(study=study).finished == 2
    people[0].state = "left"
    people[0].save()
    assert study_conduct(study=study).finished == 1


def test_exams_count_each_participant_once():
    study, person = mixed_study()
    exam = Exam.objects.create(hit_type=study.hit_type, digest="d")
    for number, score in enumerate((1, 3), 1):
        ExamAttempt.objects.create(
            participation=person, exam=exam, number=number, drawn=[], pass_mark=3, score=score,
            submitted_at=study.created_at, pay=Decimal("0.25") if number == 1 else 0,
        )  # fmt: skip
    found = study_conduct(study=study)
    assert (found.exams_taken, found.exams_passed, found.for_exams) == (1, 1, Decimal("0.25"))


def test_an_empty_study_has_no_conduct():
    found = study_conduct(study=make_study())
    assert found.participants == GroupWork()
    assert (found.earned, found.owed, found.pay_per_hour) == (0, 0, None)


def test_the_number_of_queries_is_independent_of_the_studys_size(django_assert_max_num_queries):
    study, _ = mixed_study()
    study_conduct(study=study)
    with django_assert_max_num_queries(11):
        study_conduct(study=study)
