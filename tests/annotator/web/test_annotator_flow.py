"""Annotators' steps over HTTP, for every HIT type with demo material; ``test_leaks`` checks what is never sent."""

from __future__ import annotations

import json

import pytest
from django.test import Client
from lxml import html

from annotator.models import ExamAttempt, Judgment, Qualification, Study
from annotator.services.participation import practice_answer
from annotator.services.study import study_close, study_launch, study_pause, study_update
from tests.annotator.demo_studies import DECLARED, ITEMS, TYPES, demo_study
from tests.bot import Bot
from tests.factories import make_item, make_participation, make_study, make_user

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("name", [*TYPES, *DECLARED])
def test_a_bot_completes_a_study_and_invalid_input_is_refused(name):
    study = demo_study(name)
    bot = Bot(study)
    page = bot.whole_way(most=ITEMS)
    assert page.request["PATH_INFO"].endswith("/done/")
    assert "C0DE-77" in page.content.decode()
    assert Judgment.objects.filter(study=study, standing="counted", source="web").count() == ITEMS
    own = bot.get("/me/").content.decode()
    assert "A study &amp; its way" in own
    bot.get("/me/data/")
    assert sum(json.loads(line)["kind"] == "answer" for line in bot.seen[-1][1].splitlines()) == ITEMS


def test_without_htmx_a_submit_redirects_to_the_next_task():
    study = make_study(items=3, launched=True)
    bot = Bot(study)
    page = bot.instructions(bot.join())
    page = bot.tasks(page, most=3, swap=False)
    assert page.request["PATH_INFO"].endswith("/done/")


def test_a_failed_exam_can_be_retried_until_no_attempts_are_left():
    study = demo_study("simulation", practice_required=False, consent_text="", exam_attempts=2)
    bot = Bot(study)
    page = bot.exam(bot.instructions(bot.join()), right=False)
    text = page.content.decode()
    assert "Not passed" in text
    assert bot.get(bot.path + "task/").request["PATH_INFO"].endswith("/exam/result/")
    page = bot.exam(bot.get(bot.path + "exam/?again=1"), right=False)
    assert ExamAttempt.objects.count() == 2
    page = bot.get(bot.path + "exam/?again=1")
    assert "qualify for this study" in page.content.decode()
    assert not Qualification.objects.exists()


def test_the_exam_page_has_neither_answers_nor_reasons_before_grading():
    study = demo_study("simulation", practice_required=False, consent_text="", exam_feedback=True)
    bot = Bot(study)
    page = bot.instructions(bot.join())
    tree = html.fromstring(page.content)
    body = " ".join(tree.text_content().split())
    attributes = "\n".join(map(str, tree.xpath("//@*")))  # a key may be a word of its question's text
    for question in bot.kind.exam:
        assert " ".join(question.reason.split()) not in body
        assert question.key not in attributes


def test_a_new_consent_text_needs_agreement_and_the_old_one_is_kept():
    study = make_study(items=2, consent_text="First text.", launched=True)
    bot = Bot(study)
    page = bot.instructions(bot.consent(bot.join()))
    assert b'action="/task/' in page.content
    study_update(study=study, consent_text="Second text.")
    page = bot.get(bot.path + "task/")
    assert page.request["PATH_INFO"].endswith("/consent/")
    assert "Second text." in page.content.decode()
    bot.consent(page)
    texts = bot.participation.consents.values_list("text", flat=True)
    assert sorted(texts) == ["First text.", "Second text."]


def test_declining_consent_ends_participation_without_any_work():
    study = make_study(items=2, consent_text="Text.", launched=True)
    bot = Bot(study)
    bot.join()
    page = bot.post(bot.path + "consent/", {"decision": "decline", "sure": "yes"})
    assert "You're not taking part" in page.content.decode()
    assert bot.participation.state == "left"


@pytest.mark.parametrize(("stop", "words"), [(study_pause, "paused"), (study_close, "closed")])
def test_a_stopped_study_shows_its_state(stop, words):
    study = make_study(items=2, launched=True)
    bot = Bot(study)
    page = bot.instructions(bot.join())
    page = bot.tasks(page, most=1)
    stop(study=study)
    page = bot.tasks(page, most=1)
    assert words in bot.get(bot.path + "task/").content.decode()
    newcomer = Bot(study)
    assert words in newcomer.post(f"/join/{study.join_token}/", {}).content.decode() or newcomer.join()


