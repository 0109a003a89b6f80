"""The page of the review desk, and writing to participants: what is shown, what is refused, and who may do it."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from lxml import html

from annotator.models import (
    AuditEntry,
    Exclusion,
    Membership,
    Message,
    MessageTemplate,
    PanelConnection,
    Participation,
    Review,
    ReviewDecision,
    Study,
    User,
)
from annotator.services.exam import qualification_grant
from annotator.services.panel_connection import panel_connect
from annotator.services.study import study_launch
from tests.annotator.desk_people import NO, item_answer, items_make, people_make, work_make
from tests.factories import make_study, make_user
from tests.prolific_api import TOKEN, ProlificBooks, Refusal, prolific_api

pytestmark = pytest.mark.django_db
NAMES = ["ann", "ben", "cam", "dee"]


@pytest.fixture
def books() -> Iterator[ProlificBooks]:
    with prolific_api() as found:
        yield found


@pytest.fixture
def study(researcher: User) -> Study:
    """Four people; dee failed both attention checks."""
    made = make_study(by=researcher, pay_per_item="0.10", redundancy=4, title="Owls")
    items_make(made)
    study_launch(study=made)
    made.refresh_from_db()
    work_make(
        made,
        people_make(made, NAMES),
        lambda n, item: (NO if n == 3 and item.role == "attention" else item_answer(item), 9.0, {}),
    )
    return made


def url(study: Study, rest: str = "desk/") -> str:
    return f"/admin/annotator/study/{study.pk}/{rest}"


def text_of(reply: Any) -> str:
    return unescape(" ".join(html.document_fromstring(reply.content.decode()).text_content().split()))


def rater(study: Study, name: str) -> int:
    return study.participations.get(rater__name=name).rater_id


def press(client: Client, study: Study, decision: str, *names: str, **fields: str) -> Any:
    """What the page's form sends about these people."""
    given = {"decision": decision, "rater": [rater(study, name) for name in names], **fields}
    return client.post(url(study), given, follow=True)


def test_a_person_is_shown_with_signs_and_the_whole_work(researcher_client: Client, study: Study) -> None:
    reply = researcher_client.get(url(study))
    shown = text_of(reply)
    assert "Attention checks failed 2 of 2 failed" in shown, "dee is first, having a sign"
    assert shown.count("attention check failed") == 2
    assert "To decide 4" in shown
    assert "1 of 4" in shown
    page = html.document_fromstring(reply.content.decode())
    assert len(page.xpath("//section[@aria-labelledby='work-title']//tbody/tr")) == 14
    assert not page.xpath("//form[@id='desk']//details[@data-key='x']"), "no panel, so nothing to reject at"
    assert AuditEntry.objects.filter(action="people.viewed", target="review desk").exists()
    [first] = page.xpath("//form[@id='desk']/button[1]")
    assert "disabled" in first.attrib, "Enter in a field presses nothing"


def test_the_page_has_a_constant_number_of_queries(researcher_client: Client, study: Study) -> None:
    researcher_client.get(url(study))
    with CaptureQueriesContext(connection) as few:
        researcher_client.get(url(study))
    work_make(
        study,
        people_make(study, [f"more-{n}" for n in range(8)]),
        lambda n, item: (item_answer(item), 9.0, {}),
    )
    with CaptureQueriesContext(connection) as many:
        researcher_client.get(url(study))
    assert len(few) == len(many) <= 45


def test_decisions_in_bulk_by_one_press_and_undone(researcher_client: Client, study: Study) -> None:
    ben = study.participations.get(rater__name="ben")
    reply = press(researcher_client, study, "accept", "ann", "ben", next=str(ben.pk))
    assert f"person={ben.pk}" not in reply.redirect_chain[-1][0], (
        "the next person was decided about with the others"
    )
    assert "2 people: accepted. Undo within 5 minutes." in text_of(reply)
    assert "To decide 2" in text_of(reply)
    again = press(researcher_client, study, "accept", "ann")
    assert again.status_code == 400
    assert "ann has a decision already (accepted)." in text_of(again)
    [batch] = html.document_fromstring(reply.content.decode()).xpath(
        "//form[@id='desk-held']/input[@name='batch']/@value"
    )
    undone = researcher_client.post(url(study), {"decision": "undo", "batch": batch}, follow=True)
    assert "2 decisions undone." in text_of(undone)
    twice = researcher_client.post(url(study), {"decision": "undo", "batch": batch}, follow=True)
    assert "undone already" in text_of(twice)
    press(researcher_client, study, "bonus", "ann", bonus_amount="0,50", bonus_text="Careful.")
    assert not Review.objects.exists()
    call_command("review", study.slug, "carry-out")
    assert Review.objects.count() == 14


