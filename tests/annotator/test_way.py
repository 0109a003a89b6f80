"""Annotators' way over HTTP, for every HIT type that has demo material; and what must never be sent."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from django.test import Client
from lxml import html

from annotator.hit_types.registry import hit_types
from annotator.models import ExamAttempt, Judgment, Qualification, Study
from annotator.services.imports.material_import import material_import
from annotator.services.study import study_close, study_create, study_launch, study_pause, study_update
from tests.bot import Bot
from tests.factories import make_item, make_participation, make_study, make_user

pytestmark = pytest.mark.django_db
DEMO = Path(__file__).resolve().parents[2] / "annotator" / "demo"
TYPES = [name for name in hit_types() if (DEMO / f"{name}.jsonl").is_file()]
ITEMS = 4


def demo_study(name: str, **fields) -> Study:
    study = study_create(
        by=None,
        hit_type=name,
        slug=f"way-{name.replace('_', '-')}",
        title="A study & its way",
        **({"consent_text": "We keep **your answers**.", "completion_code": "C0DE-77"} | fields),
    )
    lines = (DEMO / f"{name}.jsonl").read_bytes().splitlines(keepends=True)[:ITEMS]
    material_import(study=study, file=io.BytesIO(b"".join(lines)), name="demo.jsonl")
    study_launch(study=study)
    study.refresh_from_db()
    return study


@pytest.mark.parametrize("name", TYPES)
def test_a_bot_goes_the_whole_way_and_its_bad_twin_is_refused(name):
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


@pytest.mark.parametrize("name", TYPES)
def test_nothing_that_must_stay_on_the_server_is_ever_sent(name):
    """Gold, exam answers before grading, systems, generators, real outputs: in no response to an annotator."""
    study = demo_study(name, exam_feedback=False)
    secret = "sEcReT-marker-"
    for number, item in enumerate(study.items.all()):
        if item.explanation:
            system = item.explanation.system
            type(system).objects.filter(pk=system.pk).update(name=f"{secret}system-{system.pk}")
        if item.follow_up:
            item.follow_up.outputs.update(text=f"{secret}output")
            type(item.follow_up).objects.filter(pk=item.follow_up.pk).update(
                generator=f"{secret}generator", kind=f"{secret}kind"
            )
        type(item).objects.filter(pk=item.pk).update(
            condition=f"{secret}condition", key=f"{secret}key-{number}"
        )
    bot = Bot(study)
    bot.whole_way(most=ITEMS)
    bot.get("/me/")
    bot.get("/me/data/")
    for path, body in bot.seen:
        assert secret.lower() not in body.lower(), path
        assert '"gold"' not in body, path


@pytest.mark.parametrize("name", TYPES)
def test_a_later_stage_is_in_no_byte_before_its_time(name):
    study = demo_study(name, exam_required=False, practice_required=False, consent_text="")
    kind = hit_types()[name]
    bot = Bot(study)
    checked = 0

    def check(page):
        nonlocal checked
        from annotator.models import Assignment

        pk = int(bot.form(page, action=r"^/task/\d+/$").action.split("/")[2])
        assignment = Assignment.objects.select_related("item").get(pk=pk)
        stages = kind.stages(assignment.item.payload, assignment.presentation)
        shown = {text for block in stages[assignment.stage].blocks for text in (block.text, *block.items)}
        later = {
            text
            for stage in stages[assignment.stage + 1 :]
            for block in stage.blocks
            for text in (block.text, *block.items)
            if len(text) > 25 and text not in shown
        }
        body = " ".join(html.fromstring(page.content).text_content().split())
        for text in later:
            checked += 1
            assert " ".join(text.split()) not in body
            assert json.dumps(text)[1:-1] not in page.content.decode()

    page = bot.join()
    page = bot.instructions(page)
    bot.tasks(page, most=ITEMS, each=check)
    assert checked or all(len(kind.stages(item.payload)) == 1 for item in study.items.all())


def test_without_htmx_a_submit_leads_to_the_next_task():
    study = make_study(items=3, launched=True)
    bot = Bot(study)
    page = bot.instructions(bot.join())
    page = bot.tasks(page, most=3, swap=False)
    assert page.request["PATH_INFO"].endswith("/done/")


def test_a_failed_exam_can_be_tried_again_and_then_the_way_ends():
    study = demo_study("simulation", practice_required=False, consent_text="", exam_attempts=2)
    bot = Bot(study)
    page = bot.exam(bot.instructions(bot.join()), right=False)
    text = page.content.decode()
    assert "Not passed" in text
    assert bot.get(bot.path + "task/").request["PATH_INFO"].endswith("/exam/result/")
    page = bot.exam(bot.get(bot.path + "exam/?again=1"), right=False)
    assert ExamAttempt.objects.count() == 2
    page = bot.get(bot.path + "exam/?again=1")
    assert "Not qualified" in page.content.decode()
    assert not Qualification.objects.exists()


def test_the_exam_page_holds_neither_answers_nor_reasons_before_grading():
    study = demo_study("simulation", practice_required=False, consent_text="", exam_feedback=True)
    bot = Bot(study)
    page = bot.instructions(bot.join())
    body = " ".join(html.fromstring(page.content).text_content().split())
    for question in bot.kind.exam:
        assert " ".join(question.reason.split()) not in body
        assert question.key not in page.content.decode()


def test_a_new_consent_text_is_asked_for_again_and_the_old_one_is_kept():
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


def test_declining_consent_ends_the_way_without_a_trace_of_work():
    study = make_study(items=2, consent_text="Text.", launched=True)
    bot = Bot(study)
    bot.join()
    page = bot.post(bot.path + "consent/", {"decision": "decline"})
    assert "You have left this study" in page.content.decode()
    assert bot.participation.state == "left"


@pytest.mark.parametrize(("stop", "words"), [(study_pause, "paused"), (study_close, "over")])
def test_a_stopped_study_says_so(stop, words):
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
def test_pages_of_a_study_that_is_not_yours_are_not_found(path):
    study = make_study(items=1, launched=True)
    make_participation(study)
    stranger = Client()
    stranger.force_login(make_user())
    assert stranger.get(path.format(slug=study.slug)).status_code == 404
    assert Client().get(path.format(slug=study.slug)).status_code in (302, 404)


@pytest.mark.parametrize("action", ["", "draft/", "undo/", "skip/", "more-time/", "flag/", "ask/"])
def test_anothers_task_is_not_found_by_any_address(action):
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
    assert not tree.xpath("//*[@onerror] | //img[@src='x'] | //a[contains(@href, 'javascript:')]")
    assert not [script for script in tree.iter("script") if "alert" in (script.text or "")]
