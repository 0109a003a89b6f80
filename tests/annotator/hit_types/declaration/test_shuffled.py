"""Options and questions in an order of their own for each rater: drawn on the server, kept, shown, and asked of models."""

from __future__ import annotations

import csv
import io
import json
from random import Random
from typing import Any

import pytest
from django.test import Client
from lxml import html

from annotator.hit_types.base import FieldErrors
from annotator.hit_types.declaration.problems import DeclarationRefused
from annotator.hit_types.declaration.questionnaire import questionnaires_read
from annotator.hit_types.declaration.reading import hit_type_read
from annotator.models import Assignment, Judgment, User
from annotator.selectors.study import study_hit_type
from annotator.services.assignment import assignment_next
from annotator.services.exports import judgments_export
from annotator.services.rehearsal.answers import rehearsal_answer
from annotator.web.task_form import task_form
from tests.annotator.declared import launched
from tests.annotator.hit_types.declaration.files import RULES_FILE, own_rules
from tests.factories import make_participation, make_user

TEXT = RULES_FILE.read_text(encoding="utf-8")
WALK = {"walk": "They met an owl."}
DRAWN: dict[str, Any] = {
    "options": {
        "birds": ["wren", "owl", "jay"],
        "seen": ["song", "luck", "day"],
        "place": ["weather", "path", "trees"],
        "rubric": ["why", "who", "when"],
    },
    "questions": {
        "walk": ["place", "pleasant", "length", "tired", "long", "shorter", "rubric", "birds", "sang", "seen"]
    },
}


def test_each_rater_has_an_order_and_the_same_seed_the_same_one() -> None:
    kind = own_rules()
    drawn = [kind.present(WALK, Random(seed)) for seed in range(200)]
    assert drawn[7] == kind.present(WALK, Random(7))
    assert len({str(one["options"]["birds"]) for one in drawn}) == 6
    assert len({str(one["options"]["seen"]) for one in drawn}) == 6
    orders = [one["questions"]["walk"] for one in drawn]
    assert len({str(order) for order in orders}) == 24, "four groups of questions"
    for order in orders:
        assert sorted(order) == sorted(kind.questions)
        at = order.index("pleasant")
        assert order[at : at + 5] == ["pleasant", "length", "tired", "long", "shorter"], "they stay together"


def test_the_order_drawn_is_shown_and_keys_follow_it() -> None:
    (stage,) = own_rules().stages(WALK, DRAWN)
    fields = {one.name: one for one in stage.fields}
    assert [option.value for option in fields["birds"].options] == ["wren", "owl", "jay", "other", "none"]
    assert [option.value for option in fields["seen"].options] == ["song", "luck", "day", "other"]
    assert [name for name in fields if name.startswith("place")] == [
        "place_weather",
        "place_path",
        "place_trees",
    ]
    assert [one.row for one in stage.fields if one.row] == [
        "Why they walked",
        "Who walked",
        "When they walked",
    ]
    assert [option.value for option in fields["long"].options] == ["1", "2", "3", "4", "5"], (
        "a scale keeps its order"
    )
    names = list(fields)
    assert names[:3] == ["place_weather", "place_path", "place_trees"]
    assert names[3:5] == ["pleasant", "length"]
    assert own_rules().fields_asked(WALK, 0, DRAWN) == stage.fields
    birds = next(one for one in task_form(stage).asked if one.field.name == "birds")
    assert [(one.key, one.option.value) for one in birds.choices][:2] == [("1", "wren"), ("2", "owl")]
    (plain,) = own_rules().stages(WALK)
    assert [option.value for option in plain.fields[2].options] == ["owl", "jay", "wren", "other", "none"]


def test_answers_are_stored_and_graded_alike_in_every_order() -> None:
    raw = {
        "pleasant": "yes", "length": "3", "birds": ["wren", "jay"], "sang": "no", "seen": "day", "place_path": "1",
        "place_trees": "2", "place_weather": "3", "rubric_who": "yes", "rubric_when": "no", "rubric_why": "no",
    }  # fmt: skip
    gold = own_rules().parse_gold(WALK, {"birds": ["jay", "wren"]})
    for drawn in (None, DRAWN, *(own_rules().present(WALK, Random(seed)) for seed in range(10))):
        response = own_rules().parse_response(WALK, raw, 0, drawn)
        assert response["birds"] == ["jay", "wren"], "in the order of the file"
        assert own_rules().grade(response, gold).passed
        assert len(own_rules().to_ratings(WALK, response)) == len(own_rules().to_ratings(WALK, raw))


