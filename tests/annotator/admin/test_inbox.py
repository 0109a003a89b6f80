"""The inbox: threads of messages with what they are about, answered one by one or several at once."""

from __future__ import annotations

from html import unescape

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotator.models import Membership, Message, Participation, Study, User
from annotator.selectors.message import threads_of
from annotator.services.message import message_send, message_settle, messages_reply
from tests.factories import make_participation, make_study, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(researcher: User) -> Study:
    return make_study(items=2, by=researcher, launched=True, title="Owls")


def ask(person: Participation, text: str, *, flag: bool = False) -> Message:
    item = person.study.items.first() if flag else None
    return message_send(participation=person, kind="flag" if flag else "question", text=text, item=item)


def address(study: Study) -> str:
    return reverse("admin:study_messages", args=[study.pk])


def shown(client: Client, where: str) -> str:
    return unescape(" ".join(client.get(where, follow=True).content.decode().split()))


def test_an_answer_settles_what_was_asked_and_the_thread_stays_readable(
    researcher_client: Client, study: Study
) -> None:
    asked = ask(make_participation(study), "May I look it up?")
    page = shown(researcher_client, address(study))
    assert "May I look it up?" in page
    assert "1 waiting" in page
    answer = researcher_client.post(
        address(study), {"message": [asked.pk], "text": "Yes, you may."}, follow=True
    )
    assert "Answer sent to 1 participant." in answer.content.decode()
    assert "Nobody waits for an answer." in answer.content.decode()
    asked.refresh_from_db()
    assert asked.settled_at is not None
    thread = shown(researcher_client, reverse("admin:annotator_message_change", args=[asked.pk]))
    assert thread.index("May I look it up?") < thread.index("Yes, you may.")
    assert "May I look it up?" in shown(researcher_client, f"{address(study)}?all=1")


def test_one_answer_goes_to_several_people_once_each(researcher_client: Client, study: Study) -> None:
    ann, ben = make_participation(study), make_participation(study)
    asked = [ask(ann, "How?"), ask(ann, "And why?"), ask(ben, "How so?")]
    researcher_client.post(address(study), {"message": [one.pk for one in asked], "text": "Like this."})
    replies = Message.objects.filter(kind="reply")
    assert sorted(replies.values_list("rater", "text")) == sorted(
        (one.rater_id, "Like this.") for one in (ann, ben)
    )
    assert not Message.objects.exclude(kind="reply").filter(settled_at=None).exists()


def test_a_problem_with_an_item_leads_to_the_item_and_its_correction(
    researcher_client: Client, study: Study
) -> None:
    flag = ask(make_participation(study), "A typo.", flag=True)
    page = shown(researcher_client, f"{address(study)}?kind=flag")
    for name in ("study_item", "study_item_edit"):
        assert f'href="{reverse(f"admin:{name}", args=[study.pk, flag.item_id])}"' in page
    researcher_client.post(address(study), {"message": [flag.pk], "settle": "1"})
    flag.refresh_from_db()
    assert flag.settled_at is not None
    assert not Message.objects.filter(kind="reply").exists()


def test_filters_and_the_longest_wait_first(study: Study, researcher_client: Client) -> None:
    first, second = make_participation(study), make_participation(study)
    ask(second, "About owls")
    ask(first, "A typo.", flag=True)
    ask(second, "Again")
    studies = Study.objects.all()
    assert [one.rater.pk for one in threads_of(studies)] == [second.rater_id, first.rater_id]
    assert [one.waiting for one in threads_of(studies)] == [2, 1]
    assert [one.rater.pk for one in threads_of(studies, kind="flag")] == [first.rater_id]
    assert [one.rater.pk for one in threads_of(studies, query="OWLS")] == [second.rater_id]
    assert "No message matches." in shown(researcher_client, f"{address(study)}?q=bats")


def test_the_inbox_of_all_studies_has_only_ones_own(study: Study, researcher_client: Client) -> None:
    ask(make_participation(study), "Mine to answer")
    other = make_study(by=make_user("otto", staff=True), launched=True, items=1, title="Of others")
    ask(make_participation(other), "Not yours")
    page = shown(researcher_client, reverse("admin:annotator_message_changelist"))
    assert "Mine to answer" in page
    assert "Owls" in page
    assert "Not yours" not in page
    theirs = Message.objects.get(text="Not yours")
    answer = researcher_client.get(reverse("admin:annotator_message_change", args=[theirs.pk]))
    assert answer.status_code == 404


def test_a_viewer_reads_but_does_not_answer(study: Study) -> None:
    viewer = make_user("vera", staff=True)
    Membership.objects.create(study=study, user=viewer, role="viewer")
    client = Client()
    client.force_login(viewer)
    asked = ask(make_participation(study), "Hello?")
    assert "<textarea" not in client.get(address(study)).content.decode()
    assert client.post(address(study), {"message": [asked.pk], "text": "x"}).status_code == 404


def test_messages_of_another_study_and_empty_answers_are_refused(study: Study, researcher: User) -> None:
    other = make_study(by=researcher, launched=True, items=1)
    strange, mine = ask(make_participation(other), "Hm?"), ask(make_participation(study), "Hm?")
    for messages, text in (([strange], "x"), ([], "x"), ([mine], " ")):
        with pytest.raises(ValidationError):
            messages_reply(study=study, messages=messages, by=researcher, text=text)
    deletion = message_send(
        participation=make_participation(study), kind="deletion", text="Please delete it."
    )
    with pytest.raises(ValidationError, match="Decide on the deletion request"):
        message_settle(message=deletion)
    assert Message.objects.filter(settled_at=None).count() == 3


def test_the_number_of_queries_does_not_grow(researcher_client: Client, study: Study) -> None:
    def queries(people: int) -> int:
        for _ in range(people):
            ask(make_participation(study), "Why?")
        with CaptureQueriesContext(connection) as captured:
            assert researcher_client.get(address(study)).status_code == 200
        return len(captured)

    queries(1)
    assert queries(1) == queries(5)
