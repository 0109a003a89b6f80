"""A study that asks how sure raters are: its pages, what is stored, and what agreement makes of it."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.utils.translation import override
from lxml import html

from annotator.core.tables.faults import FileRefused
from annotator.hit_types.confidence import AsksConfidence, is_confidence
from annotator.hit_types.registry import hit_type_get
from annotator.models import Assignment, Item, Judgment, Study
from annotator.selectors.contested import agreement_with_others
from annotator.selectors.study import study_hit_type
from annotator.services.assignment import assignment_next
from annotator.services.draft import draft_save
from annotator.services.exports import judgments_export
from annotator.services.imports.judgments_import import judgments_import
from annotator.services.imports.value_columns import JudgmentColumns, ValueColumn
from annotator.services.judgment_undo import judgment_undo
from annotator.services.rehearsal.fill import rehearsal_raters, rehearse
from annotator.services.study import study_create, study_launch, study_update
from annotator.services.study_copy import study_duplicate
from annotator.services.submit_and_next import turn_take
from tests.annotator.demo_studies import DECLARED, TYPES, demo_study
from tests.bot import Bot
from tests.factories import make_judgment, make_participation, make_rater, make_study, make_user

pytestmark = pytest.mark.django_db
ASKED = [name for name in (*TYPES, *DECLARED) if not hit_type_get(name).external]


@pytest.mark.parametrize(
    ("name", "scale"), [(name, ("steps", "percent")[n % 2]) for n, name in enumerate(ASKED)]
)
def test_a_bot_goes_the_whole_way_and_invalid_input_is_refused(name: str, scale: str) -> None:
    study = demo_study(name, confidence=scale)
    bot = Bot(study)
    bot.whole_way(most=2)
    made = Judgment.objects.filter(study=study, standing="counted", source="web")
    assert made.count() == 2
    for judgment in made.select_related("item", "assignment"):
        assert judgment.assignment is not None
        stages = study_hit_type(study).stages(judgment.item.payload, judgment.assignment.presentation)
        asked = [stage.fields[-1] for stage in stages if not stage.fields[-1].when]
        assert {one.name for one in asked} <= set(judgment.response)
    before = [text for path, text in bot.seen if "/practice/" in path or "/exam/" in path]
    assert before
    assert not any("confidence" in text for text in before), "practice and exam don't ask"


@pytest.mark.parametrize("name", [name for name in ASKED if name not in DECLARED])
def test_a_study_that_does_not_ask_is_what_it_was(name: str) -> None:
    study = demo_study(name, consent_text="", practice_required=False, exam_required=False)
    assert study.snapshot is not None
    assert "confidence" not in study.snapshot.content
    kind, declared = study_hit_type(study), hit_type_get(name)
    assert not isinstance(kind, AsksConfidence)
    for item in study.items.all():
        assert kind.stages(item.payload) == declared.stages(item.payload)
        assert kind.prompt(item.payload) == declared.prompt(item.payload)
    bot = Bot(study)
    text = bot.instructions(bot.join()).content.decode()
    assert "confidence" not in text
    assert "options--scale" not in text


def asking(items: int = 1, **fields: Any) -> Study:
    return make_study(items=items, launched=True, **{"confidence": "steps", "redundancy": 2} | fields)


def test_a_committed_stage_keeps_its_own_and_the_next_is_not_sent_early() -> None:
    study = demo_study(
        "utility", consent_text="", practice_required=False, exam_required=False, confidence="percent"
    )
    bot = Bot(study)
    page = bot.instructions(bot.join())
    text = page.content.decode()
    assert 'name="confidence_before"' in text
    assert "confidence_after" not in text
    form = bot.form(page, action=r"^/task/\d+/$")
    assignment = Assignment.objects.get(pk=form.action.split("/")[2])
    value = study_hit_type(study).stages(assignment.item.payload)[0].fields[0].options[0].value
    sent = {name: held for name, held in form.fields.items() if held is not None}
    first = {"before": value, "confidence_before": "30"}
    page = bot.post(form.action, sent | first | {"confidence_after": "90"}, swap=True)
    assert b'name="confidence_after"' in page.content
    [commit] = assignment.commits.all()
    assert commit.response == first
    again = bot.get(bot.path + "task/")
    assert b'name="confidence_after"' in again.content, "a task that is half done goes on where it was"
    other = bot.post(form.action, sent | first | {"confidence_before": "40"}, swap=True)
    assert other.status_code == 409, "the first answer stays"
    bot.post(form.action, sent | {"stage": "1", "after": value, "confidence_after": "80"}, swap=True)
    whole = Judgment.objects.get(assignment=assignment).response
    assert whole == first | {"after": value, "confidence_after": "80"}


def test_drafts_and_undo_keep_it() -> None:
    study = asking()
    person = make_participation(study)
    task = assignment_next(participation=person)
    assert task is not None
    user = person.rater.user_id
    assert user is not None
    answer = {"helpful": "yes", "answer": "no", "confidence": "slightly"}
    draft_save(user_id=user, assignment_pk=task.pk, stage=0, version=0, draft=answer)
    task.refresh_from_db()
    assert task.draft == answer
    turn_take(user_id=user, assignment_pk=task.pk, stage=0, raw=answer)
    judgment_undo(user_id=user, assignment_pk=task.pk)
    task.refresh_from_db()
    assert task.draft == answer


def test_agreement_is_about_the_answer_alone() -> None:
    study = asking(items=3)
    answers = [("very", "yes"), ("slightly", "yes")]
    people = []
    for sure, label in answers:
        person = make_participation(study)
        people.append(person.rater_id)
        for _ in range(3):
            task = assignment_next(participation=person)
            assert task is not None
            raw = {"helpful": "yes", "answer": label, "confidence": sure}
            turn_take(user_id=person.rater.user_id or 0, assignment_pk=task.pk, stage=0, raw=raw)
    assert Judgment.objects.values("digest").distinct().count() == 1
    assert agreement_with_others(study, people) == dict.fromkeys(people, (3, 3))


@pytest.mark.parametrize(
    ("language", "words"),
    [("de", "Wie sicher sind Sie?"), ("ar", "ما مدى تأكدك؟"), ("en", "How sure are you?")],
)
def test_the_question_is_translated(language: str, words: str) -> None:
    study = asking()
    bot = Bot(study)
    bot.client.cookies["language"] = language
    with override(language):
        page = bot.instructions(bot.join())
    page = bot.client.get(bot.path + "task/", headers={"Accept-Language": language}, follow=True)
    tree = html.fromstring(page.content)
    if tree.get("lang") != language:
        bot.client.post("/language/", {"language": language, "next": bot.path + "task/"})
        tree = html.fromstring(bot.client.get(bot.path + "task/", follow=True).content)
    shown = " ".join(one.text_content().strip() for one in tree.xpath("//legend"))
    assert words in shown


def test_bots_are_surer_where_they_are_right() -> None:
    study = asking(items=60, redundancy=3)
    Item.objects.filter(study=study).update(gold={"helpful": "yes", "answer": "yes"})
    raters = rehearsal_raters(study=study, count=3, accuracy=0.7, spread=0, seed=1)
    rehearse(study=study, raters=raters, seed=1)
    order = list(study_hit_type(study).variables[-1].labels)
    found: dict[bool, list[int]] = {True: [], False: []}
    for response in Judgment.objects.filter(study=study).values_list("response", flat=True):
        assert ("confidence" in response) == ("answer" in response)
        if "answer" in response:
            found[response["answer"] == "yes"].append(order.index(response["confidence"]))
    right, wrong = (sum(one) / len(one) for one in (found[True], found[False]))
    assert right > wrong + 0.4


def exported(study: Study, format: str, form: str) -> str:
    return b"".join(judgments_export(study=study, format=format, form=form)).decode()


def test_exports_and_imports_go_round() -> None:
    study = asking(items=2, confidence="percent")
    person = make_participation(study)
    for sure in ("80", ""):
        task = assignment_next(participation=person)
        assert task is not None
        raw = {"helpful": "yes", "answer": "no", "confidence": sure} if sure else {"helpful": "no"}
        turn_take(user_id=person.rater.user_id or 0, assignment_pk=task.pk, stage=0, raw=raw)
    rows = list(csv.DictReader(io.StringIO(exported(study, "csv", "judgments"))))
    assert [row["response.confidence"] for row in rows] == ["80", ""]
    ratings = list(csv.DictReader(io.StringIO(exported(study, "csv", "ratings"))))
    assert [(row["variable"], row["value"], row["unit"]) for row in ratings] == [
        ("simulation", "no", rows[0]["item"]), ("confidence", "80", rows[0]["item"]), ("simulation", "cannot_guess", rows[1]["item"]),
    ]  # fmt: skip
    copy = study_duplicate(study=study, by=make_user(staff=True), slug="copy", title="Copy", material=True)
    assert copy.confidence == "percent"
    values = tuple(ValueColumn(f"response.{name}", name) for name in ("helpful", "answer", "confidence"))
    columns = JudgmentColumns("item", values, "rater")
    text = exported(study, "csv", "judgments").encode()
    judgments_import(study=copy, file=io.BytesIO(text), name="j.csv", columns=columns)
    assert list(copy.judgments.order_by("item__key").values_list("response", flat=True)) == list(
        study.judgments.order_by("item__key").values_list("response", flat=True)
    )
    lines = [json.loads(line) for line in exported(study, "jsonl", "judgments").splitlines()]
    assert lines[0]["response"]["confidence"] == "80"


def test_imports_without_it_and_with_odd_spellings() -> None:
    study = make_study(items=3, confidence="percent")
    text = b"item,who,says,sure\nitem-0,ann,yes,90%\nitem-1,ann,no,\nitem-2,ann,yes,0.85\n"
    columns = JudgmentColumns(
        "item", (ValueColumn("says", "simulation"), ValueColumn("sure", "confidence")), "who"
    )
    judgments_import(study=study, file=io.BytesIO(text), name="j.csv", columns=columns)
    found = study.judgments.order_by("item__key").values_list("response", flat=True)
    assert [one.get("confidence") for one in found] == ["90", None, "85"]
    plain = JudgmentColumns("item", (ValueColumn("says", "simulation"),), "who")
    judgments_import(
        study=study, file=io.BytesIO(b"item,who,says\nitem-0,bob,yes\n"), name="k.csv", columns=plain
    )
    assert study.judgments.count() == 4
    bad = b"item,who,says,sure\nitem-0,eve,yes,fairly\n"
    with pytest.raises(FileRefused, match=r"l.csv:2: sure: 'fairly': expected a number from 0 to 100"):
        judgments_import(study=study, file=io.BytesIO(bad), name="l.csv", columns=columns)
    assert study.judgments.count() == 4


def test_the_setting_is_fixed_at_the_launch_and_refused_for_labels_from_elsewhere() -> None:
    study = asking()
    assert study.snapshot is not None
    assert study.snapshot.content["confidence"] == "steps"
    with pytest.raises(ValidationError, match="can't be changed after the launch"):
        study_update(study=study, confidence="no")
    with pytest.raises(ValidationError, match="collected elsewhere"):
        study_create(by=None, slug="e", title="E", hit_type="external_labels", confidence="steps")
    draft = make_study(items=1)
    study_update(study=draft, confidence="percent")
    draft.refresh_from_db()
    study_launch(study=draft)
    [stage] = study_hit_type(draft).stages(draft.items.get().payload)
    assert is_confidence(stage.fields[-1].name)


def test_gold_forms_do_not_ask_for_it() -> None:
    researcher = make_user(staff=True, is_superuser=True)
    study = make_study(items=1, confidence="steps", by=researcher)
    client = Client()
    client.force_login(researcher)
    page = client.get(f"/admin/annotator/study/{study.pk}/items/{study.items.get().pk}/change/")
    if page.status_code == 200:
        assert b"gold-confidence" not in page.content


def test_judgments_from_before_the_setting_have_none() -> None:
    study = make_study(items=1)
    make_judgment(study.items.get(), make_rater("ann"))
    study_update(study=study, confidence="steps")
    study.refresh_from_db()
    [rating] = study_hit_type(study).to_ratings({}, study.judgments.get().response)
    assert rating.variable == "simulation"
