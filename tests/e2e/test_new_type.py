"""Answer a task of a HIT type from outside the product in a real browser, with keys."""

from __future__ import annotations

import io

import pytest
from playwright.sync_api import Page, expect

from annotator.hit_types.base import HitType
from annotator.models import Judgment
from annotator.services.imports.material_import import material_import
from annotator.services.study import study_launch
from tests.e2e import keyboard
from tests.factories import make_study
from tests.new_type import MATERIAL, clarity  # noqa: F401

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_the_new_types_form_is_answered_with_keys(live_server, page: Page, clarity: HitType) -> None:  # type: ignore[no-untyped-def]  # noqa: F811
    study = make_study(hit_type="clarity", completion_code="DONE")
    material_import(study=study, file=io.BytesIO(MATERIAL.encode()), name="clear.jsonl")
    study_launch(study=study)
    page.goto(f"{live_server.url}/join/{study.join_token}/")
    page.get_by_role("button", name="Start").click()
    page.get_by_role("button", name="Continue").click()
    for done in range(3):
        keyboard.wait_ready(page)
        expect(page.locator("main")).to_contain_text("is short.")
        keyboard.answer(page, {"clear": "yes"})
        keyboard.submit(page)
        page.wait_for_function(
            "done => document.body.innerText.includes('DONE') || document.body.innerText.includes(`${done} of 3`)",
            arg=done + 1,
        )
    expect(page.locator("body")).to_contain_text("DONE")
    assert [judgment.response for judgment in Judgment.objects.filter(study=study)] == [{"clear": "yes"}] * 3
