"""Questions that are asked only if earlier answers compare in some way: on the server, on pages, in prompts, and refusals."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from django.test import Client
from django.utils.translation import override
from lxml import html

from annotator.hit_types.base import FieldErrors
from annotator.hit_types.declaration.problems import DeclarationRefused
from annotator.hit_types.declaration.reading import hit_type_read
from annotator.models import Judgment, User
from annotator.services.assignment import assignment_next
from annotator.services.declared_checks import declared_checks
from annotator.services.rehearsal.answers import rehearsal_answer
from annotator.web.task_form import task_form
from annotator.web.wording import stage_shown
from tests.annotator.declared import launched
from tests.annotator.hit_types.declaration.files import RULES_FILE, own_rules
from tests.factories import make_participation, make_user

TEXT = RULES_FILE.read_text(encoding="utf-8")
WALK = {"walk": "They met an owl."}
#: Answers to all questions that could be asked.
ALL = {"tired": "no", "long": "5", "shorter": "At the end.", "sang": "yes", "seen": "day"}


def asked(**given: Any) -> set[str]:
    """The questions with conditions that are asked after these answers: those whose answers are kept."""
    raw = {"pleasant": "yes", "length": "3", "birds": ["owl"], **given}
    return set(own_rules().parse_response(WALK, raw | ALL)) - set(raw) - {"birds_other"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, set()),
        ({"length": "12.5"}, {"long", "shorter"}),
        ({"length": "12,6 km"}, {"long", "shorter", "tired"}),
        ({"length": "5"}, {"long", "shorter"}),
        ({"length": "4.9"}, set()),
        ({"length": "20"}, {"tired"}),
        ({"length": "19.99"}, {"long", "shorter", "tired"}),
        ({"length": "19", "pleasant": "no"}, {"tired"}),
        ({"length": "5", "pleasant": "partly"}, {"long", "shorter"}),
        ({"birds": ["owl", "wren"]}, {"sang"}),
        ({"birds": ["jay"]}, {"sang", "seen"}),
        ({"birds": ["none"]}, {"seen"}),
    ],
)
def test_answers_to_questions_that_are_not_asked_are_dropped(given: Any, expected: set[str]) -> None:
    assert asked(**given) == expected


def test_questions_that_are_asked_must_be_answered() -> None:
    raw = {"pleasant": "yes", "length": "15", "birds": ["wren"]}
    with pytest.raises(FieldErrors) as error:
        own_rules().parse_response(WALK, raw)
    assert set(error.value.errors) == {"tired", "long", "sang", "seen"}
    kept = own_rules().parse_response(WALK, raw | ALL | {"long": "3"})
    assert "shorter" not in kept, "the scale compares with its numbers"


def test_conditions_whose_answers_are_known_are_lists_that_pages_follow_without_scripts() -> None:
    fields = {one.name: one for one in own_rules().stages(WALK)[0].fields}
    assert fields["shorter"].when == (("long", ("4", "5")),)
    assert fields["sang"].when == (("birds", ("jay", "wren")),)
    assert fields["long"].when == (("pleasant", ("yes", "partly")),)
    assert [one.sign for one in fields["long"].compares] == ["at_least", "less_than"]
    form = task_form(own_rules().stages(WALK)[0], {"pleasant": "yes", "length": "15", "birds": ["owl"]})
    assert set(form.missing) == {"tired", "long"}
    bound = {one.field.name: one for one in form.asked}
    assert bound["sang"].needs
    assert json.loads(bound["tired"].compared) == [["length", "more_than", ["12.5"], "km"]]
    assert bound["tired"].question not in {bound["length"].question, bound["birds"].question}


def test_prompts_say_when_and_replies_leave_out_what_is_not_asked() -> None:
    kind = own_rules()
    values = kind.prompt_values(WALK, 0, {})
    assert (
        "Were they tired? (Only if “How long was it?” is more than 12.5 km.) (YES, NO or NONE)"
        in values["questions"]
    )
    assert (
        "SHORTER: Where could it be shorter? (Only if “Was it too long?” is at least 4.)"
        in values["questions"]
    )
    assert (
        "Why was no owl seen? (Only if “Which birds were seen?” doesn't include Owl.)" in values["questions"]
    )
    for number in range(40):
        raw = rehearsal_answer(
            kind.stages(WALK)[0], gold=None, item_key=str(number), accuracy=0.6, rng=Random(number)
        )
        response = kind.parse_response(WALK, raw)
        reply = kind.write_reply(WALK, response)
        assert kind.parse_response(WALK, kind.parse_reply(reply, WALK)) == response


def test_a_file_that_compares_passes_its_checks() -> None:
    assert [one for one in declared_checks(own_rules()) if not one.passed] == []


def test_conditions_are_translated() -> None:
    with override("de"):
        fields = {one.name: one for one in stage_shown(own_rules().stages(WALK)[0]).fields}
        assert fields["tired"].only_if == "„How long was it?“ ist mehr als 12.5 km"


@pytest.mark.parametrize(
    ("old", "new", "place", "said"),
    [
        ("{more_than: 12.5}", "{above: 12.5}", "tired.when.length.above", "is not a key of this part; expected one of: not, at_least"),
        ("{more_than: 12.5}", "{more_than: long}", "tired.when.length.more_than", 'is "long"; expected a number'),
        ("{more_than: 12.5}", "{more_than: 30}", "tired.when.length.more_than", "is 30, and length is at most 30: it can never hold"),
        ("{more_than: 12.5}", "{at_most: 0.5}", "tired.when.length.at_most", "is 0.5, and length is at least 1: it can never hold"),
        ("{more_than: 12.5}", "{not: 12}", "tired.when.length.not", "which is of kind number; expected at_least, more_than, at_most or less_than"),
        ("{more_than: 12.5}", "12", "tired.when.length", "a question of kind number is compared with at_least"),
        ("{more_than: 12.5}", "{}", "tired.when.length", "has 0 entries; expected at least 1"),
        ("{length: {more_than: 12.5}}", "{lenght: {more_than: 12.5}}", "tired.when.lenght", "is no question before this one"),
        ("{length: {more_than: 12.5}}", "{seen: luck}", "tired.when.seen", "is no question before this one"),
        ("pleasant: {not: no}", "pleasant: {not: maybe}", "long.when.pleasant.not", "no answer of pleasant; expected one of: yes, partly, no"),
        ("pleasant: {not: no}", "pleasant: {not: [yes, no, partly]}", "long.when.pleasant", "can never hold"),
        ("pleasant: {not: no}", "pleasant: {at_least: 2}", "long.when.pleasant.at_least", "which is of kind choice; expected not"),
        ("long: {at_least: 4}", "long: {more_than: 4, less_than: 5}", "shorter.when.long", "can never hold; long has the answers 1, 2, 3, 4, 5"),
        ("contains: [jay, wren]", "contains: [jay, hawk]", "sang.when.birds.contains", 'is "hawk", no answer of birds; expected one of: owl, jay, wren, none, other'),
        ("birds: {lacks: owl}", "birds: owl", "seen.when.birds", "a question of kind several is compared with contains or lacks"),
        ("birds: {lacks: owl}", "shorter: {not: x}", "seen.when.shorter", "can't be a condition; expected a question that is asked once"),
    ],
)  # fmt: skip
def test_wrong_conditions_are_refused_at_their_place(old: str, new: str, place: str, said: str) -> None:
    assert old in TEXT
    with pytest.raises(DeclarationRefused) as error:
        hit_type_read(TEXT.replace(old, new, 1))
    found = [str(one) for one in error.value.problems]
    assert any(f"stages.walk.questions.{place} " in one and said in one for one in found), found


@pytest.mark.django_db
def test_without_a_script_the_page_says_when_and_the_server_decides(researcher: User) -> None:
    participation = make_participation(launched(researcher, TEXT, [WALK], slug="walks"), make_user("ann"))
    assignment = assignment_next(participation=participation)
    assert assignment is not None
    assert participation.rater.user is not None
    client = Client()
    client.force_login(participation.rater.user)
    page = html.fromstring(client.get("/study/walks/task/", follow=True).content)
    (tired,) = page.xpath("//fieldset[@id='a-tired']")
    assert "Only if “How long was it?” is more than 12.5 km." in tired.text_content()
    assert not tired.xpath(".//input[@required]")
    (sang,) = page.xpath("//fieldset[@id='a-sang']")
    assert sang.get("data-needs")
    assert "Only if" not in sang.text_content(), "CSS folds it"
    path = f"/task/{assignment.pk}/"
    sent = {
        "stage": "0",
        "pleasant": "no",
        "length": "14",
        "birds": ["owl", "other"],
        "birds_other": "A hawk",
    }
    refused = client.post(path, sent)
    assert refused.status_code == 422
    assert html.fromstring(refused.content).xpath("//fieldset[@data-refused]/@id") == ["a-tired"]
    assert client.post(path, sent | ALL).status_code == 302
    assert Judgment.objects.get().response == {
        "pleasant": "no", "length": "14", "birds": ["owl", "other"], "birds_other": "A hawk", "tired": "no",
    }  # fmt: skip
