"""What a report says about excluded judgments that other people have made up for, as computed and from a release."""

from __future__ import annotations

import pytest

from annotator.models import Exclusion, Study
from annotator.services.exclusion import exclusion_lift, exclusion_make
from annotator.services.rehearsal.fill import rehearsal_raters, rehearse
from evaluation.releases.reading import release_open
from evaluation.releases.reproduce import release_reproduce
from tests.annotator.services.collecting import filled, work
from tests.evaluation.releases.releases import built
from tests.evaluation.reports.studies import computed, stored
from tests.factories import make_item, make_judgment, make_participation, make_rater, make_study

pytestmark = pytest.mark.django_db
BOTH = "exclusions were lifted after others had been asked instead, and both are kept."


def prose(study: Study, **choices: bool) -> str:
    content = computed(study, **choices).content
    [section] = [one for one in content["sections"] if one["id"] == "data"]
    return " ".join(section["prose"])


def collected() -> tuple[Study, Exclusion]:
    """Three items of two places; one person's judgments are made up for, of two of them."""
    study, people = filled()
    made = exclusion_make(study=study, rater=people[0].rater, by=None, reason="a bot", collect_again=True)
    work(make_participation(study), most=2)
    return study, made


def test_judgments_of_others_stand_in_for_the_excluded_ones() -> None:
    study, _ = collected()
    said = prose(study)
    assert "2 excluded judgments have one of another person in its place." in said
    assert "more people than the study asks for" not in said
    assert "Each item was judged by 1 to 2 people; the study asks for 2. 1 item has fewer." in said


def test_both_are_kept_after_the_exclusion_is_lifted() -> None:
    study, made = collected()
    exclusion_lift(exclusion=made)
    said = prose(study)
    assert f"2 items have more people than the study asks for: {BOTH}" in said
    assert "in its place" not in said


def test_a_report_that_counts_exclusions_says_why_there_are_more() -> None:
    study, _ = collected()
    said = prose(study, exclusions=False)
    assert "2 items have more people than the study asks for: others were asked instead of people whom this report counts." in said  # fmt: skip


def test_studies_without_any_say_nothing() -> None:
    study, people = filled()
    extra = make_item(study, key="imported")
    for number in range(5):
        make_judgment(extra, make_rater(f"r{number}"))
    exclusion_make(study=study, rater=people[0].rater, by=None, reason="a bot")
    said = prose(study)
    assert "in its place" not in said
    assert "more people than" not in said


def test_a_rehearsal_says_the_same() -> None:
    study = make_study(items=4, redundancy=2)
    raters = rehearsal_raters(study=study, count=5, accuracy=1, spread=0, seed=1)
    rehearse(study=study, raters=raters, seed=1)
    gone = study.judgments.first().rater
    number = study.judgments.filter(rater=gone).count()
    made = exclusion_make(study=study, rater=gone, by=None, reason="a bot", collect_again=True)
    assert rehearse(study=study, raters=raters, seed=1) == number
    assert "of another person in its place" in prose(study)
    exclusion_lift(exclusion=made)
    assert BOTH in prose(study)


def test_a_release_says_the_same() -> None:
    study, made = collected()
    for _ in range(2):
        file = built(stored(study))[1]
        assert release_reproduce(release_open(file)).exact
        exclusion_lift(exclusion=made)
