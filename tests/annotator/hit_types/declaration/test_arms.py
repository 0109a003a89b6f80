"""Control arms of a type from a file: as those of the built-in type that is written in it again, from the screens to the gain."""

from __future__ import annotations

import json
from typing import Any

import pytest

from annotator.hit_types.arms import ARM_TITLES, arm_of
from annotator.hit_types.declaration.document import document_read
from annotator.hit_types.declaration.making import case_of
from annotator.hit_types.declaration.problems import DeclarationRefused
from annotator.hit_types.declaration.reading import hit_type_read
from annotator.hit_types.questions import payload_fault, read_questions
from annotator.hit_types.registry import HIT_TYPES, hit_type_get
from annotator.hit_types.shapes import Defaults, Question
from annotator.hit_types.wording import FileText
from annotator.models import Judgment, Study
from annotator.services.assignment import assignment_next
from annotator.services.declared_checks import declared_checks
from annotator.services.submit_and_next import turn_take
from tests.annotator.hit_types.declaration.files import ARMS_FILE, KINDS_FILE, every_kind, twin
from tests.annotator.services.control_studies import control_study, nobody_saw_two_arms
from tests.evaluation.reports.studies import computed
from tests.factories import make_participation, make_rater, record_judgment, simulation_payload

OWN = hit_type_get("simulation")
ARMS = ("answer_only", "nothing")
PAYLOAD = simulation_payload("A")
RESPONSES = ({"helpful": "no"}, {"helpful": "yes", "answer": "yes"}, {"helpful": "yes", "answer": "no"})


# -- the same as the built-in type ---------------------------------------------------------------------


@pytest.mark.parametrize("arm", ARMS)
def test_an_arm_shows_and_asks_what_the_built_in_one_does(arm: str) -> None:
    control = OWN.control(PAYLOAD, arm)
    assert twin().control(PAYLOAD, arm) == control
    assert twin().stages(control) == OWN.stages(control)
    assert twin().stages(PAYLOAD) == OWN.stages(PAYLOAD)
    assert not payload_fault(twin(), control)
    for response in RESPONSES:
        assert twin().parse_whole(control, response) == response
        assert twin().to_ratings(control, response) == OWN.to_ratings(control, response)
        reply = twin().write_reply(control, response)
        assert twin().parse_response(control, twin().parse_reply(reply, control)) == response


@pytest.mark.parametrize("arm", ARMS)
def test_a_study_with_an_arm_has_its_texts_and_its_prompt(arm: str) -> None:
    ours, theirs = twin().with_arms([arm]), OWN.with_arms([arm])
    assert [vars(one) for one in ours.exam] == [vars(one) for one in theirs.exam]
    assert ours.defaults.exam_questions == theirs.defaults.exam_questions == 14
    assert ours.defaults.pass_mark == theirs.defaults.pass_mark == 12
    assert [one.key for one in ours.practice] == [one.key for one in theirs.practice]
    assert ours.practice[-1].pool == ARM_TITLES[arm]
    assert ours.instructions.startswith(twin().instructions)
    assert "On some pages you see less." in ours.instructions
    assert ours.prompt(PAYLOAD) == twin().prompt(PAYLOAD)
    said = "\n".join(one.content for one in ours.prompt(twin().control(PAYLOAD, arm)))
    assert PAYLOAD["explanation"] not in said
    assert PAYLOAD["follow_up"] in said
    assert ours.prompt(twin().control(PAYLOAD, arm))[-1].role == "user"
    own = [one for one in ours.exam if arm_of(one.payload)]
    assert read_questions(ours, [vars(one) for one in own]) == tuple(own)


def test_an_arm_with_few_exam_questions_adds_no_more_than_it_has() -> None:
    """So that the exam never asks more questions than there are; a type without an exam asks none of its arms' either."""
    exam = [Question("e", {}, {"q": "yes"}, "So.")]
    defaults = Defaults(exam_questions=4, pass_mark=2)
    assert defaults.with_arms([exam, []]) == Defaults(exam_questions=5, pass_mark=3)
    assert defaults.with_arms([exam * 4]) == Defaults(exam_questions=7, pass_mark=5)
    assert Defaults().with_arms([exam]) == Defaults()


def test_without_arms_nothing_changes() -> None:
    assert twin().with_arms([]) is twin()
    assert every_kind().with_arms(ARMS) is every_kind()
    assert not every_kind().control_arms


@pytest.mark.django_db
def test_nobody_sees_two_arms_and_the_gain_is_that_of_the_built_in_type() -> None:
    arms = {"redundancy": 1, "answer_only_raters": 0, "nothing_raters": 1}
    with HIT_TYPES.including(twin()):
        reports = []
        for name in (OWN.name, twin().name):
            study = control_study(
                instances=2, systems=1, follow_ups=1, hit_type=name, slug=f"by-{name}", **arms
            )
            reports.append(gain_of(study))
        assert reports[0] == reports[1]
        assert reports[0]["title"] == "What the explanation adds"
        study = control_study(instances=2, systems=1, follow_ups=1, hit_type=twin().name, **arms)
        for person in [make_participation(study) for _ in range(3)]:
            while (assignment := assignment_next(participation=person)) is not None:
                turn_take(
                    user_id=person.rater.user_id, assignment_pk=assignment.pk, stage=0, raw={"helpful": "no"}
                )
        assert Judgment.objects.filter(study=study).count() == 4
        assert nobody_saw_two_arms(study)


