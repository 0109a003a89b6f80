"""How sure raters are, asked of every HIT type: the same tasks with one more question in each stage, and nothing else changed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from random import Random
from typing import Any

import pytest

from annotator.hit_types.base import JSON, FieldErrors, HitType, Rating, Stage, answers_in_words
from annotator.hit_types.confidence import (
    CONFIDENCE,
    STEPS,
    Scale,
    answer_of,
    confidence_fields,
    confidence_said,
    confidence_variable,
    is_confidence,
    middle_confidence,
    parse_model_response,
    read_confidence,
    with_confidence,
    without_confidence,
)
from annotator.hit_types.registry import hit_types
from annotator.services.rehearsal.answers import rehearsal_answer
from annotator.web.task_form import option_keys, task_form
from evaluation.runs.structured import stage_schema
from tests.contracts.cases import every_asked_type, payloads, presentations, questions, seen

ASKED = [kind for kind in hit_types().values() if not kind.external]
SCALES: tuple[Scale, ...] = ("steps", "percent")
every_scale = pytest.mark.parametrize("scale", SCALES)
ON = {"steps": "very", "percent": "80"}


def screens(kind: HitType) -> Iterator[tuple[JSON, JSON | None]]:
    """A third of the items with two presentations each, and their control arms."""
    for payload in payloads(kind)[::3]:
        for presentation in islice(presentations(kind, payload), 2):
            yield payload, presentation
        for arm in kind.control_arms:
            if "arm" not in payload and (not kind.control_conditions or payload["explanation"]):
                yield kind.control(payload, arm), None


def answered(stage: Stage, seed: int = 1) -> JSON:
    return rehearsal_answer(stage, gold=None, item_key=f"item {seed}", accuracy=1, rng=Random(seed))


@every_asked_type
@every_scale
def test_each_stage_asks_once_at_its_end_and_shows_nothing_else(kind: HitType, scale: Scale) -> None:
    own = with_confidence(kind, scale)
    for payload, presentation in screens(kind):
        before, after = kind.stages(payload, presentation), own.stages(payload, presentation)
        assert len(before) == len(after) <= kind.most_stages
        for plain, asking in zip(before, after, strict=True):
            *fields, last = asking.fields
            assert tuple(fields) == plain.fields
            assert (asking.name, asking.title, asking.lead, asking.blocks) == (
                plain.name, plain.title, plain.lead, plain.blocks,
            )  # fmt: skip
            assert is_confidence(last.name)
            assert last.required
        assert own.stage_names(payload, presentation) == tuple(stage.name for stage in after)
        names = [stage.fields[-1].name for stage in after]
        assert len(set(names)) == len(names), "a stage keeps its own"
        assert set(names) <= confidence_fields(own, payload)


@every_asked_type
def test_without_the_question_nothing_changes(kind: HitType) -> None:
    assert with_confidence(kind, "") is kind
    for scale in SCALES:
        own = without_confidence(with_confidence(kind, scale))
        for payload, presentation in screens(kind):
            stages = own.stages(payload, presentation)
            assert stages == kind.stages(payload, presentation)
            assert CONFIDENCE not in "\n".join(map(seen, stages))
            assert "sure" not in [field.name for stage in stages for field in stage.fields]
        assert own.variables == kind.variables
        assert (own.headline, own.instructions, own.prompt_text) == (
            kind.headline, kind.instructions, kind.prompt_text,
        )  # fmt: skip


def test_labels_that_were_collected_elsewhere_are_not_asked_about() -> None:
    kind = hit_types()["external_labels"]
    assert with_confidence(kind, "steps") is kind


@every_asked_type
@every_scale
def test_one_key_each(kind: HitType, scale: Scale) -> None:
    own = with_confidence(kind, scale)
    for payload, presentation in screens(kind):
        for stage in own.stages(payload, presentation):
            last = stage.fields[-1]
            keys = [option_keys(stage.fields)[last.name, option.value] for option in last.options]
            assert keys == list("12345" if scale == "steps" else "0123456789H")
            form = task_form(stage, answered(stage))
            assert form.missing == ()
            assert form.loose[-1].field == last
            assert form.loose[-1].question not in [one.question for one in form.asked[:-1]]


@every_asked_type
@every_scale
def test_an_answer_and_its_bad_twin(kind: HitType, scale: Scale) -> None:
    own = with_confidence(kind, scale)
    for payload, presentation in screens(kind):
        whole: JSON = {}
        for number, stage in enumerate(own.stages(payload, presentation)):
            raw = answered(stage)
            name = stage.fields[-1].name
            response = own.parse_response(payload, raw, number, presentation)
            if name in raw:
                for bad in ("", "no such step", "101", "-1", ["very", "slightly"], 7):
                    with pytest.raises(FieldErrors) as refused:
                        own.parse_response(payload, raw | {name: bad}, number, presentation)
                    assert set(refused.value.errors) == {name}
            others = {f"{CONFIDENCE}_elsewhere": "very"}
            assert own.parse_response(payload, raw | others, number, presentation) == response
            whole |= response
        assert own.parse_whole(payload, whole, presentation) == whole
        assert own.describe(payload, whole, presentation)


@every_asked_type
@every_scale
def test_ratings_are_the_same_and_one_more_for_each_stage(kind: HitType, scale: Scale) -> None:
    own = with_confidence(kind, scale)
    assert own.ratings_need_item == kind.ratings_need_item
    for payload, presentation in screens(kind):
        stages = own.stages(payload, presentation)
        whole: JSON = {}
        for number, stage in enumerate(stages):
            whole |= own.parse_response(payload, answered(stage), number, presentation)
        plain = kind.to_ratings(payload, answer_of(own, whole))
        ratings = own.to_ratings(payload, whole)
        assert ratings[: len(plain)] == plain
        labels = confidence_variable(scale).labels
        for rating in ratings[len(plain) :]:
            assert rating.variable == CONFIDENCE
            assert rating.value in labels
            assert rating.unit in ([stage.name for stage in stages] if kind.most_stages > 1 else [""])
        assert len(ratings) - len(plain) == sum(map(is_confidence, whole))
        item = own.for_item(payload)
        assert [one.name for one in item.variables].count(CONFIDENCE) == 1


@every_asked_type
@every_scale
def test_somebody_who_cannot_tell_is_not_asked(kind: HitType, scale: Scale) -> None:
    own = with_confidence(kind, scale)
    abstaining = {label for variable in kind.variables for label in variable.abstain}
    found = 0
    for payload, presentation in screens(kind):
        for number, stage in enumerate(own.stages(payload, presentation)):
            for field in stage.fields[:-1]:
                for option in field.options:
                    raw = answered(stage) | {field.name: option.value}
                    try:
                        response = own.parse_response(
                            payload, raw | {stage.fields[-1].name: ON[scale]}, number
                        )
                    except FieldErrors:
                        continue
                    said = {rating.value for rating in kind.to_ratings(payload, answer_of(own, response))} \
                        if abstaining else set()  # fmt: skip
                    if said & abstaining:
                        found += 1
                        assert not any(map(is_confidence, response))
    assert bool(found) == bool(abstaining)


@every_asked_type
@every_scale
def test_practice_exam_and_gold_do_not_ask(kind: HitType, scale: Scale) -> None:
    own = with_confidence(kind, scale)
    assert (own.exam, own.practice) == (kind.exam, kind.practice)
    for question in questions(kind):
        assert own.question_stage(question.payload, question.gold) == kind.question_stage(
            question.payload, question.gold
        )
        raw = answered(kind.question_stage(question.payload, question.gold))
        given = own.parse_question(question.payload, question.gold, raw)
        assert given == kind.parse_question(question.payload, question.gold, raw)
        assert own.parse_gold(question.payload, question.gold) == kind.parse_gold(
            question.payload, question.gold
        )
        name = own.stages(question.payload)[0].fields[-1].name
        with pytest.raises(FieldErrors, match="not asked here"):
            own.parse_gold(question.payload, question.gold | {name: ON[scale]})


@every_asked_type
@every_scale
def test_imported_responses_may_lack_it(kind: HitType, scale: Scale) -> None:
    own = with_confidence(kind, scale)
    payload = payloads(kind)[0]
    whole: JSON = {}
    for stage in own.stages(payload):
        whole |= answered(stage)
    plain = {name: value for name, value in whole.items() if not is_confidence(name)}
    assert own.parse_whole(payload, plain) == kind.parse_whole(payload, plain)
    for name in set(whole) - set(plain):
        written = {"steps": "Very sure", "percent": "85%"}[scale]
        assert (
            own.parse_whole(payload, plain | {name: written})[name]
            == {"steps": "very", "percent": "85"}[scale]
        )
        assert own.parse_whole(payload, plain | {name: " "}) == kind.parse_whole(payload, plain)
        with pytest.raises(FieldErrors) as refused:
            own.parse_whole(payload, plain | {name: "fairly sure"})
        assert set(refused.value.errors) == {name}
        assert "expected" in str(refused.value)


# -- models -------------------------------------------------------------------------------------------


@every_asked_type
@every_scale
def test_models_are_asked_the_same_and_one_more_line(kind: HitType, scale: Scale) -> None:
    for arms in ([], list(kind.control_arms)):
        armed = kind.with_arms(arms)
        own = with_confidence(armed, scale)
        for payload, presentation in screens(kind):
            if bool(arms) != ("arm" in payload):
                continue
            before: JSON = {}
            for number, stage in enumerate(own.stages(payload, presentation)):
                plain = armed.prompt(payload, number, answer_of(own, before), presentation)
                chat = own.prompt(payload, number, before, presentation)
                assert chat[:-1] == plain[:-1]
                assert chat[-1].content.startswith(plain[-1].content)
                assert "CONFIDENCE:" in chat[-1].content.removeprefix(plain[-1].content)
                before |= own.parse_response(payload, answered(stage), number, presentation)


@every_asked_type
@every_scale
def test_a_reply_is_read_with_and_without_it(kind: HitType, scale: Scale) -> None:
    own = with_confidence(kind, scale)
    for payload, presentation in screens(kind):
        for number, stage in enumerate(own.stages(payload, presentation)):
            response = own.parse_response(payload, answered(stage), number, presentation)
            name = stage.fields[-1].name
            text = own.write_reply(payload, response, number, presentation)
            assert ("CONFIDENCE" in text) == (name in response)
            answer = own.write_reply(payload, answer_of(own, response), number, presentation)
            plain = read(kind, answer, payload, number, presentation)
            said = {name: response[name]} if name in response else {}
            assert read(own, text, payload, number, presentation) == plain | said
            for odd in ("", "\nCONFIDENCE: fairly sure", "\nConfidence: 250%", "\n**Confidence:** n/a"):
                assert read(own, answer + odd, payload, number, presentation) == plain


def read(kind: HitType, text: str, payload: JSON, stage: int, presentation: JSON | None) -> JSON:
    raw = kind.parse_reply(text, payload, stage, presentation)
    return parse_model_response(kind, payload, raw, stage, presentation)


@every_asked_type
@every_scale
def test_the_schema_of_replies_has_it(kind: HitType, scale: Scale) -> None:
    own = with_confidence(kind, scale)
    for payload in payloads(kind):
        for stage in own.stages(payload):
            assert list(stage_schema(stage)["properties"])[-1] == stage.fields[-1].name


@pytest.mark.parametrize(
    ("said", "percent"),
    [
        ("90%", "90"), ("90 %", "90"), ("90", "90"), (90, "90"), ("0.9", "90"), (0.9, "90"), ("1.0", "100"), ("0,85", "85"),
        ("90/100", "90"), ("9/10", "90"), ("9 out of 10", "90"), ("about 90%", "90"), ("~75 percent", "75"), ("87.5%", "88"),
        ("90% sure", "90"), ("**90%**.", "90"), ("0", "0"), ("100", "100"), ("1%", "1"), ("0.5%", "0"), ("٩٠", "90"),
        ("fairly sure", None), ("high", None), ("", None), (None, None), (True, None), ("101", None), ("-5", None),
        ("80-90%", None), ("4/5", None), ("nan", None), ([90], None),
    ],
)  # fmt: skip
def test_odd_spellings_of_percentages(said: Any, percent: str | None) -> None:
    assert read_confidence(said, "percent") == percent


@pytest.mark.parametrize(
    ("said", "step"),
    [
        ("Very sure", "very"), ("VERY SURE.", "very"), ("very", "very"), ("very confident", "very"), ("not_at_all", "not_at_all"),
        ("Not at all sure", "not_at_all"), ("4", "very"), (4, "very"), ("4/5", "very"), ("4 (very sure)", "very"),
        ("5. completely sure", "completely"), ("4 (slightly sure)", None), ("not very sure", None), ("fairly sure", None),
        ("90%", None), ("6", None), ("", None), (None, None), ("sure", None),
    ],
)  # fmt: skip
def test_odd_spellings_of_steps(said: Any, step: str | None) -> None:
    assert read_confidence(said, "steps") == step


@pytest.mark.parametrize(
    ("text", "rest", "said"),
    [
        ("ANSWER: YES\nCONFIDENCE: 90%", "ANSWER: YES\n", "90%"),
        ("**Confidence**: 0.9\nANSWER: YES", "\nANSWER: YES", "0.9"),
        ("ANSWER: YES, confidence: 80", "ANSWER: YES", "80"),
        ("CONFIDENCE: 80 ANSWER: YES", "ANSWER: YES", "80"),
        ("My confidence is high.\nANSWER: NO", "My confidence is high.\nANSWER: NO", ""),
        ("Confidence (0-100): 70\nANSWER: NO", "\nANSWER: NO", "70"),
        ('{"answer": "yes", "confidence": 90}', '{"answer": "yes", "confidence": 90}', "90"),
        ("ANSWER: YES", "ANSWER: YES", ""),
    ],
)
def test_where_a_reply_says_it(text: str, rest: str, said: str) -> None:
    assert confidence_said(text) == (rest, said)


def test_the_scale_of_a_variable() -> None:
    steps, percent = confidence_variable("steps"), confidence_variable("percent")
    assert (steps.level, steps.labels, steps.scores["very"]) == ("ordinal", tuple(STEPS), 0.75)
    assert (percent.level, len(percent.labels), percent.scores["85"]) == ("interval", 101, 0.85)


def test_several_samples_have_the_lower_median_of_those_that_agree() -> None:
    kind = with_confidence(hit_types()["forward_simulation"], "percent")
    samples = [{"prediction": "A", "confidence": one} for one in ("90", "60", "100")]
    samples += [{"prediction": "A"}, {"prediction": "B", "confidence": "10"}]
    assert middle_confidence(kind, {"prediction": "A"}, samples) == {"confidence": "90"}
    assert middle_confidence(kind, {"prediction": "A"}, samples[3:4]) == {}
    assert middle_confidence(hit_types()["forward_simulation"], {"prediction": "A"}, samples) == {}


def test_what_was_said_is_shown_in_words() -> None:
    kind = with_confidence(hit_types()["utility"], "steps")
    payload = payloads(kind)[0]
    [_, line] = answers_in_words(
        kind.stages(payload)[:1], {"before": "yes", "confidence_before": "not_at_all"}
    )
    assert line == ("How sure are you?", "Not at all sure")
    rating = kind.to_ratings(payload, {"before": "yes", "after": "no", "confidence_after": "very"})[-1]
    assert rating == Rating("confidence", "very", "after")
