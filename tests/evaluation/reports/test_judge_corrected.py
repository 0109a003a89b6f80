"""A simulator's rates corrected by its errors, in a report: the same as from the follow-ups, and a reason where there is none."""

from __future__ import annotations

import pytest

from annotator.models import Study
from tests.evaluation.reports.studies import cells_of, computed, small_study
from tests.factories import make_item, make_judgment, make_rater, make_study

pytestmark = pytest.mark.django_db


def half_judged() -> Study:
    """A person on 12 of 24 instances with 4 follow-ups each, gpt on all; it errs on some, in both directions."""
    study, ann, gpt = make_study(), make_rater("ann"), make_rater("gpt", kind="simulator", source="simulator")
    for number in range(96):
        instance = number // 4
        item = make_item(study, key=f"i{number}", instance=f"x{instance:02}", real_output="yes")
        own = "cannot_guess" if number % 7 == 0 else "no" if number % 5 == 0 else "yes"
        if instance < 12:
            make_judgment(item, ann, own)
        said = {"yes": "no", "no": "yes", "cannot_guess": "yes"}[own] if number % 11 == 0 else own
        make_judgment(item, gpt, said)
    return study


def expected(study: Study) -> dict[str, float]:
    """Both figures from the answers alone."""
    answers: dict[str, dict[int, str]] = {"ann": {}, "gpt": {}}
    for judgment in study.judgments.all():
        answers[judgment.rater.name][judgment.item_id] = judgment.response.get("answer", "cannot_guess")
    gpt, ann = answers["gpt"], answers["ann"]

    def share(meant) -> float:
        hits = [meant(gpt[item]) for item, own in ann.items() if meant(own)]
        alarms = [meant(gpt[item]) for item, own in ann.items() if not meant(own)]
        rest = [meant(said) for item, said in gpt.items() if item not in ann]
        q1, wrong, p = (sum(found) / len(found) for found in (hits, alarms, rest))
        return (p - wrong) / (q1 - wrong)

    simulatable = share(lambda label: label != "cannot_guess")
    return {
        "gpt Precision, micro": share(lambda label: label == "yes") / simulatable,
        "gpt Simulatable": simulatable,
    }


def test_rates_are_corrected_by_the_errors_where_people_judged():
    study = half_judged()
    cells = cells_of(computed(study, replicates=100).content, "judge-corrected")
    for row, value in expected(study).items():
        cell = cells[row, "Corrected"]
        assert cell["value"] == pytest.approx(value)
        assert cell["low"] < value < cell["high"]
        assert "12 labelled" in cell["interval"]
        assert cells[row, "Sensitivity"]["low"] < cells[row, "Sensitivity"]["value"] <= 1
    without = cells_of(computed(study).content, "judge-corrected")["gpt Simulatable", "Corrected"]
    assert (without["low"], without["interval"]) == (None, "none asked for")


def test_where_people_judged_everything_nothing_is_corrected():
    cells = cells_of(computed(small_study(simulator=True)).content, "judge-corrected")
    reason = "people labelled every row, so there is no rate of the simulator alone to correct"
    assert cells["gpt-4 Simulatable", "Corrected"]["reason"] == reason