def gain_of(study: Study) -> Any:
    """The section of a report on what the explanation adds: right with it, wrong without it."""
    for item in study.items.order_by("key"):
        right = not arm_of(item.payload)
        response = {"helpful": "yes", "answer": "yes" if right else "no"}
        record_judgment(item, make_rater("with" if right else "without"), response)
    sections = computed(study).content["sections"]
    return next(one for one in sections if one["id"] == "simulatability-gain")


# -- any other file ------------------------------------------------------------------------------------


def with_arms(**arms: Any) -> dict[str, Any]:
    """The file with every kind of question, and these arms."""
    return {**document_read(KINDS_FILE.read_bytes()).value, "arms": arms}


def test_an_arm_of_several_stages_hides_columns_and_drops_questions() -> None:
    kind = hit_type_read(
        json.dumps(with_arms(nothing={"hides": ["talk", "verdict"], "drops": ["tags"], "lead": "Look."}))
    )
    checks = {one.name: one for one in declared_checks(kind)}
    assert all(one.passed for one in checks.values()), checks
    assert checks["No control arm contains what it hides"].detail == "1 arm, 2 screens and as many prompts"
    payload, gold = case_of(kind, kind.declaration["examples"][0])
    control = kind.control(payload, "nothing")
    stages = kind.stages(control)
    assert [stage.name for stage in stages] == ["nothing_before", "nothing_after"]
    assert [stage.lead for stage in stages] == ["Look.", ""]
    shown = {block.name for stage in stages for block in stage.blocks}
    assert not shown & {"talk", "verdict"}
    assert "tags" not in {asked.name for stage in stages for asked in stage.fields}
    own = kind.with_arms(["nothing"])
    assert "Anything else?" in own.prompt(control, 1)[-1].content
    response = {name: value for name, value in gold.items() if name != "tags"}
    variables = {one.variable for one in kind.to_ratings(control, kind.parse_whole(control, response))}
    assert "tags_long" not in variables
    assert "clear" in variables


@pytest.mark.parametrize(
    ("arm", "message"),
    [
        ({"hides": ["verdcit"]}, 'arms.nothing.hides[1] is "verdcit", no column that is shown; expected one of: question, '),
        ({"hides": ["truth"]}, 'arms.nothing.hides[1] is "truth", no column that is shown'),
        ({"hides": ["options"]}, "can't be shown: question which: options_of is \"options\", which is hidden from raters"),
        ({"hides": ["points"]}, 'question present: for_each is "points", which is hidden from raters'),
        ({"hides": ["first"]}, 'arms.nothing.hides can\'t be so: shuffled.columns.0 is "first", which is hidden from raters'),
        ({"hides": ["verdict"], "drops": ["clear"]}, "can't be shown: question unclear: when.clear is no question before this one"),
        ({"hides": ["verdict"], "drops": ["clear", "unclear"]}, "arms.nothing.drops has clear, which the headline is about"),
        ({"hides": ["verdict"], "drops": ["minutes", "sure", "why", "note"]}, "drops leaves no question of stage after"),
        ({"hides": ["verdict"], "questions": {"clear": {"kind": "text", "ask": "Why?"}}}, 'questions.clear.kind is "text"'),
        (
            {"hides": ["verdict"], "questions": {"effort": {"kind": "scale", "ask": "?", "from": 1, "to": 3, "anchors": {"1": "a", "3": "b"}}}},
            "questions.effort.to has another to than the question of the file; only wording can differ",
        ),
        ({"hides": ["verdict"], "show": {"verdict": "A"}}, "show.verdict is no column that this arm shows; expected one of: question, "),
        ({"hides": ["verdict"], "prompt": "## user\n$verdict"}, "arms.nothing.prompt uses $verdict, which has no value"),
        ({"hides": ["verdict"], "exam": [{"key": "e1", "item": {}, "answers": {"clear": "yes"}, "reason": "So."}]}, 'key is "e1", as in exam[1]'),
        ({}, "arms.nothing.hides is missing; expected the columns that it doesn't show"),
    ],
)  # fmt: skip
def test_an_arm_that_can_not_be_is_refused_at_its_place(arm: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationRefused) as error:
        hit_type_read(json.dumps(with_arms(nothing=arm)))
    assert message in str(error.value)


def test_only_the_arms_that_a_study_can_choose_have_names() -> None:
    with pytest.raises(
        DeclarationRefused,
        match=r"arms\.half is not a key of this part; expected one of: answer_only, nothing",
    ):
        hit_type_read(json.dumps(with_arms(half={"hides": ["verdict"]})))


def test_an_arm_has_its_own_words_in_other_languages_too() -> None:
    kind = hit_type_read(ARMS_FILE.read_bytes())
    checks = declared_checks(kind)
    assert all(one.passed for one in checks), checks
    [question] = [one for one in kind.with_arms(["answer_only"]).practice if arm_of(one.payload)]
    assert question.pool == "answer only"
    first, second = kind.stages(question.payload)
    words = (first.lead, first.blocks[1].label, first.fields[0].label)
    assert [one.others["de"] for one in words if isinstance(one, FileText)] == [
        "Hier sehen Sie keine Erklärung.", "Der Roboter sagte", "Sagt er ja?"
    ]  # fmt: skip
    assert [asked.name for asked in second.fields] == ["sure"]
    assert [
        asked.name for asked in kind.stages({**question.payload, "explanation": "So.", "arm": ""})[1].fields
    ] == ["sure", "clear"]
