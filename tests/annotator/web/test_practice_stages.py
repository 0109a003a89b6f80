"""Practice goes through the stages of a task, and says once how the keys work."""

from __future__ import annotations

from typing import Any

import pytest
from lxml import html

from annotator.hit_types.base import Question
from annotator.hit_types.registry import hit_type_get
from tests.annotator.demo_studies import demo_study
from tests.bot import Bot, practice_stages
from tests.factories import EASY

pytestmark = pytest.mark.django_db
HINT = "Number keys answer the highlighted question."
STAGED = ["utility", "generalization_utility"]


def at_practice(name: str) -> tuple[Bot, Any, Question]:
    bot = Bot(demo_study(name, **(EASY | {"practice_required": True})))
    page = bot.instructions(bot.join())
    assert page.request["PATH_INFO"].endswith("/practice/")
    return bot, page, hit_type_get(name).practice[0]


def stages_named(page: Any) -> list[str]:
    marks = html.fromstring(page.content).xpath("//ol[@class='stages']/li")
    return [mark.xpath("string()").strip() for mark in marks]


@pytest.mark.parametrize("name", STAGED)
def test_practice_starts_at_the_first_stage_with_the_stages_of_the_task(name: str) -> None:
    bot, page, question = at_practice(name)
    titles = [stage.title for stage in practice_stages(bot.kind, question)]
    assert len(titles) > 1
    assert [title in named for title, named in zip(titles, stages_named(page), strict=True)] == [True] * len(
        titles
    )
    assert question.payload["rationale"] not in page.content.decode(), "an answer before the explanation"
    assert "Check my answer" not in page.content.decode()
    fields = bot.form(page).fields
    before = practice_stages(bot.kind, question)[0].fields[0].name
    page = bot.post(
        bot.path + "practice/", {before: "yes", "step": fields["step"], "earlier": fields["earlier"]}
    )
    text = " ".join(html.fromstring(page.content).text_content().split())
    assert question.payload["rationale"] in text
    assert bot.participation.practice_done == 0


@pytest.mark.parametrize(
    "sent",
    [
        {"step": "7", "earlier": "["},
        {"step": "-1", "earlier": "[1]"},
        {"step": "1", "earlier": '{"before": {"a": 1}}'},
    ],
)
def test_invalid_page_fields_are_refused_without_a_server_error(sent: dict[str, str]) -> None:
    bot, _, _ = at_practice("utility")
    page = bot.post(bot.path + "practice/", sent)
    assert page.status_code == 422
    assert bot.participation.practice_done == 0


def test_the_keys_are_explained_with_the_first_question_only() -> None:
    bot, page, question = at_practice("simulation")
    assert HINT in page.content.decode()
    answered = bot.post(bot.path + "practice/", dict(question.gold) | {"helpful": "yes", "answer": "no"})
    assert HINT not in answered.content.decode()
    number = bot.form(answered).fields["number"]
    page = bot.post(bot.path + "practice/", {"go": "on", "number": number})
    assert "Practice 2 of" in page.content.decode()
    assert HINT not in page.content.decode()