def test_a_refused_form_keeps_what_was_written(researcher_client: Client, study: Study) -> None:
    reply = press(researcher_client, study, "bonus", "ann", "ben", bonus_amount="-3", bonus_text="Thanks <b>")
    page = html.document_fromstring(reply.content.decode())
    assert reply.status_code == 400
    assert page.xpath("//input[@name='bonus_text']/@value") == ["Thanks <b>"]
    assert len(page.xpath("//input[@name='rater'][@checked]")) == 2
    assert not ReviewDecision.objects.exists()


def test_excluding_and_requalifying_are_apart_from_pay(
    researcher_client: Client, study: Study, researcher: User
) -> None:
    reply = press(researcher_client, study, "exclude", "dee", exclude_reason="checks", exclude_again="on")
    assert "1 person excluded from the analysis" in text_of(reply)
    assert Exclusion.objects.get().collect_again
    press(researcher_client, study, "exclude", "dee", "cam", exclude_reason="again")
    assert Exclusion.objects.count() == 2, "dee isn't excluded twice"
    assert "Give a reason" in text_of(press(researcher_client, study, "exclude", "ann"))
    person = study.participations.get(rater__name="dee").rater
    held = qualification_grant(
        rater=person, hit_type=study.hit_type, workspace=study.workspace, by=researcher
    )
    assert "revoked" in text_of(
        press(researcher_client, study, "revoke", "dee", qualification_reason="checks")
    )
    held.refresh_from_db()
    assert held.revoked_at
    assert "granted again" in text_of(
        press(researcher_client, study, "grant", "dee", qualification_reason="retrained")
    )
    assert "None of them holds" in text_of(
        press(researcher_client, study, "revoke", "ann", qualification_reason="x")
    )


@pytest.mark.parametrize(
    "form",
    [
        {"decision": "accept", "rater": "999999999"},
        {"decision": "accept", "rater": "nobody"},
        {"decision": "accept", "rater": "99999999999999999999999"},
        {"decision": "pay them all"},
        {},
        {"decision": "bonus", "rater": "ANN", "bonus_amount": "NaN", "bonus_text": "x"},
        {"decision": "reject", "rater": "ANN", "reject_category": "OTHER", "reject_text": "x" * 200},
        {"decision": "exclude", "rater": "ANN", "exclude_reason": "x\x00"},
        {"decision": "message", "rater": "ANN", "message_text": "x", "message_panel": "on"},
    ],
)
def test_forged_forms_change_nothing(researcher_client: Client, study: Study, form: dict[str, str]) -> None:
    sent = {name: str(rater(study, "ann")) if value == "ANN" else value for name, value in form.items()}
    reply = researcher_client.post(url(study), sent)
    assert reply.status_code == 400
    assert not ReviewDecision.objects.exists()
    assert not Message.objects.exists()
    assert researcher_client.post(url(study), {"decision": "undo", "batch": "x"}).status_code == 404


def test_people_of_another_study_are_not_reached(researcher_client: Client, study: Study) -> None:
    other = make_study(by=make_user("eve", staff=True), items=1, launched=True)
    work_make(other, people_make(other, ["stranger"]), lambda n, item: (NO, 9.0, {}))
    stranger = other.participations.get()
    assert researcher_client.get(url(other)).status_code == 404
    assert (
        researcher_client.post(url(other), {"decision": "accept", "rater": stranger.rater_id}).status_code
        == 404
    )
    for decision in ("accept", "exclude", "message", "revoke"):
        fields = {"exclude_reason": "x", "message_text": "x", "qualification_reason": "x"}
        reply = researcher_client.post(
            url(study), {"decision": decision, "rater": stranger.rater_id, **fields}
        )
        assert reply.status_code == 400
    assert "stranger" not in text_of(researcher_client.get(url(study) + f"?person={stranger.pk}"))
    assert not ReviewDecision.objects.exists()
    assert not Exclusion.objects.exists()


