"""An answer that is an option of the item says its language on a page in another (WCAG 3.1.2); one of the type is translated."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from lxml import html

from annotator.hit_types.registry import hit_type_get
from annotator.models import Judgment, Study
from annotator.services.assignment import assignment_next
from annotator.services.study import study_launch
from annotator.services.submit_and_next import turn_take
from tests.factories import make_item, make_participation, make_rater, make_study, make_user, record_judgment

pytestmark = pytest.mark.django_db
LETTERED = {
    "question": "Wo steht ein Kessel, der täglich benutzt wird?", "options": ["im Laden", "im Haus"],
    "rationale": "Was täglich benutzt wird, bleibt im Haus.",
}  # fmt: skip
YES_NO = {"question": "Brennt Argon?", "options": [], "rationale": "Argon reagiert nicht."}


def german(payload: dict[str, Any] = LETTERED, **rules: Any) -> Study:
    study = make_study(hit_type="utility", language="de", **rules)
    make_item(study, key="kettle", payload=payload)
    study_launch(study=study)
    study.refresh_from_db()
    return study


def languages(page: Any, path: str) -> list[tuple[str, str]]:
    """The text of each element and the language that it is in."""
    return [
        (" ".join(one.text_content().split()), one.xpath("string(ancestor-or-self::*[@lang][1]/@lang)"))
        for one in page.xpath(path)
    ]


def second_step(study: Study, code: str, answer: str) -> Any:
    client = Client()
    client.cookies["language"] = code
    person = make_participation(study)
    assert person.rater.user is not None
    assert person.rater.user_id is not None
    client.force_login(person.rater.user)
    task = assignment_next(participation=person)
    assert task is not None
    turn_take(user_id=person.rater.user_id, assignment_pk=task.pk, stage=0, raw={"before": answer})
    return html.document_fromstring(client.get(f"/study/{study.slug}/task/").content)


SAID = "//bdi[contains(@class, 'committed__answer')]"


@pytest.mark.parametrize("code", ["en", "ar"])
def test_you_answered_a_lettered_option(code: str) -> None:
    page = second_step(german(), code, "B")
    assert page.get("lang") == code
    assert languages(page, SAID) == [("B. im Haus", "de")]
    [line] = page.xpath("//*[@data-announce-answer]")
    assert (line.get("data-announce-answer"), line.get("data-announce-language")) == ("B. im Haus", "de")
    assert line.get("data-announce-answer") in line.get("data-announce")


def test_you_answered_on_a_page_in_the_items_language() -> None:
    page = second_step(german(), "de", "B")
    assert languages(page, SAID) == [("B. im Haus", "de")]
    assert not page.xpath("//*[contains(@class, 'committed__answer')][@lang]")
    assert not page.xpath("//*[@data-announce-answer]")


def test_you_answered_a_word_of_the_type_in_the_language_of_the_page() -> None:
    page = second_step(german(YES_NO), "ar", "no")
    assert languages(page, SAID) == [("لا", "ar")]


QUESTION = {
    "key": "kettle", "payload": LETTERED, "gold": {"after": "B"}, "reason": "Es bleibt im Haus.", "pool": "",
}  # fmt: skip


@pytest.mark.parametrize("which", ["practice", "exam"])
def test_given_and_correct_answers_of_practice_and_exam(which: str) -> None:
    study = make_study(
        hit_type="utility", language="de", items=0, practice_own=[QUESTION], exam_own=[QUESTION], exam_questions=1,
        pass_mark=1, exam_feedback=True,
    )  # fmt: skip
    client = Client()
    client.force_login(make_user("ada", staff=True, is_superuser=True))
    client.cookies["language"] = "en"
    where = f"/preview/{study.pk}/{which}/"
    if which == "exam":
        reply = client.post(where, {"handed-in": "1", "q1-before": "A", "q1-after": "A"})
    else:
        earlier = {"number": "0", "answering": "1", "step": "1", "earlier": '{"before": "A"}'}
        reply = client.post(where, earlier | {"after": "A"})
    page = html.document_fromstring(reply.content)
    found = dict(languages(page, "//dl[contains(@class, 'answers')]//bdi"))
    assert found.get("A. im Laden") == "de"
    assert found.get("B. im Haus") == "de"


def test_researchers_pages_of_an_item_and_its_judgments(admin_client: Client) -> None:
    study = german()
    item = study.items.get()
    judgment: Judgment = record_judgment(item, make_rater("kim"), {"before": "A", "after": "B"})
    base = f"/admin/annotator/study/{study.pk}/"
    for address in (f"items/{item.pk}/", "judgments/"):
        page = html.document_fromstring(admin_client.get(base + address).content)
        assert languages(page, "//ul[contains(@class, 'fk-answers')]/li") == [
            ("A. im Laden", "de"), ("B. im Haus", "de"),
        ], address  # fmt: skip
    page = html.document_fromstring(admin_client.get(f"{base}judgments/{judgment.pk}/").content)
    found = dict(languages(page, "//dl[contains(@class, 'fk-blocks')]//dd"))
    question = next(text for text in found if text.startswith("Wo steht"))
    assert (found["A. im Laden"], found[question]) == ("de", "de")


def test_what_the_type_says_is_not_of_the_item() -> None:
    kind = hit_type_get("utility")
    [(_, no)] = kind.describe(YES_NO, {"before": "no"})
    [(_, lettered)] = kind.describe(LETTERED, {"before": "B"})
    assert [getattr(one, "of_item", None) for one in (no, lettered)] == [False, True]
