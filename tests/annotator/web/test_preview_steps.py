"""Researchers see every page that participants can meet, before the launch, and nothing is stored."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from lxml import html

from annotator.models import Membership, Participation, Rater, Study
from annotator.web.views.preview_steps import preview_steps
from tests.factories import make_study, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> Client:
    client = Client()
    client.force_login(make_user("ada", staff=True))
    return client


def draft(client: Client, **rules: Any) -> Study:
    from annotator.models import User

    values: dict[str, Any] = {
        "title": "Owls", "consent_text": "We keep **your** answers.", "practice_required": True, "exam_required": True, "exam_questions": 4,
        "pass_mark": 3, "exam_pay": "1.50", "pay_per_item": "0.50", "completion_code": "DONE1", "partly_code": "PART2",
        "declined_code": "NO3", "screened_out_code": "FAIL4", "items": 3,
    }  # fmt: skip
    return make_study(by=User.objects.get(username="ada"), **values | rules)


def page(client: Client, study: Study, name: str, **query: Any) -> str:
    reply = client.get(f"/preview/{study.pk}/page/{name}/", query)
    assert reply.status_code == 200
    return " ".join(html.document_fromstring(reply.content).text_content().split())


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("invitation", ["Owls", "0.50 USD per task", "The exam pays 1.50 USD", "9 tasks", "Start"]),
        ("consent", ["Do you want to take part?", "We keep your answers."]),
        ("declined", ["You're not taking part", "NO3", "You submitted no tasks"]),
        ("passed", ["You passed", "4 of 4"]),
        ("failed", ["This was your last attempt", "2 of 4", "FAIL4", "You've earned 1.50 USD"]),
        ("stopped", ["You have left this study", "PART2", "You've earned 2.00 USD"]),
        ("done", ["You're done. Thank you.", "DONE1", "3 tasks", "You've earned 3.00 USD"]),
    ],
)
def test_a_draft_shows_the_page_with_its_codes_and_pay(ada: Client, name: str, texts: list[str]) -> None:
    shown = page(ada, draft(ada), name)
    for text in ["Preview.", *texts]:
        assert text in shown, text


def test_every_page_of_a_study_is_linked_from_each_and_opens(ada: Client) -> None:
    study = draft(ada)
    names = [one.name for one in preview_steps(study)]
    assert names == [
        "invitation", "consent", "declined", "instructions", "practice", "exam", "passed", "failed", "task", "stopped", "done",
    ]  # fmt: skip
    for here in preview_steps(study):
        reply = ada.get(here.url)
        assert reply.status_code == 200, here.name
        linked = html.document_fromstring(reply.content).xpath("//nav[contains(@class, 'preview-steps')]")
        assert len(linked) == 1, here.name
        assert linked[0].xpath(".//ol//a/@href") == [one.url for one in preview_steps(study)], here.name
        assert linked[0].xpath(".//a[@aria-current]/@href") == [here.url], here.name
        back = (
            ("exam", "Back to the exam's page")
            if here.name in ("practice", "exam")
            else ("live", "Back to the study")
        )
        [link] = linked[0].xpath(".//p/a")
        assert (link.get("href"), link.text) == (f"/admin/annotator/study/{study.pk}/{back[0]}/", back[1])
    overview = ada.get(f"/admin/annotator/study/{study.pk}/live/").content.decode()
    assert f"/preview/{study.pk}/page/invitation/" in overview


def test_a_study_without_exam_and_consent_has_neither_page(ada: Client) -> None:
    study = draft(ada, consent_text="", exam_required=False, practice_required=False, items=0)
    assert [one.name for one in preview_steps(study)] == ["invitation", "instructions", "stopped", "done"]
    for name in ("consent", "failed", "nonsense", "instructions"):
        assert ada.get(f"/preview/{study.pk}/page/{name}/").status_code == 404, name


def test_the_buttons_lead_on_and_store_nothing(ada: Client) -> None:
    study = draft(ada)
    base = f"/preview/{study.pk}/page/"
    assert ada.post(f"{base}invitation/").headers["Location"] == f"{base}consent/"
    assert ada.post(f"{base}consent/", {"decision": "agree"}).headers["Location"].endswith("/instructions/")
    assert ada.post(f"{base}consent/", {"decision": "decline"}).headers["Location"] == f"{base}declined/"
    assert not Participation.objects.exists()
    assert not Rater.objects.exists()


def test_only_members_of_the_study_see_its_previews(ada: Client) -> None:
    study = draft(ada)
    eve = make_user("eve", staff=True)
    other = Client()
    other.force_login(eve)
    where = f"/preview/{study.pk}/page/done/"
    assert other.get(where).status_code == 404
    Membership.objects.create(user=eve, study=study, role=Membership.Role.VIEWER)
    assert other.get(where).status_code == 200
    assert Client().get(where).status_code == 302
    person = Client()
    person.force_login(make_user("kim"))
    assert person.get(where).status_code == 302


def test_a_live_study_in_german_shows_its_pages_in_german(ada: Client) -> None:
    study = draft(ada, launched=True, language="de", translations={})
    assert "Fertig" in page(ada, study, "done") or "Vielen Dank" in page(ada, study, "done")