@pytest.mark.parametrize(
    "path",
    ["/study/{slug}/", "/study/{slug}/consent/", "/study/{slug}/instructions/", "/study/{slug}/practice/",
     "/study/{slug}/exam/", "/study/{slug}/exam/result/", "/study/{slug}/task/", "/study/{slug}/done/"],
)  # fmt: skip
def test_pages_of_a_study_are_not_found_by_people_outside_it(path):
    study = make_study(items=1, launched=True)
    make_participation(study)
    stranger = Client()
    stranger.force_login(make_user())
    assert stranger.get(path.format(slug=study.slug)).status_code == 404
    assert Client().get(path.format(slug=study.slug)).status_code in (302, 404)


@pytest.mark.parametrize("action", ["", "draft/", "undo/", "skip/", "more-time/", "flag/", "ask/"])
def test_another_persons_task_is_not_found_at_any_address(action):
    from annotator.services.assignment import assignment_next

    study = make_study(items=2, launched=True)
    task = assignment_next(participation=make_participation(study))
    stranger = Client()
    stranger.force_login(make_participation(study).rater.user)
    data = {"helpful": "no", "stage": "0", "reason": "x", "text": "x"}
    assert stranger.post(f"/task/{task.pk}/{action}", data).status_code == 404
    assert not Judgment.objects.exists()


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "![x](javascript:alert(1))",
        "</script><b>x</b>",
        "<svg onload=alert(1)><a xlink:href='javascript:alert(1)'>x</a></svg>",
        "![x](http://203.0.113.9/pixel.png)",
        "{{ study.title }}{% csrf_token %}",
    ],
)
def test_hostile_items_are_shown_as_text(text):
    study = make_study()
    payload = {"question": f"Q {text}", "explanation": f"E {text}", "answer": "yes", "follow_up": f"F {text}"}
    make_item(study, payload=payload)
    study_launch(study=study)
    bot = Bot(Study.objects.get(pk=study.pk))
    page = bot.instructions(bot.join())
    tree = html.fromstring(page.content)
    assert text in tree.text_content()
    assert not tree.xpath("//*[@onload] | //img[contains(@src, '203.0.113.9')]")
    assert not tree.xpath("//*[@onerror] | //img[@src='x'] | //a[contains(@href, 'javascript:')]")
    assert not [script for script in tree.iter("script") if "alert" in (script.text or "")]


def test_participants_from_prolific_return_with_the_code_at_the_end():
    study = make_study(items=1, completion_code="C0DE 7&8", launched=True)
    bot = Bot(study)
    page = bot.instructions(bot.join())
    assert "app.prolific.com" not in page.content.decode()
    person = bot.participation
    type(person).objects.filter(pk=person.pk).update(recruiter="prolific", recruiter_id="p1")
    assert "app.prolific.com" not in bot.get(bot.path + "done/").content.decode(), (
        "not before the last answer"
    )
    page = bot.tasks(bot.get(bot.path), most=1)
    [link] = html.fromstring(page.content).xpath("//a[contains(@href, 'prolific')]/@href")
    assert link == "https://app.prolific.com/submissions/complete?cc=C0DE+7%268"
    other = Bot(study)
    study_update(study=study, redundancy=4)
    page = other.tasks(other.instructions(other.join()), most=1)
    assert "C0DE 7&amp;8" in page.content.decode()
    assert "app.prolific.com" not in page.content.decode()


