"""How participants of a panel go back to it: with which code, and only once their work has ended."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from lxml import html

from annotator.models import Participation, Study
from annotator.services.assignment import assignment_next
from annotator.services.exam import qualification_grant
from annotator.services.participation import participation_leave
from annotator.services.study import study_update
from tests.bot import Bot
from tests.factories import make_participation, make_study
from tests.prolific_server import STUDY

pytestmark = pytest.mark.django_db
CODES = {"completion_code": "DONE-1", "screened_out_code": "FAILED-2", "nothing_left_code": "NONE-3"}
QUERY = f"?PROLIFIC_PID=p1&STUDY_ID={STUDY}&SESSION_ID=s1"


def panel_study(**fields: Any) -> Study:
    values: dict[str, Any] = {"items": 1, "redundancy": 2, "launched": True} | CODES | fields
    return make_study(panel="prolific", panel_links="plain", **values)


class PanelBot(Bot):
    """A participant who comes by Prolific's link."""

    def join(self) -> Any:
        self.get(f"/join/{self.study.join_token}/{QUERY}")
        return self.post(f"/join/{self.study.join_token}/{QUERY}", {})


def links(page: Any) -> list[str]:
    return [str(one) for one in html.fromstring(page.content).xpath("//a[contains(@href, 'prolific')]/@href")]


def code_link(code: str) -> str:
    return f"https://app.prolific.com/submissions/complete?cc={code}"


def test_the_code_for_completing_comes_after_the_last_answer() -> None:
    study = panel_study(items=2)
    bot = PanelBot(study)
    page = bot.instructions(bot.join())
    assert links(page) == links(bot.get(bot.path + "done/")) == []
    page = bot.tasks(page, most=1)
    assert not any("DONE-1" in text for _, text in bot.seen)
    page = bot.tasks(page, most=1)
    assert links(page) == [code_link("DONE-1")]
    assert page.content.count(b"button--main") == 1
    assert b"FAILED-2" not in page.content
    assert b"NONE-3" not in page.content


def test_undoing_the_last_answer_takes_the_code_back() -> None:
    study = panel_study()
    bot = PanelBot(study)
    page = bot.tasks(bot.instructions(bot.join()), most=1)
    assert links(page) == [code_link("DONE-1")]
    done = bot.participation.assignments.get()
    assert bot.post(f"/task/{done.pk}/undo/", {}, swap=True).status_code == 200
    page = bot.get(bot.path + "done/")
    assert page.request["PATH_INFO"].endswith("/task/")
    assert "DONE-1" not in page.content.decode()
    assert links(bot.tasks(page, most=1)) == [code_link("DONE-1")]


def test_people_who_left_do_not_get_the_code_for_completing() -> None:
    study = panel_study(items=3)
    bot = PanelBot(study)
    bot.tasks(bot.instructions(bot.join()), most=1)
    participation_leave(participation=bot.participation)
    page = bot.get(bot.path + "done/")
    assert page.request["PATH_INFO"].endswith("/left/")
    assert "DONE-1" not in page.content.decode()


def test_the_code_for_failing_comes_with_the_last_attempt() -> None:
    study = panel_study(exam_required=True, exam_questions=2, pass_mark=2, exam_attempts=2)
    bot = PanelBot(study)
    page = bot.exam(bot.instructions(bot.join()), right=False)
    assert links(page) == [], "another attempt is left"
    page = bot.exam(bot.get(bot.path + "exam/?again=1"), right=False)
    assert links(page) == [code_link("FAILED-2")]
    assert links(bot.get(bot.path)) == [code_link("FAILED-2")], "also when they come back"
    assert "DONE-1" not in page.content.decode()


def fill(study: Study) -> None:
    """Let somebody else take the only place."""
    Study.objects.filter(pk=study.pk).update(panel="")
    other = make_participation(Study.objects.get(pk=study.pk))
    Study.objects.filter(pk=study.pk).update(panel="prolific")
    qualification_grant(rater=other.rater, hit_type=study.hit_type, workspace=study.workspace, by=None)
    assert assignment_next(participation=other) is not None


def test_people_who_failed_keep_their_code_when_all_places_are_taken() -> None:
    study = panel_study(redundancy=1, exam_required=True, exam_questions=2, pass_mark=2, exam_attempts=1)
    bot = PanelBot(study)
    bot.exam(bot.instructions(bot.join()), right=False)
    fill(study)
    assert links(bot.get(bot.path)) == [code_link("FAILED-2")]


def test_the_code_for_finding_nothing_comes_without_a_task() -> None:
    study = panel_study(redundancy=1)
    bot = PanelBot(study)
    bot.join()
    fill(study)
    page = bot.get(bot.path)
    assert links(page) == [code_link("NONE-3")]
    assert "DONE-1" not in page.content.decode()
    shown = Client().get(f"/join/{study.join_token}/{QUERY.replace('p1', 'p2').replace('s1', 's2')}")
    assert links(shown) == [code_link("NONE-3")], "before they have joined"


def test_without_a_code_there_is_no_button() -> None:
    study = panel_study()
    study_update(study=study, completion_code="")
    bot = PanelBot(study)
    assert links(bot.tasks(bot.instructions(bot.join()), most=1)) == []


def test_people_who_did_not_come_from_a_panel_get_no_codes_of_it() -> None:
    study = make_study(items=1, redundancy=1, launched=True, **CODES)
    bot = Bot(study)
    page = bot.tasks(bot.instructions(bot.join()), most=1)
    assert links(page) == []
    assert Participation.objects.get().recruiter == ""
    assert "DONE-1" in page.content.decode()
