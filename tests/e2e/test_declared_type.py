"""A HIT type from an uploaded file to a launched study and a task that somebody did, all in a browser."""

from __future__ import annotations

import io
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotator.models import DeclaredType, Judgment, Study
from annotator.services.imports.material_import import material_import
from annotator.services.study import study_launch
from tests.annotator.declared import CLARITY
from tests.e2e import keyboard
from tests.factories import make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
ROWS = '{"sentence": "Birds sing.", "note": "In spring."}\n'


def test_from_an_uploaded_file_to_a_done_task(live_server: Any, page: Page) -> None:
    make_user("rosa", staff=True)
    root = live_server.url
    page.goto(f"{root}/admin/")
    page.fill("[name=username]", "rosa")
    page.fill("[name=password]", "a-long-password-7")
    page.keyboard.press("Enter")
    expect(page.locator("[name=password]")).to_have_count(0)
    page.goto(f"{root}/admin/annotator/declaredtype/add/")
    page.get_by_text("Upload a file").click()
    wrong = CLARITY.replace("kind: choice", "kind: chioce")
    page.locator("#file").set_input_files(
        {"name": "clarity.yaml", "mimeType": "text/yaml", "buffer": wrong.encode()}
    )
    page.get_by_role("button", name="Put it into the editor").click()
    shown = page.frame_locator("iframe[name=shown]")
    problem = shown.get_by_text("Did you mean choice?")
    expect(problem).to_be_visible()
    expect(page.locator(".declare__bad")).to_have_text("25")
    problem.click()
    assert page.evaluate("getSelection().toString()").strip() == "kind: chioce"
    page.keyboard.type("        kind: choice")
    expect(shown.get_by_text("The cat sleeps on the stove.").first).to_be_visible()
    expect(page.locator(".declare__bad")).to_have_count(0)
    shown.get_by_text("Yes", exact=True).click()
    shown.get_by_role("button", name="Submit").click()
    expect(shown.get_by_role("heading", name="And now?")).to_be_visible()
    page.get_by_role("button", name="Exam", exact=True).click()
    expect(
        shown.get_by_text("The bus leaves at nine.").or_(shown.get_by_text("The horse raced"))
    ).to_be_visible()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Version 1 of clarity was saved.")).to_be_visible()
    assert DeclaredType.objects.get().versions.count() == 1
    page.goto(f"{root}/admin/annotator/study/add/")
    page.get_by_text("Clarity of sentences").click()
    page.locator("[name=title]").fill("Clear sentences")
    page.get_by_role("button", name="Create study").click()
    expect(page.get_by_text("Study created.")).to_be_visible()
    study = Study.objects.get()
    Study.objects.update(
        exam_required=False, practice_required=False, consent_text="", completion_code="DONE"
    )
    material_import(study=study, file=io.BytesIO(ROWS.encode()), name="a.jsonl")
    study_launch(study=Study.objects.get())
    study.refresh_from_db()
    page.context.clear_cookies()  # a participant, not the researcher
    page.goto(f"{root}/join/{study.join_token}/")
    page.get_by_role("button", name="Start").click()
    page.get_by_role("button", name="Continue").click()
    for answers in ({"clear": "no"}, {"still": "yes"}):
        keyboard.wait_ready(page)
        keyboard.answer(page, answers)
        keyboard.submit(page)
    expect(page.locator("body")).to_contain_text("DONE")
    assert [one.response for one in Judgment.objects.all()] == [{"clear": "no", "still": "yes"}]
