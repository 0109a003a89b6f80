"""What was written in a study is listed and searched, within the study, a page at a time, and shown as text."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from lxml import html

from annotator.models import AuditEntry, Study, User
from annotator.selectors import written_answers as selector
from annotator.selectors.written_answers import written_answers, written_questions
from annotator.services.exclusion import exclusion_make
from tests.annotator.declared import launched
from tests.annotator.hit_types.declaration.files import RULES_FILE
from tests.factories import make_rater, make_user, record_judgment

pytestmark = pytest.mark.django_db
TEXT = RULES_FILE.read_text(encoding="utf-8").replace("    shuffled: true\n    questions", "    questions")
WRITTEN = [
    "The path was <b>long</b>.", "100% too long", "100 steps too long", "Am Bach", "under_score", "underXscore", "It's \\ fine",
]  # fmt: skip


@pytest.fixture
def study(researcher: User) -> Study:
    rows = [{"key": f"w{number}", "walk": f"Walk {number}."} for number in range(len(WRITTEN))]
    made = launched(researcher, TEXT, rows, slug="walks")
    rater = make_rater("ann")
    for number, text in enumerate(WRITTEN):
        response = {
            "pleasant": "yes", "length": "6", "birds": ["owl", "other"], "birds_other": f"Bird {number}", "long": "5",
            "shorter": text,
        }  # fmt: skip
        record_judgment(made.items.get(key=f"w{number}"), rater, response)
    other = launched(
        make_user("olga", staff=True), TEXT, [{"key": "w0", "walk": "Another lab's."}], slug="elsewhere"
    )
    record_judgment(
        other.items.get(), rater, response | {"shorter": "Another lab's path is fine, not 100% too long."}
    )
    return made


def page(client: Client, study: Study, **query: Any) -> Any:
    response = client.get(reverse("admin:study_written", args=[study.pk]), query)
    assert response.status_code == 200
    return html.fromstring(response.content)


def texts(shown: Any) -> list[str]:
    return [one.text_content() for one in shown.xpath("//*[@class='fk-written']")]


def test_all_that_was_written_is_listed_as_text(researcher_client: Client, study: Study) -> None:
    shown = page(researcher_client, study)
    assert texts(shown) == [text for number, one in enumerate(WRITTEN) for text in (f"Bird {number}", one)]
    assert not shown.xpath("//*[@class='fk-written']/b"), "it isn't HTML"
    options = [one.text for one in shown.xpath("//select[@name='question']/option")]
    assert options == ["All", "Another one: what?", "Where could it be shorter?"], "numbers aren't texts"
    assert AuditEntry.objects.filter(target="written answers").count() == 1


@pytest.mark.parametrize(
    ("sought", "found"),
    [
        ("PATH", [0]), ("100%", [1]), ("%", [1]), ("_", [4]), ("under_score", [4]), ("\\", [6]), ("'", [6]), ("<b>", [0]),
        ("yes", []), ("too   long", []), ("too long", [1, 2]), ("am bach", [3]),
    ],
)  # fmt: skip
def test_it_is_searched_for_exactly_what_was_typed(
    researcher_client: Client, study: Study, sought: str, found: list[int]
) -> None:
    shown = page(researcher_client, study, q=sought)
    assert texts(shown) == [WRITTEN[number] for number in found]
    assert len(shown.xpath("//*[@class='fk-written']/mark")) == len(found)


def test_questions_and_raters_are_chosen(researcher_client: Client, study: Study) -> None:
    assert texts(page(researcher_client, study, question="shorter")) == WRITTEN
    assert texts(page(researcher_client, study, question="pleasant", q="Bird 1")) == ["Bird 1"], (
        "no such text"
    )
    assert texts(page(researcher_client, study, by="simulator")) == []
    assert "No written answer matches." in page(researcher_client, study, by="simulator").text_content()


def test_pages_follow_each_other_and_a_search_says_how_far_it_came(
    researcher_client: Client, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selector, "PAGE", 3)
    seen, query = [], {"question": "shorter"}
    for _ in range(3):
        shown = page(researcher_client, study, **query)
        seen += texts(shown)
        following = shown.xpath("//*[@class='fk-pages']/a/@href")
        query = dict(one.split("=") for one in following[0].removeprefix("?").split("&")) if following else {}
    assert (seen, query) == (WRITTEN, {})
    monkeypatch.setattr(selector, "MOST_SEARCHED", 4)
    questions = {"shorter": "?"}
    first = written_answers(study=study, questions=questions, sought="fine")
    assert (first.answers, first.searched) == ([], True)
    assert first.after is not None
    second = written_answers(study=study, questions=questions, sought="fine", after=first.after)
    assert [one.text for one in second.answers] == [WRITTEN[6]]
    assert (second.after, second.searched) == (None, False)
    assert "Nothing found so far." in page(researcher_client, study, q="fine").text_content()


def test_what_is_excluded_says_so(researcher_client: Client, researcher: User, study: Study) -> None:
    exclusion_make(study=study, by=researcher, reason="Spam", judgment=study.judgments.order_by("id")[0])
    assert "excluded: Spam" in " ".join(page(researcher_client, study, q="PATH").text_content().split())


def test_another_lab_does_not_find_it(study: Study) -> None:
    client = Client()
    client.force_login(make_user("eve", staff=True))
    address = reverse("admin:study_written", args=[study.pk])
    assert client.get(address, {"q": "path"}).status_code == 404
    assert Client().get(address).status_code == 302


def test_the_number_of_queries_does_not_grow(study: Study) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as found:
            written_answers(study=study, questions=written_questions(study))
        return len(found)

    before = queries()
    study.judgments.order_by("-id")[:1].get().delete()
    assert queries() == before <= 5


def test_the_api_gives_the_same(researcher: User, study: Study) -> None:
    from rest_framework.test import APIClient

    client = APIClient()
    client.force_authenticate(researcher)
    address = "/api/v1/studies/walks/written-answers/"
    found = client.get(address, {"q": "too long", "question": "shorter"})
    assert found.status_code == 200, found.content
    assert [one["text"] for one in found.json()["answers"]] == WRITTEN[1:3]
    assert found.json()["after"] is None
    assert found.json()["answers"][0] | {"judgment": 0} == {
        "judgment": 0, "item": "w1", "rater": "ann", "rater_kind": "human", "question": "shorter",
        "asked": "Where could it be shorter?", "text": "100% too long", "excluded": "",
    }  # fmt: skip
    refused = client.get(address, {"question": "pleasant"})
    assert refused.status_code == 400
    assert "those are: birds_other, shorter" in refused.content.decode()
    assert client.get(address, {"sought": "x"}).status_code == 400
    assert client.get(address, {"by": "anyone"}).status_code == 400
    stranger = APIClient()
    stranger.force_authenticate(make_user("eve", staff=True))
    assert stranger.get(address).status_code == 404
