"""A report's sentences state each figure with its n and interval, as a table of the report has it; few cases aren't summed up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from annotator.hit_types.arms import arm_of
from annotator.models import Study
from evaluation.reports.choices import Choices
from evaluation.reports.compute import compute, compute_across
from tests.annotator.services.control_studies import two_armed_study
from tests.evaluation.reports.one_truth import check_one_truth, check_sentences
from tests.evaluation.reports.paper_studies import (
    p1_study,
    p2_study,
    p3_generalization_study,
    p3_properties_study,
    p3_utility_study,
    system_is,
    typed,
)
from tests.evaluation.reports.studies import cells_of, small_study, table_of
from tests.factories import make_item, make_judgment, make_rater, make_study, simulation_payload

pytestmark = pytest.mark.django_db

STUDIES: dict[str, Callable[[], Study]] = {
    "P1": lambda: p1_study(),
    "P2": lambda: p2_study(),
    "P3 utility": lambda: p3_utility_study(),
    "P3 generalization": lambda: p3_generalization_study(),
    "P3 properties": lambda: p3_properties_study(),
    "two systems": lambda: larger_study(),
    "with a simulator": lambda: small_study(simulator=True),
    "control arms": lambda: armed_study(),
}


def armed_study() -> Study:
    """Three raters on twelve instances of two systems, with the explanation and with nothing shown."""
    study = two_armed_study(12)
    for number, item in enumerate(study.items.order_by("key")):
        arm = arm_of(item.payload)
        for place in range(3):
            make_judgment(
                item,
                make_rater(f"{arm or 'with'}-{place}"),
                "no" if (number + place) % (4 if arm else 7) == 0 else "yes",
            )
    return study


def larger_study() -> Study:
    """Two raters on 24 instances of two systems; post-hoc has a precision on half of them only."""
    study, raters = make_study(), [make_rater("ann"), make_rater("bob")]
    for number in range(24):
        for system in ("cot", "post_hoc"):
            real = "yes" if number % 3 else "no"
            item = make_item(
                study, key=f"{system}{number}", instance=f"x{number}", system=system, real_output=real,
                payload=simulation_payload(number) | {"follow_up": f"{system} {number}"},
            )  # fmt: skip
            blind = system == "post_hoc" and number % 2
            for place, rater in enumerate(raters):
                answer = "no" if not number % (5 + place) else "yes"
                make_judgment(item, rater, "cannot_guess" if blind else answer)
    for name in ("cot", "post_hoc"):
        system_is(name, "m", name)
    return typed(study, "simulation")


def content_of(*studies: Study, **choices: Any) -> dict[str, Any]:
    parsed = Choices.parse({"min_overlap": 1, "replicates": 100} | choices)
    if len(studies) > 1:
        return compute_across(studies=studies, choices=parsed, figures=False).content
    return compute(study=studies[0], choices=parsed, figures=False).content


def test_what_the_explanation_adds_is_summed_up() -> None:
    content = content_of(armed_study())
    summary = " ".join(next(one for one in content["sections"] if one["id"] == "summary")["prose"])
    gain = cells_of(content, "simulatability-gain")["People All nothing", "Gain"]
    assert gain["low"] is not None
    assert f"The gain is {100 * gain['value']:.1f}" in summary, summary


@pytest.mark.parametrize("name", STUDIES)
def test_sentences_agree_with_tables(name: str) -> None:
    content = content_of(STUDIES[name]())
    assert check_sentences(content) or name == "P3 generalization"
    assert check_one_truth(content)


@pytest.mark.parametrize("choices", [{"rule": "per_rater"}, {"restriction": "all"}, {"labels": "statements"}])
def test_sentences_agree_with_tables_under_other_choices(choices: dict[str, str]) -> None:
    assert check_sentences(content_of(larger_study(), **choices))


def test_sentences_agree_with_tables_across_studies() -> None:
    studies = p3_utility_study(title="Utility", gen_u=False), p3_properties_study(title="Properties")
    assert check_sentences(content_of(*studies))


def test_few_cases_are_not_summed_up() -> None:
    """Two systems share 7 instances of 24: only the precision of both together is summed up. 4 explanations are too few for that."""
    content = content_of(larger_study())
    summary = content["sections"][0]
    assert any("(n = 24 explanations)" in text for text in summary["prose"])
    assert not any("cot has a precision" in text for text in summary["prose"])
    assert summary["notes"] == [
        "Not summed up, because they are based on fewer than 8 cases: the findings of “Systems compared”."
    ]
    compared = next(section for section in content["sections"] if section["id"] == "p1-table-2")
    assert compared["prose"][0].startswith(
        "On the 7 instances where both are defined, cot has a precision of 100.0 %"
    )
    systems = table_of(content, "systems-compared")["rows"][0]["cells"]
    assert {cell["n"] for cell in systems[:3]} == {7}

    content = content_of(p1_study())
    summary = content["sections"][0]
    assert summary["id"] == "summary"
    assert not any("precision" in text for text in summary["prose"])
    (note,) = summary["notes"]
    assert note.startswith("Not summed up, because they are based on fewer than 8 cases: the findings of ")
    assert "“Simulation precision”" in note
