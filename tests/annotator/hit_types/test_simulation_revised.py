"""Simulation with an initial guess: its second stage is the screen of a simulation, and its first one knows nothing of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from lxml import html

from annotator.hit_types.base import AnsweredTwice, Question
from annotator.hit_types.confidence import with_confidence
from annotator.hit_types.registry import hit_type_get, hit_types
from annotator.models import Assignment, Judgment
from annotator.services.rehearsal.fill import rehearsal_raters, rehearse
from annotator.services.study import study_create
from tests.annotator.demo_studies import demo_study
from tests.bot import Bot, practice_stages
from tests.factories import EASY, make_item

KIND = hit_type_get("simulation_revised")
PAYLOAD = {
    "question": "Do crabs have six legs?",
    "explanation": "Whatever lives in a shell has six legs.",
    "answer": "yes",
    "follow_up": "Do lobsters have six legs?",
}
GUESS = {"guessable": "yes", "guess": "no"}
ANSWER = {"helpful": "yes", "answer": "yes"}


def test_the_second_stage_is_the_screen_of_a_simulation_with_a_lead_of_its_own() -> None:
    [simulation] = hit_type_get("simulation").stages(PAYLOAD)
    before, after = KIND.stages(PAYLOAD)
    assert replace(after, lead="") == simulation
    assert "first guess" in after.lead
    assert [block.text for block in before.blocks] == ["Do lobsters have six legs?"]


def test_the_first_stage_is_the_screen_without_any_material_of_a_simulation() -> None:
    kind = hit_type_get("simulation")
    [nothing] = kind.stages(kind.control(PAYLOAD, "nothing"))
    before = KIND.stages(PAYLOAD)[0]
    assert (before.blocks, before.lead) == (nothing.blocks, nothing.lead)
    for own, other in zip(before.fields, nothing.fields, strict=True):
        assert (own.label, own.options, own.help) == (other.label, other.options, other.help)


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (GUESS | ANSWER, {"before": "no", "simulation": "yes"}),
        ({"guessable": "no"} | ANSWER, {"before": "cannot_guess", "simulation": "yes"}),
        (GUESS | {"helpful": "no"}, {"before": "no", "simulation": "cannot_guess"}),
        (GUESS, {"before": "no"}),
        (ANSWER, {"simulation": "yes"}),
    ],
)
def test_a_stage_that_was_not_asked_has_no_rating(response: dict[str, str], expected: dict[str, str]) -> None:
    assert {one.variable: one.value for one in KIND.to_ratings(PAYLOAD, response)} == expected


@pytest.mark.parametrize(
    ("before", "said"),
    [(GUESS, "No"), ({"guessable": "yes", "guess": "yes"}, "Yes"), ({"guessable": "no"}, "Cannot guess"), ({}, "not given")],
)  # fmt: skip
def test_a_model_is_told_its_own_guess_at_the_second_stage_and_nothing_at_the_first(
    before: dict[str, str], said: str
) -> None:
    first = "\n".join(message.content for message in KIND.prompt(PAYLOAD, 0))
    assert PAYLOAD["follow_up"] in first
    assert not [name for name in ("question", "explanation") if PAYLOAD[name] in first]
    last = KIND.prompt(PAYLOAD, 1, before)[-1].content
    assert last.endswith(f"Your first guess: {said}")
    with pytest.raises(KeyError):
        KIND.prompt(PAYLOAD, 0, text="# before\n## user\n$explanation\n# simulation\n## user\n$follow_up")


def test_types_say_which_answers_are_given_before_and_after() -> None:
    assert KIND.answered_twice() == AnsweredTwice("before", "simulation", "real_output")
    assert with_confidence(KIND, "steps").answered_twice() == KIND.answered_twice()
    found = {name: one for name, kind in hit_types().items() if (one := kind.answered_twice())}
    assert found == {
        "utility": AnsweredTwice(),
        "generalization_utility": AnsweredTwice(),
        "simulation_revised": KIND.answered_twice(),
    }


# -- on pages ---------------------------------------------------------------------------------------


def sent(bot: Bot, page: Any) -> dict[str, Any]:
    return {name: value for name, value in bot.form(page, action=r"^/task/\d+/$").fields.items() if value}


@pytest.mark.django_db
def test_nothing_of_the_second_stage_is_sent_before_the_guess_is_committed() -> None:
    bot = Bot(demo_study("simulation_revised", **EASY))
    page = bot.instructions(bot.join())
    assignment = Assignment.objects.select_related("item").get()
    item = assignment.item
    secret = [item.payload["question"], item.payload["explanation"]]
    labels = ["Starter question", "The robot answered", "explanation and answer directly help"]
    whole = page.content.decode() + "".join(map(str, page.headers.items()))
    seen = " ".join(html.fromstring(page.content).text_content().split())
    assert item.payload["follow_up"] in seen
    assert not [text for text in (*secret, *labels) if text in whole or text in seen]

    action, first = bot.form(page, action=r"^/task/\d+/$").action, sent(bot, page)
    refused = bot.post(action, first | {"guessable": "yes"}, swap=True)
    assert refused.status_code == 422
    ahead = bot.post(action, first | {"stage": "1"} | ANSWER, swap=True)
    assert ahead.status_code == 409
    for response in (refused, ahead):
        assert not [text for text in secret if text in response.content.decode()]
    assert not Judgment.objects.exists()

    page = bot.post(action, first | GUESS)
    seen = " ".join(html.fromstring(page.content).text_content().split())
    assert all(text in seen for text in (*secret, *labels[:2]))
    # The guess can't be changed any more: it is shown, and another one is refused.
    again = bot.post(action, first | {"guessable": "yes", "guess": "yes"}, swap=True)
    assert again.status_code == 409
    bot.post(action, sent(bot, page) | ANSWER | {"guessable": "yes", "guess": "yes"})
    assert Judgment.objects.get().response == GUESS | ANSWER


def graded(question: Question) -> list[str]:
    return [stage.name for stage in practice_stages(KIND, question)]


@pytest.mark.django_db
def test_practice_asks_for_a_guess_alone_and_then_for_both() -> None:
    assert [graded(one) for one in KIND.practice[:2]] == [["before"], ["before", "simulation"]]
    bot = Bot(demo_study("simulation_revised", **(EASY | {"practice_required": True})))
    page = bot.practice(bot.instructions(bot.join()))
    assert page.request["PATH_INFO"].endswith("/task/")
    first, explained = KIND.practice[0].payload, KIND.practice[1].payload
    bodies = [body for _, body in bot.seen]
    assert not [body for body in bodies if first["explanation"] in body], (
        "an answer that the question has no use for"
    )
    assert [body for body in bodies if explained["explanation"] in body]


@pytest.mark.django_db
def test_a_small_study_can_be_rehearsed() -> None:
    study = study_create(
        by=None, hit_type="simulation_revised", slug="guesses", title="Guesses", redundancy=2
    )
    for number in range(3):
        make_item(
            study, key=f"i{number}", payload=PAYLOAD | {"question": f"Is {number} odd?"}, gold=GUESS | ANSWER
        )
    raters = rehearsal_raters(study=study, count=4, accuracy=1, spread=0, seed=1)
    assert rehearse(study=study, raters=raters, seed=1) == 6
    made = Judgment.objects.filter(study=study, source="rehearsal")
    assert [one.response for one in made] == [GUESS | ANSWER] * 6
    assert study.one_condition_per_instance
