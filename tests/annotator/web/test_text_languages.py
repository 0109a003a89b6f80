"""Texts in another language than the page say so (WCAG 3.1.2), and come in the reader's language where the HIT type has it."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from lxml import html

from annotator.hit_types.built_in import instructions_in, is_own_text, passages, question_in
from annotator.hit_types.registry import hit_type_get
from annotator.models import Study
from annotator.services.study import study_update
from tests.bot import Bot
from tests.factories import make_study, make_user

pytestmark = pytest.mark.django_db
KIND = hit_type_get("simulation")


def walked(study: Study, language: str) -> list[Any]:
    """The pages of a study in their order, for somebody who chose a language."""
    bot = Bot(study)
    bot.client = Client(enforce_csrf_checks=True)
    bot.client.cookies["language"] = language
    bot.whole_way(most=1)
    return [html.document_fromstring(body) for _, body in bot.seen if "<html" in body]


def elements(pages: list[Any], css_class: str, step: str) -> list[Any]:
    """The elements of a class on the pages of a step of the study: its ``consent``, ``instructions``, ``practice``, ``exam``, ``task``."""
    marks = {
        "consent": "//input[@name='digest']",
        "instructions": "//*[contains(@class, 'instructions')]",
        "practice": "//form[contains(@action, '/practice/')]",
        "exam": "//form[contains(@action, '/exam/')]",
        "task": "//form[@data-task][starts-with(@action, '/task/')]",
    }
    found = [one for page in pages if page.xpath(marks[step]) for one in page.find_class(css_class)]
    assert found, (step, css_class)
    return found


def languages_at(pages: list[Any], css_class: str, step: str, *, inside: str = "") -> set[str]:
    """The languages of the elements, each its own or that of the nearest element around it."""
    found = elements(pages, css_class, step)
    if inside:
        found = [one for one in found if not one.xpath(f"ancestor::*[contains(@class, '{inside}')]")]
    return {one.xpath("string(ancestor-or-self::*[@lang][1]/@lang)") for one in found}


def study_with_steps(**rules: Any) -> Study:
    return make_study(
        items=3, launched=True, title="Owls", summary="Read and predict.", consent_text="We keep your answers.",
        practice_required=True, exam_required=True, exam_questions=2, pass_mark=2, **rules,
    )  # fmt: skip


def test_items_and_the_studys_own_texts_name_their_language_on_a_page_in_another() -> None:
    pages = walked(study_with_steps(instructions_text="## Task\n\nPredict the answer."), "ar")
    assert {page.get("lang") for page in pages} == {"ar"}
    assert {page.get("dir") for page in pages} == {"rtl"}
    assert languages_at(pages, "prose", "consent") == {"en"}
    assert languages_at(pages, "prose", "instructions") == {"en"}
    assert languages_at(pages, "fold__title", "instructions") == {"en"}
    assert languages_at(pages, "block__text", "task") == {"en", "ar"}, "the answer is the type's own word"
    assert languages_at(pages, "option__label", "task") == {"ar"}
    assert {one[0].get("lang") for one in elements(pages, "top__name", "task")} == {"en"}


def test_a_page_in_the_studys_language_names_no_other() -> None:
    for page in walked(study_with_steps(), "en"):
        assert [one for one in page.xpath("//main//*[@lang]") if one.get("lang") != "en"] == []


@pytest.mark.parametrize(("code", "task"), [("de", "Ihre Aufgabe"), ("ar", "مهمتك")])
def test_what_comes_with_the_hit_type_is_in_the_readers_language(code: str, task: str) -> None:
    pages = walked(study_with_steps(), code)
    assert elements(pages, "fold__title", "instructions")[0].text == task
    for step in ("instructions", "practice", "exam"):
        assert languages_at(pages, "block__text", step) == {code}
    assert languages_at(pages, "block__text", "task", inside="block--answer") == {"en"}


def test_a_study_in_german_shows_the_texts_of_its_type_in_german_without_any_translation() -> None:
    study = make_study(items=3, launched=True, language="de")
    bot = Bot(study)
    bot.client = Client(enforce_csrf_checks=True, headers={"Accept-Language": "fr"})
    bot.join()
    seen = bot.client.get(f"{bot.path}instructions/").content.decode()
    assert "Ihre Aufgabe" in seen
    assert "Your task" not in seen


def test_a_text_that_the_researchers_changed_is_not_replaced_by_the_translation_of_the_type() -> None:
    own = KIND.instructions.replace("You are **not** asked", "You are never asked")
    assert instructions_in("simulation", "de", own) == ""
    assert not is_own_text("simulation", own)
    shorter = "\n\n".join(passages(KIND.instructions)[:3])
    assert "Roboter" in instructions_in("simulation", "de", shorter)


def test_a_question_that_the_researchers_changed_is_shown_as_they_wrote_it() -> None:
    one = KIND.practice[0]
    assert question_in("simulation", "de", "practice", one) is not None
    other = type(one)(
        one.key, one.payload | {"follow_up": "Is a pumpkin a fruit?"}, one.gold, one.reason, one.pool
    )
    assert question_in("simulation", "de", "practice", other) is None
    study = make_study(items=1, language="en", practice_required=True, practice_own=[vars(other)])
    page = previewed(study, "practice/", "de")
    assert "Is a pumpkin a fruit?" in page.text_content()
    assert {one.get("lang") for one in page.find_class("block__text")} >= {"en"}


def test_the_studys_own_translation_comes_before_that_of_the_type() -> None:
    study = study_update(
        study=make_study(items=1), translations={"de": {"instructions_text": "## Eigene\n\nSo."}}
    )
    assert previewed(study, "instructions/", "de").find_class("fold__title")[0].text == "Eigene"


def test_the_preview_shows_researchers_the_language_that_they_ask_for() -> None:
    study = make_study(items=1)
    assert previewed(study, "instructions/", "de").find_class("fold__title")[0].text == "Ihre Aufgabe"
    assert previewed(study, "instructions/", "en").find_class("fold__title")[0].text == "Your task"


def previewed(study: Study, page: str, language: str) -> Any:
    client = Client()
    client.force_login(make_user(f"ada-{language}", staff=True, is_superuser=True))
    client.cookies["language"] = language
    return html.document_fromstring(client.get(f"/preview/{study.pk}/{page}").content)
