"""The exam of a study in the admin: written, checked, previewed as an annotator sees it, and its figures."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotator.hit_types.registry import hit_type_get, hit_types
from annotator.models import (
    Exam,
    ExamAttempt,
    Judgment,
    Membership,
    Qualification,
    Review,
    Study,
    User,
    WorkspaceMember,
)
from annotator.selectors.participation import earnings_of
from annotator.selectors.study import study_hit_type
from annotator.services.api_tokens import api_token_make
from annotator.services.assignment import assignment_next
from annotator.services.exam import exam_start, exam_submit
from annotator.services.submit_and_next import turn_take
from tests.annotator.services.own_exams import NO, YES, own, sit
from tests.factories import make_participation, make_rater, make_study, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(researcher: User) -> Study:
    return make_study(items=2, by=researcher, exam_required=True, exam_questions=3, pass_mark=2, slug="mine")


def at(study: Study) -> str:
    return reverse("admin:study_exam", args=[study.pk])


def text_of(reply: Any) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", reply.content.decode())).split())


def test_the_exam_starts_as_the_types_own(researcher_client: Client, study: Study) -> None:
    reply = researcher_client.get(at(study))
    assert reply.status_code == 200
    assert "3 of 26 questions (from the HIT type), 2 correct to pass" in text_of(reply)
    assert hit_type_get("simulation").exam[0].key in reply.content.decode()


def test_the_list_shows_what_is_asked_and_the_correct_answer(researcher_client: Client, study: Study) -> None:
    [exam, _] = researcher_client.get(at(study)).context["editors"]
    question, shown, right = exam["rows"][0]
    assert any(question.payload["question"] in words for _, words in shown)
    assert right == study_hit_type(study).describe(question.payload, question.gold)
    page = unescape(researcher_client.get(at(study)).content.decode())
    assert question.payload["question"] in page
    assert right[0][1] in page


def test_own_questions_are_saved_previewed_and_removed(researcher_client: Client, study: Study) -> None:
    reply = researcher_client.post(
        at(study), {"which": "exam", "questions": json.dumps(own(3)), "save": "1"}, follow=True
    )
    assert "Saved 3 questions." in text_of(reply)
    assert "3 of 3 questions (this study's own)" in text_of(reply)
    study.refresh_from_db()
    assert [one["key"] for one in study.exam_own] == ["mine-0", "mine-1", "mine-2"]
    preview = researcher_client.get(reverse("annotator:preview_questions", args=[study.pk, "exam"]))
    assert own()[1]["payload"]["follow_up"] in text_of(preview)
    assert own()[1]["reason"] not in text_of(preview), "as annotators see it: no reason before the answer"
    researcher_client.post(at(study), {"which": "exam", "reset": "1"})
    study.refresh_from_db()
    assert study.exam_own is None


@pytest.mark.parametrize("which", ["exam", "practice"])
def test_a_preview_is_labelled_and_links_back(researcher_client: Client, study: Study, which: str) -> None:
    where = reverse("annotator:preview_questions", args=[study.pk, which])
    page = researcher_client.get(where).content.decode()
    assert "Preview, nothing is saved:" in page
    assert f'href="{at(study)}"' in page
    if which == "exam":
        sent = {f"q{number}-helpful": "no" for number in range(1, 4)} | {"handed-in": "1"}
        result = researcher_client.post(where, sent).content.decode()
        assert "<strong>Preview.</strong> Nothing is saved." in result
        assert f'href="{at(study)}"' in result


def test_errors_are_listed_and_nothing_is_saved(researcher_client: Client, study: Study) -> None:
    questions = own(3)
    questions[2]["gold"] = {"helpful": "perhaps"}
    questions[1].pop("reason")
    reply = researcher_client.post(
        at(study), {"which": "exam", "questions": json.dumps(questions), "save": "1"}
    )
    assert reply.status_code == 400
    assert "question 3 (mine-2), gold.helpful: choose one of: no, yes" in text_of(reply)
    assert "question 2 (mine-1), reason: is missing" in text_of(reply)
    assert "&quot;perhaps&quot;" in reply.content.decode(), "the text is still there to be corrected"
    study.refresh_from_db()
    assert study.exam_own is None
    broken = researcher_client.post(at(study), {"which": "exam", "questions": "[{", "save": "1"})
    assert broken.status_code == 400
    assert "line 1, column 3" in text_of(broken)
    assert researcher_client.post(at(study), {"which": "title", "questions": "x"}).status_code == 400


def test_markup_in_questions_is_shown_as_text(researcher_client: Client, study: Study) -> None:
    nasty = "</textarea><script>alert(1)</script>"
    questions = own(3)
    questions[0]["payload"]["question"] = questions[0]["reason"] = nasty
    researcher_client.post(at(study), {"which": "exam", "questions": json.dumps(questions), "save": "1"})
    for address in (at(study), reverse("annotator:preview_questions", args=[study.pk, "exam"])):
        assert "<script>alert" not in researcher_client.get(address).content.decode()


def test_an_unsaved_exam_can_be_previewed_and_taken(researcher_client: Client, study: Study) -> None:
    """The researcher answers, is told what was missed and why, and nothing is stored."""
    where = reverse("annotator:preview_questions", args=[study.pk, "exam"])
    sent = {"questions": json.dumps(own(3))}
    page = researcher_client.post(where, sent)
    assert page.status_code == 200
    assert "Exam: 3 questions" in text_of(page)
    assert researcher_client.post(where, sent | {"handed-in": "1"}).status_code == 422
    answers = {f"q{n}-{name}": value for n in (1, 2, 3) for name, value in (YES if n > 1 else NO).items()}
    result = text_of(researcher_client.post(where, sent | {"handed-in": "1"} | answers))
    assert "2 of 3 correct" in result
    assert "Because " in result
    faulty = researcher_client.post(where, {"questions": '[{"key": "a"}]'})
    assert faulty.status_code == 400
    assert "question 1 (a), gold" not in text_of(faulty), "the first fault stands before what follows from it"
    assert "question 1 (a), payload" in text_of(faulty)
    assert not ExamAttempt.objects.exists()
    study.refresh_from_db()
    assert study.exam_own is None


def test_own_practice_is_previewed_one_question_at_a_time_with_reasons(
    researcher_client: Client, study: Study
) -> None:
    researcher_client.post(at(study), {"which": "practice", "questions": json.dumps(own(2)), "save": "1"})
    study.refresh_from_db()
    assert len(study.practice_own) == 2
    where = reverse("annotator:preview_questions", args=[study.pk, "practice"])
    assert "Practice 1 of 2" in text_of(researcher_client.get(where))
    answered = researcher_client.post(where, {"number": "0", "answering": "1"} | NO)
    assert "Not quite" in text_of(answered)
    assert "Because 0." in text_of(answered)
    assert "Practice 2 of 2" in text_of(researcher_client.post(where, {"number": "0", "go": "on"}))
    assert researcher_client.post(where, {"number": "0", "answering": "1"}).status_code == 422


@pytest.mark.parametrize("name", [name for name, kind in hit_types().items() if not kind.external])
def test_the_exam_and_practice_of_every_type_are_previewed(
    researcher_client: Client, researcher: User, name: str
) -> None:
    study = make_study(by=researcher, hit_type=name, slug="any")
    for which in ("exam", "practice"):
        reply = researcher_client.get(reverse("annotator:preview_questions", args=[study.pk, which]))
        assert reply.status_code == 200
        assert "data-task" in reply.content.decode()
    assert researcher_client.get(at(study)).status_code == 200


def test_a_live_study_gets_a_new_version_with_its_own_practice(
    researcher_client: Client, researcher: User
) -> None:
    study = make_study(
        items=1,
        by=researcher,
        exam_required=True,
        exam_questions=2,
        pass_mark=1,
        launched=True,
        practice_required=True,
    )
    before = study.snapshot
    for which in ("exam", "practice"):
        reply = researcher_client.post(
            at(study), {"which": which, "questions": json.dumps(own(2)), "save": "1"}, follow=True
        )
        assert "this is version" in text_of(reply)
    study.refresh_from_db()
    assert before
    assert study.snapshot
    assert study.snapshot.number == before.number + 2
    assert study.snapshot.content["exam"] != before.content["exam"]
    assert [one["key"] for one in study.snapshot.content["practice"]] == ["mine-0", "mine-1"]
    assert [one["key"] for one in before.content["practice"]] != ["mine-0", "mine-1"]


@pytest.mark.parametrize("role", ["viewer", "reviewer"])
def test_only_editors_can_change_exams_and_others_get_404(study: Study, role: str) -> None:
    client = Client()
    mate = make_user(staff=True)
    client.force_login(mate)
    preview = reverse("annotator:preview_questions", args=[study.pk, "exam"])
    assert client.get(at(study)).status_code == client.get(preview).status_code == 404
    Membership.objects.create(study=study, user=mate, role=role)
    shown = client.get(at(study))
    assert shown.status_code == client.get(preview).status_code == 200
    assert "<textarea" not in shown.content.decode()
    assert client.post(at(study), {"which": "exam", "questions": json.dumps(own(3))}).status_code == 404
    annotator = Client()
    annotator.force_login(make_user())
    assert annotator.get(at(study)).status_code == annotator.get(preview).status_code == 302


def test_the_page_shows_the_exams_statistics(researcher_client: Client, study: Study) -> None:
    researcher_client.post(at(study), {"which": "exam", "questions": json.dumps(own(3)), "save": "1"})
    from annotator.services.study import study_launch

    study.refresh_from_db()
    study_launch(study=study)
    study.refresh_from_db()
    assert "nobody has answered it yet" in text_of(researcher_client.get(at(study)))
    for row in [(1, 1, 1), (1, 1, 0), (1, 0, 0)]:
        person = make_participation(study)
        attempt = exam_start(participation=person)
        exam_submit(attempt=attempt, answers={f"mine-{n}": YES if one else NO for n, one in enumerate(row)})
    text = text_of(researcher_client.get(at(study)))
    assert "first attempts of 3 people" in text
    assert "everyone was right" in text
    assert re.search(r"mine-1 3 2 0\.67 0\.\d\d", text), text
    assert "Not defined: nobody who passed the exam has judged anything yet." in text
    assert "nan" not in text


def test_rules_of_the_exam_are_set_in_the_settings(researcher_client: Client, study: Study) -> None:
    address = reverse("admin:annotator_study_change", args=[study.pk])
    form = researcher_client.get(address)
    for name in (
        "practice_required", "exam_required", "exam_questions", "pass_mark", "exam_attempts", "exam_wait_minutes",
        "exam_feedback", "exam_pay", "requires",
    ):  # fmt: skip
        assert f'name="{name}"' in form.content.decode(), name
    data = settings_of(form) | {"exam_pay": "2.50", "requires": ["utility"], "exam_wait_minutes": "30"}
    assert researcher_client.post(address, data).status_code == 302
    study.refresh_from_db()
    assert (str(study.exam_pay), study.requires, study.exam_wait_minutes) == ("2.50", ["utility"], 30)
    wrong = researcher_client.post(address, data | {"instructions_text": "```example\n{}\n```"})
    assert wrong.status_code == 400
    assert "the example needs" in text_of(wrong)


def settings_of(form: Any) -> dict[str, Any]:
    """What the browser would send from the settings as they stand."""
    from lxml import html

    tree = html.fromstring(form.content)
    (settings,) = [one for one in tree.forms if "title" in one.fields]
    fields = dict(settings.fields)
    return {name: value for name, value in fields.items() if value is not None and name != "requires"}


def test_exam_questions_can_be_set_over_the_api(study: Study, researcher: User) -> None:
    key = api_token_make(user=researcher)
    client = Client(headers={"Authorization": f"Token {key}"})
    where = "/api/v1/studies/mine/"
    reply = client.patch(where, {"exam_own": own(3), "exam_pay": "1.00"}, content_type="application/json")
    assert reply.status_code == 200, reply.content
    assert [one["key"] for one in reply.json()["exam_own"]] == ["mine-0", "mine-1", "mine-2"]
    bad = client.patch(where, {"exam_own": [{"key": "x"}]}, content_type="application/json")
    assert bad.status_code == 400
    assert any("question 1 (x), payload" in fault for fault in bad.json()["errors"]["exam_own"])


# -- qualifications and acceptance ---------------------------------------------------------------------


@pytest.fixture
def live(researcher: User) -> Study:
    return make_study(
        items=2,
        by=researcher,
        exam_required=True,
        exam_own=own(2),
        exam_questions=2,
        pass_mark=1,
        launched=True,
    )


def test_a_qualification_is_granted_in_the_admin_and_revoked_with_a_reason(
    researcher_client: Client, researcher: User, live: Study
) -> None:
    person = make_participation(live)
    stranger = make_rater("of another study")
    add = reverse("admin:annotator_qualification_add")
    assert researcher_client.get(add).status_code == 200
    fields = {"workspace": live.workspace_id, "name": person.rater.name, "hit_type": "simulation"}
    outside = researcher_client.post(add, fields | {"name": stranger.name, "why": "x"})
    assert outside.status_code == 200
    assert "No participant in this workspace" in text_of(outside)
    without = researcher_client.post(add, fields | {"why": ""})
    assert "This field is required" in text_of(without)
    assert not Qualification.objects.exists()
    asked = researcher_client.post(add, fields | {"why": "a colleague"})
    assert f"Grant this qualification to {person.rater.name}?" in text_of(asked)
    assert not Qualification.objects.exists(), "not before it is confirmed"
    made = researcher_client.post(add, fields | {"why": "a colleague", "sure": "1"})
    assert made.status_code == 302
    granted = Qualification.objects.get()
    assert (granted.granted_by, granted.reason) == (researcher, "a colleague")
    assert assignment_next(participation=person)

    address = reverse("admin:annotator_qualification_changelist")
    action = {"action": "revoke", "_selected_action": [granted.pk]}
    asked = researcher_client.post(address, action)
    assert "Reason" in text_of(asked)
    granted.refresh_from_db()
    assert granted.revoked_at is None, "not without a reason"
    researcher_client.post(address, action | {"why": "guessing", "sure": "1"})
    granted.refresh_from_db()
    assert granted.revoked_at is not None
    assert [(e.kind, e.by, e.reason) for e in granted.events.all()] == [
        ("granted", researcher, "a colleague"), ("revoked", researcher, "guessing")
    ]  # fmt: skip
    shown = researcher_client.get(reverse("admin:annotator_qualification_change", args=[granted.pk]))
    assert "guessing" in text_of(shown)
    assert "a colleague" in text_of(shown)


def test_a_viewer_can_neither_grant_nor_revoke_a_qualification(live: Study) -> None:
    mate = make_user(staff=True)
    WorkspaceMember.objects.create(workspace=live.workspace, user=mate, role="viewer")
    person = make_participation(live)
    sit(person, right=2)
    client = Client()
    client.force_login(mate)
    granting = {
        "workspace": live.workspace_id,
        "name": person.rater.name,
        "hit_type": "utility",
        "why": "x",
        "sure": "1",
    }
    assert client.post(reverse("admin:annotator_qualification_add"), granting).status_code == 200
    chosen = {
        "action": "revoke",
        "_selected_action": [Qualification.objects.get().pk],
        "why": "x",
        "sure": "1",
    }
    client.post(reverse("admin:annotator_qualification_changelist"), chosen)
    assert Qualification.objects.get().revoked_at is None


def test_people_see_that_their_work_was_accepted(
    researcher_client: Client, researcher: User, live: Study
) -> None:
    person = make_participation(live)
    sit(person, right=2)
    for _ in range(2):
        task = assignment_next(participation=person)
        assert task
        turn_take(user_id=person.rater.user_id, assignment_pk=task.pk, stage=0, raw=YES)
    [account] = earnings_of(rater_id=person.rater_id)
    assert (account.done, account.accepted, account.waiting) == (2, 0, 2)
    first = Judgment.objects.order_by("id")[0]
    address = reverse("admin:annotator_judgment_changelist")
    for _ in range(2):
        researcher_client.post(address, {"action": "accept", "_selected_action": [first.pk]})
    assert Review.objects.get().by == researcher
    [account] = earnings_of(rater_id=person.rater_id)
    assert (account.accepted, account.waiting) == (1, 1)
    own_page = Client()
    own_page.force_login(person.rater.user)
    text = text_of(own_page.get("/me/"))
    assert "accepted 1" in text
    assert "awaiting review 1" in text
    mate = make_user(staff=True)
    Membership.objects.create(study=live, user=mate, role="viewer")
    client = Client()
    client.force_login(mate)
    client.post(address, {"action": "accept", "_selected_action": [j.pk for j in Judgment.objects.all()]})
    assert Review.objects.count() == 1, "a viewer accepts nothing"


def test_own_questions_are_visible_to_the_labs_researchers_only(
    researcher_client: Client, live: Study
) -> None:
    """Another researcher with a study of the same type sees the type's own exam, and none of these."""
    sit(make_participation(live), right=1)
    address = reverse("admin:annotator_examquestion_changelist")
    mine = text_of(researcher_client.get(address))
    assert "mine-0" in mine
    other = make_user(staff=True)
    make_study(items=1, by=other, exam_required=True, launched=True)
    client = Client()
    client.force_login(other)
    theirs = client.get(address)
    assert hit_type_get("simulation").exam[0].key in text_of(theirs)
    assert "mine-0" not in text_of(theirs)
    question = live.snapshot.content["exam"] if live.snapshot else 0
    pk = Exam.objects.get(pk=question).questions.get(key="mine-0").pk
    found = client.get(reverse("admin:annotator_examquestion_change", args=[pk]), follow=True)
    assert "Because 0." not in text_of(found)