def test_a_viewer_sees_and_a_reviewer_without_the_account_does_not_send(
    books: ProlificBooks, study: Study, researcher: User
) -> None:
    viewer, reviewer = Client(), Client()
    for client, role in ((viewer, "viewer"), (reviewer, "reviewer")):
        user = make_user(role, staff=True)
        Membership.objects.create(study=study, user=user, role=role)
        client.force_login(user)
    page = viewer.get(url(study))
    assert page.status_code == 200
    assert 'id="desk"' not in page.content.decode()
    assert viewer.post(url(study), {"decision": "accept", "rater": rater(study, "ann")}).status_code == 404
    Study.objects.filter(pk=study.pk).update(panel="prolific", panel_study_ids="p1")
    assert study.workspace is not None
    panel_connect(workspace=study.workspace, panel="prolific", token=TOKEN, by=researcher)
    Participation.objects.update(recruiter="prolific", recruiter_verified=True)
    reply = press(reviewer, study, "accept", "ann")
    assert reply.status_code == 400
    assert "Only its editors may use it" in text_of(reply)
    assert press(reviewer, study, "exclude", "ann", exclude_reason="x").status_code == 200
    reply = press(reviewer, study, "revoke", "ann", qualification_reason="x")
    assert "only an editor of the workspace can revoke or grant it" in text_of(reply)
    assert not ReviewDecision.objects.exists()


# -- messages ----------------------------------------------------------------------------------------------


def test_all_who_have_not_answered_get_a_message_once(researcher_client: Client, study: Study) -> None:
    waiting = people_make(study, ["fay", "gus"])
    Participation.objects.filter(pk__in=[one.pk for one in waiting]).update(finished_at=None)
    page = text_of(researcher_client.get(url(study, "messages/new/")))
    assert "everyone who has joined and submitted no task 2" in page
    form = {"to": "unanswered", "text": "There are still tasks."}
    assert "Message sent to 2 participants." in text_of(
        researcher_client.post(url(study, "messages/new/"), form, follow=True)
    )
    twice = text_of(researcher_client.post(url(study, "messages/new/"), form, follow=True))
    assert "Message sent to 0 participants. 2 had got the same text a moment ago" in twice
    assert set(Message.objects.values_list("rater__name", "kind")) == {("fay", "reply"), ("gus", "reply")}
    assert AuditEntry.objects.filter(action="review.message").count() == 2
    nobody = researcher_client.post(url(study, "messages/new/"), {"to": "chosen", "text": "x"})
    assert nobody.status_code == 400
    assert (
        researcher_client.post(url(study, "messages/new/"), {"to": "everyone", "text": " "}).status_code
        == 400
    )


def test_a_selection_gets_a_message_and_nobody_else(researcher_client: Client, study: Study) -> None:
    """A form that names somebody of another study, too, sends nothing."""
    other = people_make(make_study(launched=True, items=1), ["eve"])[0]
    form = {"to": "chosen", "text": "Well done.", "rater": [rater(study, "ann"), rater(study, "cam")]}
    forged = form | {"rater": [*form["rater"], other.rater_id]}
    assert researcher_client.post(url(study, "messages/new/"), forged).status_code == 400
    assert not Message.objects.exists()
    sent = text_of(researcher_client.post(url(study, "messages/new/"), form, follow=True))
    assert "Message sent to 2 participants." in sent
    assert set(Message.objects.values_list("rater__name", flat=True)) == {"ann", "cam"}


def test_who_has_begun_and_not_finished_gets_a_message(researcher_client: Client, study: Study) -> None:
    study.participations.filter(rater__name__in=["cam", "dee"]).update(finished_at=None)
    people_make(study, ["gus"])
    form = {"to": "unfinished", "text": "There are still tasks."}
    sent = text_of(researcher_client.post(url(study, "messages/new/"), form, follow=True))
    assert "Message sent to 2 participants." in sent
    assert set(Message.objects.values_list("rater__name", flat=True)) == {"cam", "dee"}


