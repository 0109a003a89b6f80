"""The page of raters has a row for each: their work, time, agreement, checks, exam, flags and what they are owed."""

from __future__ import annotations

import pytest
from django.test import Client
from lxml import html

from annotator.models import Judgment, Participation, Study, User
from annotator.services.assignment import assignment_next
from annotator.services.participation import participation_join
from annotator.services.payment import work_accept
from annotator.services.rehearsal.fill import take_steps
from annotator.services.study import study_launch
from annotator.services.submit_and_next import turn_take
from tests.factories import make_item, make_study, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(researcher: User) -> Study:
    """Six items, three of them gold with the answer no. The exam has as many questions as its HIT type says."""
    made = make_study(by=researcher, redundancy=2, pay_per_item="0.25", exam_required=True, min_seconds=5)
    for number in range(6):
        gold = {"helpful": "no"} if number < 3 else None
        make_item(made, key=f"k{number}", gold=gold, role="gold" if gold else "ordinary")
    study_launch(study=made)
    made.refresh_from_db()
    return made


def work(study: Study, raw: dict[str, str]) -> Participation:
    """One person passes the exam and answers every item alike, in 20 seconds each."""
    person = participation_join(study=study, user=make_user())
    take_steps(person)
    while task := assignment_next(participation=person):
        turn_take(user_id=person.rater.user_id, assignment_pk=task.pk, stage=0, raw=raw)
    Judgment.objects.filter(rater=person.rater).update(seconds=20)
    return person


def test_each_rater_has_work_checks_flags_and_what_is_owed(
    researcher_client: Client, researcher: User, study: Study
) -> None:
    guesser, careful = work(study, {"helpful": "yes", "answer": "yes"}), work(study, {"helpful": "no"})
    work_accept(study=study, by=researcher, raters=[guesser.rater_id])

    page = html.fromstring(researcher_client.get(f"/admin/annotator/study/{study.pk}/raters/").content)
    names = [" ".join(one.text_content().split()) for one in page.xpath("//thead//th")]
    cells = [
        [" ".join(cell.text_content().split()) for cell in row.xpath("./td")]
        for row in page.xpath("//tbody/tr")
    ]
    rows = {row[0]: dict(zip(names, row, strict=True)) for row in cells}
    first, second = rows[guesser.rater.name], rows[careful.rater.name]

    questions = study.exam_questions
    assert (first["Kind"], first["Judgments"], first["Median seconds"]) == ("participant", "6", "20.0")
    assert (first["Under 5 s"], first["Agrees"]) == ("0 0 %", "0 %")
    assert (first["Checks"], second["Checks"]) == ("0 of 3", "3 of 3")
    assert first["Exam"] == second["Exam"] == f"{questions} of {questions}"
    assert (first["Flags"], second["Flags"]) == ("3 of 3 checks failed", "")
    assert (first["Owed"], second["Owed"]) == ("1.50", "0.00")
    assert page.xpath(f"//a[@href='/admin/annotator/study/{study.pk}/exclude/rater/{guesser.rater_id}/']")