def test_a_new_consent_text_interrupts_the_work():
    """An answer on a page from before the change is kept, and taken once the second text is agreed to."""
    study = make_study(items=3, consent_text="First text.", launched=True)
    bot = Bot(study)
    page = bot.instructions(bot.consent(bot.join()))
    study_update(study=study, consent_text="Second text.")
    form = bot.form(page, action=r"^/task/\d+/$")
    sent = {name: value for name, value in form.fields.items() if value is not None} | {"helpful": "no"}
    redirect = bot.post(form.action, sent, swap=True)
    assert not Judgment.objects.exists()
    page = bot.get(redirect.headers["HX-Redirect"])
    assert page.request["PATH_INFO"].endswith("/consent/")
    assert "Second text." in page.content.decode()
    assert bot.participation.assignments.get().draft == {"helpful": "no"}
    page = bot.consent(page)
    assert bot.form(page, action=r"^/task/\d+/$").fields["helpful"] == "no"
    page = bot.tasks(page, most=3)
    assert Judgment.objects.filter(study=study, source="web").count() == 3


@pytest.mark.parametrize("before", ["First **text**.", ""])
def test_a_changed_consent_text_says_why_it_is_asked_again(before):
    study = make_study(items=3, consent_text=before, launched=True)
    bot = Bot(study)
    page = bot.join()
    if before:
        assert "has changed" not in page.content.decode()
        page = bot.consent(page)
    page = bot.tasks(bot.instructions(page), most=1)
    study_update(study=study, consent_text="Second text.")
    for kept in (False, True):
        if kept:  # an answer that is submitted now waits for the consent
            form = bot.form(page, action=r"^/task/\d+/$")
            answer = {"stage": "0", "helpful": "yes", "answer": "no"}
            bot.post(form.action, answer)
        asked = bot.get(bot.path).content.decode()
        assert ("The consent text has changed" in asked) == bool(before)
        assert ("This study now has a consent text" in asked) == (not before)
        assert ("First <strong>text</strong>." in asked) == bool(before)
        assert ("Your answer is saved, but not submitted" in asked) == kept
        assert "Second text." in asked
    asked = bot.post(bot.path + "consent/", {"decision": "decline"}).content.decode()
    assert "What you submitted is kept and counts." in asked


@pytest.mark.parametrize("step", ["consent", "instructions"])
def test_no_task_is_given_out_or_accepted_before_consent_and_instructions(step):
    study = make_study(items=2, consent_text="Text.", launched=True)
    bot = Bot(study)
    page = bot.join()
    if step == "instructions":
        bot.consent(page)
    for path in ("task/", "practice/", "exam/"):
        assert bot.get(bot.path + path).request["PATH_INFO"].endswith(f"/{step}/")
    assert bot.post("/task/1/", {"stage": "0", "helpful": "no"}).status_code == 404
    assert not bot.participation.assignments.exists()


def test_an_invalid_practice_number_causes_no_server_error():
    study = demo_study("simulation")
    bot = Bot(study)
    bot.instructions(bot.consent(bot.join()))
    practice_answer(participation=study.participations.get(), number=0)
    reply = bot.post(f"/study/{study.slug}/practice/", {"go": "on", "number": "first"})
    assert reply.status_code == 200
    assert study.participations.get().practice_done == 1


def test_copies_of_requests_that_arrive_after_an_undo_change_nothing(client: Client) -> None:
    """What a browser sent twice because no reply came, read from the pages' own forms."""
    person = make_participation(make_study(items=2, launched=True, undo_seconds=600))
    client.force_login(person.rater.user)
    tasks = f"/study/{person.study.slug}/task/"
    swap = {"HTTP_HX_REQUEST": "true"}

    def fields(text: bytes, form: str) -> dict[str, str]:
        (found,) = html.fromstring(text).xpath(form)
        return {"action": found.get("action")} | {
            one.get("name"): one.get("value", "") for one in found.xpath(".//input[@type='hidden']")
        }

    task = fields(client.get(tasks).content, "//form[@data-task]")
    answer = task | {"helpful": "yes", "answer": "yes"}
    saved = client.post(task["action"], answer, **swap)
    undo = fields(saved.content, "//form[@id='undo']")
    again = fields(client.post(undo["action"], undo, **swap).content, "//form[@data-task]")
    assert client.post(task["action"], answer, **swap).status_code == 409
    assert not Judgment.objects.exists()
    assert client.post(again["action"], again | {"helpful": "no"}, **swap).status_code == 200
    assert "no answer to undo" in client.post(undo["action"], undo, **swap).content.decode()
    assert Judgment.objects.get().response == {"helpful": "no"}