def test_texts_are_kept_as_templates_of_the_workspace(researcher_client: Client, study: Study) -> None:
    form = {"keep": "1", "template_title": "Checks", "text": "Please read the checks."}
    assert "Template “Checks” saved." in text_of(
        researcher_client.post(url(study, "messages/new/"), form, follow=True)
    )
    researcher_client.post(url(study, "messages/new/"), form | {"text": "Read them again."})
    kept = MessageTemplate.objects.get()
    assert "Read them again." in researcher_client.get(url(study)).content.decode(), "the desk offers it, too"
    lab = make_study(by=make_user("eve", staff=True)).workspace
    assert lab is not None
    other = MessageTemplate.objects.create(workspace=lab, title="Theirs", text="secret words")
    assert "secret words" not in researcher_client.get(url(study, "messages/new/")).content.decode()
    for pk in (kept.pk, kept.pk, other.pk):
        researcher_client.post(url(study, "messages/new/"), {"forget": str(pk)})
    assert list(MessageTemplate.objects.all()) == [other]


def test_a_message_goes_through_the_panel_to_whom_it_vouches_for(
    books: ProlificBooks, researcher_client: Client, study: Study, researcher: User
) -> None:
    Study.objects.filter(pk=study.pk).update(panel="prolific", panel_study_ids="p1")
    assert study.workspace is not None
    panel_connect(workspace=study.workspace, panel="prolific", token=TOKEN, by=researcher)
    for name in ("ann", "ben"):
        study.participations.filter(rater__name=name).update(
            recruiter="prolific", recruiter_id=f"pid-{name}", recruiter_verified=name == "ann"
        )
    form = {"to": "everyone", "text": "Thank you.", "through_panel": "on"}
    books.troubles = [("messages", "500")]
    refused = researcher_client.post(url(study, "messages/new/"), form)
    assert "It may have been carried out" in text_of(refused)
    assert not Message.objects.exists()
    sent = text_of(researcher_client.post(url(study, "messages/new/"), form, follow=True))
    assert "Message sent to 4 participants. 1 of them also through the panel." in sent
    assert books.messages == [("p1", ["pid-ann"], "Thank you.")]
    assert list(Message.objects.filter(through_panel=True).values_list("rater__name", flat=True)) == ["ann"]
    assert PanelConnection.objects.count() == 1


def test_a_message_that_is_being_sent_is_not_sent_a_second_time(
    books: ProlificBooks,
    researcher_client: Client,
    study: Study,
    researcher: User,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The panel refuses the second part of a message: who got the first isn't written to again."""
    Study.objects.filter(pk=study.pk).update(panel="prolific", panel_study_ids="p1")
    assert study.workspace is not None
    panel_connect(workspace=study.workspace, panel="prolific", token=TOKEN, by=researcher)
    study.participations.update(recruiter="prolific", recruiter_verified=True)
    for one in study.participations.all():
        study.participations.filter(pk=one.pk).update(recruiter_id=f"pid-{one.pk}")
    monkeypatch.setattr("annotator.services.message_write.AT_ONCE", 2)
    form = {"to": "everyone", "text": "Thank you.", "through_panel": "on"}
    sent = books.answer

    def twice(method: str, path: str, body: Any, token: str) -> Any:
        if "/messages/" in path and len(books.messages) == 1:
            refusal = Refusal(400, "Not possible", "No.")
            refusal.body = refusal.body["error"]  # type: ignore[assignment]
            raise refusal
        return sent(method, path, body, token)

    monkeypatch.setattr(books, "answer", twice)
    refused = text_of(researcher_client.post(url(study, "messages/new/"), form))
    assert "2 people got it before, and won't get it twice." in refused
    assert Message.objects.filter(through_panel=True).count() == 2
    monkeypatch.setattr(books, "answer", sent)
    assert researcher_client.post(url(study, "messages/new/"), form, follow=True).status_code == 200
    told = [person for _, people, _ in books.messages for person in people]
    assert sorted(told) == sorted(study.participations.values_list("recruiter_id", flat=True)), "each once"
