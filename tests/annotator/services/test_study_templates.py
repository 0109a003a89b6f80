"""Templates of studies: one for each protocol of the papers, with the paper's pay and time."""

from __future__ import annotations

from decimal import Decimal

import pytest

from annotator.services.study_templates import study_create_from_template, study_templates
from tests.factories import make_user

pytestmark = pytest.mark.django_db


def test_every_protocol_and_variant_has_a_template() -> None:
    keys = {template.key for template in study_templates()}
    assert {
        f"rationale_properties/{group}" for group in ("surface_form", "support", "informativeness", "style")
    } <= keys
    assert {"atomic_units/news", "atomic_units/medical", "question_validation/rephrase"} <= keys
    assert {
        "question_validation/counterfactual",
        "question_validation/similar_reasoning",
        "plausibility",
    } <= keys
    assert len({template.title for template in study_templates()}) == len(keys)


def test_pay_and_time_are_those_of_the_papers() -> None:
    study = study_create_from_template(by=make_user(), template="simulation", slug="s", title="S")
    assert (study.pay_per_item, study.currency, study.minutes_per_item) == (Decimal("0.60"), "USD", 2.0)
    for template in study_templates():
        if "Joshi" in template.source and not template.external:
            study = study_create_from_template(
                by=None, template=template.key, slug=template.key.replace("/", "-"), title="T"
            )
            assert study.pay_per_item * 60 / Decimal(study.minutes_per_item) > 15, (
                template.key
            )  # dollars an hour
            assert study.hit_type == template.key.partition("/")[0]


@pytest.mark.parametrize("template", [one.key for one in study_templates() if not one.external])
def test_no_template_shows_the_exams_key_while_attempts_are_left(template: str) -> None:
    """Reasons come after the exam; the correct answers come when nobody can take it again with them."""
    study = study_create_from_template(by=make_user(), template=template, slug="s", title="S")
    assert not study.exam_key_early
    assert study.exam_feedback
    assert study.exam_attempts > 1