def test_models_are_asked_in_the_order_that_was_drawn() -> None:
    kind = own_rules()
    asked = kind.prompt_values(WALK, 0, {}, DRAWN)["questions"]
    places = [
        asked.index(words)
        for words in ("Place: The weather", "Was it pleasant?", "Why they walked", "Wren", "Owl")
    ]
    assert places == sorted(places)
    (stage,) = kind.stages(WALK, DRAWN)
    for number in range(20):
        raw = rehearsal_answer(stage, gold=None, item_key=str(number), accuracy=0.7, rng=Random(number))
        response = kind.parse_response(WALK, raw, 0, DRAWN)
        reply = kind.write_reply(WALK, response, 0, DRAWN)
        assert kind.parse_response(WALK, kind.parse_reply(reply, WALK, 0, DRAWN), 0, DRAWN) == response


@pytest.mark.parametrize(
    ("drawn", "said"),
    [
        ({"options": {"birds": ["owl", "jay"]}}, "options: does not list the options of birds once each"),
        ({"options": {"pleasant": ["yes"]}}, "options: does not list the options of pleasant"),
        ({"questions": {"walk": ["pleasant"]}}, "questions: does not list the questions of walk once each"),
    ],
)
def test_what_is_no_order_of_its_parts_is_refused(drawn: Any, said: str) -> None:
    with pytest.raises(FieldErrors, match=said):
        own_rules().stages(WALK, drawn)


def test_a_file_that_shuffles_nothing_draws_nothing() -> None:
    kind = hit_type_read(TEXT.replace("shuffled: true", "shuffled: false"))
    assert kind.present(WALK, Random(1)) == {}


@pytest.mark.parametrize(
    ("old", "new", "place", "said"),
    [
        ("        to: 5\n", "        to: 5\n        shuffled: true\n", "stages.walk.questions.long.shuffled", "is not a key of this part"),
        ("    shuffled: true\n    questions:", "    shuffled: maybe\n    questions:", "stages.walk.shuffled", "expected true or false"),
        ("        options: {yes: \"Yes\", partly: Partly, no: \"No\"}\n", "        options_of: kinds\n        shuffled: true\n",
         "stages.walk.questions.pleasant.shuffled", "can't be given with options_of"),
        ("instructions: |", "variables: {seen: {title: Seen, level: ordinal}}\ninstructions: |", "variables.seen.level",
         "a scale keeps its order, so remove one of the two"),
    ],
)  # fmt: skip
def test_what_cannot_be_shuffled_is_refused_at_its_place(old: str, new: str, place: str, said: str) -> None:
    assert old in TEXT
    with pytest.raises(DeclarationRefused) as error:
        hit_type_read(TEXT.replace(old, new, 1))
    found = [str(one) for one in error.value.problems]
    assert any(f": {place} " in one and said in one for one in found), found


def test_a_stage_needs_questions_that_do_not_depend_on_each_other() -> None:
    chain = TEXT[: TEXT.index("      length:")] + (
        "      why: {kind: text, ask: Why?, when: {pleasant: no}}\ninstructions: Judge.\n"
    )
    with pytest.raises(
        DeclarationRefused, match=r"stages\.walk\.shuffled is true; expected two questions or more"
    ):
        hit_type_read(chain)


def test_questionnaires_are_not_shuffled() -> None:
    with pytest.raises(DeclarationRefused, match=r"a\.shuffled is not a key of this part"):
        questionnaires_read(
            "foretell_questionnaire: 1\nname: m\ntitle: M\nsource: U\nlicence: C\nquestions:\n"
            "  a: {kind: choice, ask: A?, options: {x: X, y: Y}, shuffled: true}\n"
        )


@pytest.mark.django_db
def test_the_order_is_kept_with_the_judgment_and_exported(researcher: User) -> None:
    study = launched(researcher, TEXT, [WALK], slug="walks", redundancy=2)
    participation = make_participation(study, make_user("ann"))
    assignment = assignment_next(participation=participation)
    assert assignment is not None
    assert participation.rater.user is not None
    drawn = Assignment.objects.get(pk=assignment.pk).presentation
    assert set(drawn) == {"options", "questions"}
    client = Client()
    client.force_login(participation.rater.user)
    page = html.fromstring(client.get("/study/walks/task/", follow=True).content)
    shown = [one.removeprefix("a-") for one in page.xpath("//fieldset[@data-asked]/@id")]
    assert [name for name in shown if name in drawn["questions"]["walk"]] == [
        name for name in drawn["questions"]["walk"] if name not in ("place", "rubric")
    ]
    assert page.xpath("//input[@name='birds']/@value") == [*drawn["options"]["birds"], "other", "none"]
    keys = page.xpath("//input[@name='birds']/@data-key")
    assert keys == ["1", "2", "3", "4", "5"]
    (stage,) = study_hit_type(study).stages(WALK, drawn)
    raw = rehearsal_answer(stage, gold=None, item_key="a", accuracy=1, rng=Random(1))
    assert client.post(f"/task/{assignment.pk}/", {"stage": "0"} | raw).status_code == 302
    assert Judgment.objects.get().assignment_id == assignment.pk
    rows = list(
        csv.DictReader(
            io.StringIO(b"".join(judgments_export(study=study, format="csv", form="judgments")).decode())
        )
    )
    assert json.loads(rows[0]["presentation"]) == drawn
