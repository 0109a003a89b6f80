"""Answers to questionnaires are attributes of raters: reports filter and group by them, releases have them only by choice."""

from __future__ import annotations

import pytest

from annotator.models import Judgment, Participation, QuestionnaireAnswer
from evaluation.ratings.attributes import attribute_load, judgments_filter
from evaluation.ratings.judgments import judgments_load
from evaluation.releases.rater_values import people_of, rater_values
from evaluation.selectors.attributes import study_attributes
from evaluation.selectors.release import attributes_of
from tests.evaluation.releases.people import people_study
from tests.evaluation.releases.releases import built, everything, rows_of
from tests.evaluation.reports.studies import stored

pytestmark = pytest.mark.django_db
NAME = "before.demographics.age"


def test_answers_filter_reports_and_are_released_only_by_choice() -> None:
    study = people_study(slug="asked")
    raters = list(
        Judgment.objects.filter(study=study).order_by("rater").values_list("rater", flat=True).distinct()
    )
    for number, rater in enumerate(raters):
        person = Participation.objects.create(study=study, rater_id=rater)
        answers = {NAME: "18_to_24" if number < 8 else "25_to_34"} if number < 18 else {}
        QuestionnaireAnswer.objects.create(
            participation=person, moment="before", version="0" * 12, response={"demographics": {"age": "zephyrine"}}, attributes=answers
        )  # fmt: skip
    column = next(one for one in study_attributes(studies=[study]) if one.name == f"rater:{NAME}")
    assert [(one.text, one.count) for one in column.values] == [("25_to_34", 10), ("18_to_24", 8)]
    judgments = judgments_load(study=study)
    assert attribute_load(judgments, f"rater:{NAME}").names == ("18_to_24", "25_to_34")
    assert len(judgments_filter(judgments, f"rater:{NAME}=18_to_24")) == 16
    people = people_of(raters)
    assert rater_values(people, [study.pk], {NAME})[raters[0]] == {NAME: ("18_to_24",)}
    report = stored(study)
    assert NAME in attributes_of(report)
    _, without = built(report)
    assert not any(row["attributes"] for row in rows_of(without, "questionnaire_answer"))
    assert "18_to_24" not in everything(without)
    _, chosen = built(report, attributes=frozenset({NAME}))
    values = [row["attributes"].get(NAME) for row in rows_of(chosen, "questionnaire_answer")]
    assert (values.count("18_to_24"), values.count("25_to_34"), values.count(None)) == (8, 10, 0)
    assert "zephyrine" not in everything(chosen)
