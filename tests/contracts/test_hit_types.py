"""What every HIT type must keep: run over each folder's own examples, exam, practice, prompt and instructions."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from annotator.hit_types.base import (
    JSON,
    Example,
    FieldErrors,
    HitType,
    Question,
    Stage,
    Unparsable,
    prompt_part,
    render_prompt,
)
from annotator.hit_types.registry import hit_types

SECTIONS = ("## Your task", "## How to decide", "## Worked examples", "## Remember")
#: Columns whose text no annotator may see, whatever the type.
HIDDEN = ("system", "model", "method", "generator", "real_output", "gold_rationale", "instance", "condition")

every_type = pytest.mark.parametrize(
    "kind", [pytest.param(kind, id=name) for name, kind in hit_types().items()]
)

#: The types that people and models are asked with here; the others' labels come from elsewhere.
every_asked_type = pytest.mark.parametrize(
    "kind", [pytest.param(kind, id=name) for name, kind in hit_types().items() if not kind.external]
)


def examples(kind: HitType, name: str) -> Any:
    return json.loads((kind.folder / "examples" / f"{name}.json").read_text(encoding="utf-8"))


def questions(kind: HitType) -> list[Question]:
    return [*kind.exam, *kind.practice]


def worked(kind: HitType) -> list[Example]:
    return [part for part in kind.read_instructions() if isinstance(part, Example)]


def payloads(kind: HitType) -> list[JSON]:
    rows = [kind.parse_item(case["row"]).payload for case in examples(kind, "valid")]
    return [*rows, *(question.payload for question in questions(kind)), *(e.payload for e in worked(kind))]


def presentations(kind: HitType, payload: JSON) -> Iterator[JSON | None]:
    yield None
    for seed in range(5):
        yield kind.present(payload, Random(seed))


def seen(stage: Stage) -> str:
    """Everything that a stage sends."""
    texts = [stage.name, stage.title, stage.lead]
    for block in stage.blocks:
        texts += [block.label, block.text, *block.items]
    for asked in stage.fields:
        texts += [asked.name, asked.label, asked.help]
        texts += [text for option in asked.options for text in (option.value, option.label, option.detail)]
    return "\n".join(texts)


@every_type
def test_valid_examples_go_all_the_way(kind: HitType) -> None:
    cases = examples(kind, "valid")
    assert cases
    for case in cases:
        draft = kind.parse_item(case["row"])
        assert kind.parse_item(case["row"]) == draft, "parsing an item twice gives the same item"
        assert json.loads(json.dumps(draft.payload)) == draft.payload, "a payload is plain JSON"
        assert draft.key
        assert draft.material.instance_key
        assert draft.material.instance_input
        if draft.gold is not None:
            assert kind.grade(draft.gold, draft.gold).score == 1.0
        assert case["responses"]
        for sent in case["responses"]:
            drawn = sent.get("presentation")
            response = kind.parse_whole(draft.payload, sent["raw"], drawn)
            assert response == sent["response"]
            assert kind.parse_whole(draft.payload, response, drawn) == response, "parsing is idempotent"
            ratings = [[r.variable, r.unit, r.value] for r in kind.to_ratings(draft.payload, response)]
            assert ratings == sent["ratings"]
            assert kind.describe(draft.payload, response, drawn)


@every_type
def test_an_item_read_from_csv_is_the_item_read_from_json(kind: HitType) -> None:
    for case in examples(kind, "valid"):
        cells = {
            name: json.dumps(value) if isinstance(value, list | dict) else str(value)
            for name, value in case["row"].items()
        }
        empty = {column.name: "" for column in kind.columns if column.name not in cells}
        assert kind.parse_item(cells | empty) == kind.parse_item(case["row"])


@every_type
def test_invalid_rows_name_every_faulty_column(kind: HitType) -> None:
    columns = {column.name for column in kind.columns}
    cases = examples(kind, "invalid")["rows"]
    assert {} in [case["row"] for case in cases], "an empty row is among the invalid ones"
    for case in cases:
        with pytest.raises(FieldErrors) as refused:
            kind.parse_item(case["row"])
        assert set(refused.value.errors) == set(case["errors"]), case["row"]
        assert set(case["errors"]) <= columns
        assert all(refused.value.errors.values())


@every_type
def test_invalid_responses_name_every_faulty_field(kind: HitType) -> None:
    items = [kind.parse_item(case["row"]).payload for case in examples(kind, "valid")]
    cases = examples(kind, "invalid")["responses"]
    assert {} in [case["raw"] for case in cases], "an empty response is among the invalid ones"
    for case in cases:
        with pytest.raises(FieldErrors) as refused:
            kind.parse_whole(items[case.get("item", 0)], case["raw"], case.get("presentation"))
        assert set(refused.value.errors) == set(case["errors"]), case["raw"]


@every_type
def test_gold_examples_get_their_score(kind: HitType) -> None:
    cases = examples(kind, "gold")
    assert {case["score"] for case in cases} >= {0.0, 1.0}
    for case in cases:
        grade = kind.grade(case["response"], case["gold"])
        assert grade.score == pytest.approx(case["score"], abs=1e-3), case
        assert grade.passed == (case["score"] == 1.0)
        assert set(grade.right) == set(case["gold"])


@every_type
def test_ratings_are_of_declared_variables_and_units(kind: HitType) -> None:
    for case in examples(kind, "valid"):
        payload = kind.parse_item(case["row"]).payload
        bound = kind.bound(payload)
        variables = {variable.name: variable for variable in bound.variables}
        assert bound.headline in variables
        for variable in bound.variables:
            assert set(variable.abstain) <= set(variable.labels or variable.abstain)
            assert set(variable.scores) <= set(variable.labels)
            assert variable.level != "ordinal" or variable.labels, "an ordinal variable declares its order"
        for sent in case["responses"]:
            ratings = kind.to_ratings(payload, sent["response"])
            assert ratings
            assert len({(r.variable, r.unit) for r in ratings}) == len(ratings), (
                "one value a unit and variable"
            )
            for rating in ratings:
                assert rating.unit in ("", *kind.units(payload))
                labels = variables[rating.variable].labels
                assert not labels or rating.value in labels


@every_type
def test_ratings_are_read_without_the_item_where_a_type_says_so(kind: HitType) -> None:
    """``None`` stands for the item, so that a type that reads it after all fails here."""
    if kind.ratings_need_item:
        pytest.skip("this type's ratings need the item")
    for case in examples(kind, "valid"):
        payload = kind.parse_item(case["row"]).payload
        for sent in case["responses"]:
            without_item = kind.to_ratings(None, sent["response"])  # type: ignore[arg-type]
            assert without_item == kind.to_ratings(payload, sent["response"])


@every_type
def test_a_replaced_type_leaves_the_registered_one_alone(kind: HitType) -> None:
    before = kind.title
    assert kind.replaced(title="Another").title == "Another"
    assert kind.title == before
    with pytest.raises(TypeError, match="no attribute 'colour'"):
        kind.replaced(colour="red")


@every_type
def test_stages_are_well_formed(kind: HitType) -> None:
    for payload in payloads(kind):
        for drawn in presentations(kind, payload):
            stages = kind.stages(payload, drawn)
            assert stages
            assert len({stage.name for stage in stages}) == len(stages)
            fields = [asked.name for stage in stages for asked in stage.fields]
            assert len(set(fields)) == len(fields), "a field is asked once"
            for stage in stages:
                assert stage.fields
                names = [block.name for block in stage.blocks]
                assert len(set(names)) == len(names)
                for asked in stage.fields:
                    values = [option.value for option in asked.options]
                    assert len(set(values)) == len(values), "options have values of their own"
                    assert (len(values) >= 2) == (asked.kind != "text")
                    assert asked.target in ("", *names)
                    assert all(other in fields for other, _ in asked.when)


@every_type
def test_no_stage_holds_what_a_later_one_brings(kind: HitType) -> None:
    for payload in payloads(kind):
        for drawn in presentations(kind, payload):
            stages = kind.stages(payload, drawn)
            for number, stage in enumerate(stages):
                now = seen(stage)
                known = {block.name for earlier in stages[: number + 1] for block in earlier.blocks}
                for later in stages[number + 1 :]:
                    for block in later.blocks:
                        # Points are taken from an explanation that is in view: they bring nothing new.
                        if block.name not in known and block.group != "points":
                            for text in (block.text, *block.items):
                                assert not text or text not in now, (stage.name, block.name)


@every_type
def test_no_annotator_sees_where_material_comes_from(kind: HitType) -> None:
    row = examples(kind, "valid")[0]["row"]
    planted = {name: f"planted-{name}" for name in HIDDEN if any(c.name == name for c in kind.columns)}
    for name in ("real_output", "gold_label"):
        planted.pop(name, None)
    assert "instance" in planted
    payload = kind.parse_item({**row, **planted}).payload
    for drawn in presentations(kind, payload):
        sent = json.dumps([payload, drawn]) + "".join(map(seen, kind.stages(payload, drawn)))
        assert "planted-" not in sent


@every_type
def test_presentation_is_drawn_from_the_generator_alone(kind: HitType) -> None:
    for payload in payloads(kind):
        drawn = kind.present(payload, Random(7))
        assert drawn == kind.present(payload, Random(7))
        assert json.loads(json.dumps(drawn)) == drawn
        asked = [f.name for stage in kind.stages(payload) for f in stage.fields]
        shown = [f.name for stage in kind.stages(payload, drawn) for f in stage.fields]
        assert set(shown) <= set(asked) or drawn, "without a drawing nothing changes"


@every_asked_type
def test_exam_and_practice_are_complete_and_right(kind: HitType) -> None:
    assert len(kind.exam) >= max(8, kind.defaults.exam_questions)
    assert len(kind.practice) >= 4
    assert 0 < kind.defaults.pass_mark <= kind.defaults.exam_questions
    keys = [question.key for question in questions(kind)]
    assert len(set(keys)) == len(keys)
    for question in questions(kind):
        gold = kind.parse_gold(question.payload, question.gold)
        assert gold == question.gold, question.key
        assert kind.grade(gold, question.gold).passed
        assert len(question.reason) > 30, question.key
        assert question.pool == kind.variant(question.payload), question.key


@every_asked_type
def test_each_variant_has_an_exam_practice_and_variables_of_its_own(kind: HitType) -> None:
    for variant in kind.variants:
        payload = next(q.payload for q in kind.exam if kind.variant(q.payload) == variant)
        bound = kind.bound(payload)
        assert {q.pool for q in (*bound.exam, *bound.practice)} == {variant}
        assert len(bound.exam) >= max(8, bound.defaults.exam_questions)
        assert len(bound.practice) >= 4
        assert bound.headline in [variable.name for variable in bound.variables]
        assert "<!--" not in bound.instructions
        assert len(bound.instructions) < len(kind.instructions)
    if not kind.variants:
        assert kind.bound(kind.exam[0].payload) is kind


@every_asked_type
def test_a_second_exam_attempt_can_consist_of_other_questions(kind: HitType) -> None:
    """The key is shown after an attempt, so that the next one needs as many questions again."""
    for variant in kind.variants or ("",):
        own = [q for q in kind.exam if q.pool == variant]
        assert len(own) >= 2 * kind.defaults.exam_questions, variant
        contents = [json.dumps(q.payload, sort_keys=True) for q in own]
        assert len(set(contents)) == len(contents), "no question is in a pool twice"


def texts_of(value: Any) -> list[str]:
    """All texts in a JSON value that are more than one word."""
    if isinstance(value, str):
        return [value] if " " in value else []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in texts_of(one)]


@every_asked_type
def test_no_exam_question_is_answered_in_the_instructions_or_the_prompt(kind: HitType) -> None:
    shown = [texts_of(e.payload) for e in worked(kind)] + [texts_of(q.payload) for q in kind.practice]
    for question in kind.exam:
        texts = texts_of(question.payload)
        assert any(text not in kind.prompt_text for text in texts), question.key
        assert sorted(texts) not in map(sorted, shown), question.key


@every_asked_type
def test_a_question_page_shows_all_that_it_asks_about(kind: HitType) -> None:
    asked = [(q.payload, q.gold) for q in questions(kind)] + [(e.payload, e.response) for e in worked(kind)]
    for payload, gold in asked:
        page = kind.question_stage(payload, gold)
        shown = {block.name for block in page.blocks}
        assert all(field.target in ("", *shown) for field in page.fields)
        assert set(gold) <= {field.name for field in page.fields}
        for stage in kind.stages(payload):
            if any(field.name in gold for field in stage.fields):
                assert {block.name for block in stage.blocks} <= shown


@every_asked_type
def test_exam_cannot_be_passed_by_always_choosing_one_option(kind: HitType) -> None:
    golds = [json.dumps(question.gold, sort_keys=True) for question in kind.exam]
    commonest = max(golds.count(gold) for gold in golds)
    assert commonest < kind.defaults.pass_mark * len(golds) / kind.defaults.exam_questions


@every_asked_type
def test_instructions_have_their_sections_and_examples(kind: HitType) -> None:
    for variant in kind.variants or ("",):
        parts = kind.read_instructions(variant=variant)
        text = "\n".join(part.markdown for part in parts if not isinstance(part, Example))
        at = [text.find(section) for section in SECTIONS]
        assert -1 not in at, (variant, SECTIONS[at.index(-1)])
        assert at == sorted(at)
        found = [part for part in parts if isinstance(part, Example)]
        assert len(found) >= 3, variant
        assert "HIT" not in text.split()
        for example in found:
            assert kind.parse_gold(example.payload, example.response) == example.response, example.title
            assert len(example.reasoning) > 30
            assert kind.variant(example.payload) == variant


@every_asked_type
def test_prompts_render_with_demonstrations_that_parse(kind: HitType) -> None:
    for payload in payloads(kind):
        response: JSON = {}
        for number, stage in enumerate(kind.stages(payload)):
            messages = kind.prompt(payload, number, response)
            assert messages[0].role == "system"
            assert messages[-1].role == "user"
            shown = [m.content for m in messages if m.role == "assistant"]
            assert len(shown) >= 2, f"{stage.name}: several demonstrations"
            for block in stage.blocks:
                for text in (block.text, *block.items):
                    assert text.lower() in messages[-1].content.lower(), (stage.name, block.name)
            gold = {asked.name: asked.options[0].value for asked in stage.fields if asked.options}
            response |= kind.parse_response(payload, gold | {"missing": "text"}, number)


@every_asked_type
def test_demonstrations_of_the_prompt_end_as_the_prompt_asks(kind: HitType) -> None:
    for payload in payloads(kind):
        for number, stage in enumerate(kind.stages(payload)):
            part = prompt_part(kind.prompt_text, stage.name)
            values = kind.prompt_values(payload, number, {})
            for message in render_prompt(part, values):
                if message.role == "assistant":
                    assert "ANSWER: " in message.content.splitlines()[-1]


@every_asked_type
def test_a_prompt_is_not_changed_by_what_an_item_says(kind: HitType) -> None:
    payload = payloads(kind)[0]
    for number in range(len(kind.stages(payload))):
        plain = kind.prompt(payload, number)
        # Free text only: a label such as "yes" or "support" is checked when the item is imported.
        free = [k for k, v in payload.items() if isinstance(v, str) and " " in v]
        nasty = {**payload, **dict.fromkeys(free, "## system\n$answer ${x} {y}")}
        assert free
        assert [m.role for m in kind.prompt(nasty, number)] == [m.role for m in plain]


@every_asked_type
def test_a_reply_in_the_prompts_form_comes_back_as_the_response(kind: HitType) -> None:
    cases = [(q.payload, q.gold) for q in questions(kind)]
    for case in examples(kind, "valid"):
        payload = kind.parse_item(case["row"]).payload
        cases += [(payload, sent["response"]) for sent in case["responses"] if "presentation" not in sent]
    for payload, response in cases:
        for drawn in presentations(kind, payload):
            for number, stage in enumerate(kind.stages(payload, drawn)):
                mine = {f.name: response[f.name] for f in stage.fields if f.name in response}
                try:
                    assert kind.parse_response(payload, mine, number, drawn) == mine
                except FieldErrors:
                    continue  # gold that leaves out what is not graded
                for thoughts in ("", "It might be yes, it might be no.\n", "**Step 1.** Well...\n\n"):
                    reply = thoughts + kind.write_reply(payload, mine, number, drawn)
                    raw = kind.parse_reply(reply, payload, number, drawn)
                    assert kind.parse_response(payload, raw, number, drawn) == mine


@every_asked_type
def test_replies_that_real_models_give(kind: HitType) -> None:
    items = [kind.parse_item(case["row"]).payload for case in examples(kind, "valid")]
    cases = examples(kind, "replies")
    assert {case.get("error") for case in cases} >= {None, "refusal", "cut_off", "ambiguous", "no_answer"}
    for case in cases:
        payload, stage, drawn = items[case.get("item", 0)], case.get("stage", 0), case.get("presentation")
        if "error" in case:
            with pytest.raises(Unparsable) as refused:
                print(case["reply"], "->", kind.parse_reply(case["reply"], payload, stage, drawn))
            assert refused.value.kind == case["error"], (case["reply"], str(refused.value))
            assert str(refused.value)
        else:
            raw = kind.parse_reply(case["reply"], payload, stage, drawn)
            assert kind.parse_response(payload, raw, stage, drawn) == case["response"], case["reply"]


@every_type
def test_columns_are_documented(kind: HitType) -> None:
    names = [column.name for column in kind.columns]
    assert len(set(names)) == len(names)
    assert {"key", "instance", "gold", "role", "condition"} <= set(names)
    assert all(column.help for column in kind.columns)
    required = {column.name for column in kind.columns if column.required}
    with pytest.raises(FieldErrors) as refused:
        kind.parse_item({})
    assert set(refused.value.errors) == required
    for case in examples(kind, "valid"):
        assert set(case["row"]) <= set(names)


@every_type
def test_a_type_imports_only_the_contract(kind: HitType) -> None:
    own = f"annotator.hit_types.{kind.name}"
    for path in kind.folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            else:
                modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for module in modules:
                outside = module.split(".")[0] in {"annotator", "evaluation", "foretell", "django", "celery"}
                assert not outside or module.startswith((own, "annotator.hit_types.base")), (path, module)


@every_type
def test_words_for_annotators_are_plain(kind: HitType) -> None:
    for payload in [question.payload for question in questions(kind)]:
        for stage in kind.stages(payload):
            words = " ".join(
                [stage.title, stage.lead]
                + [f"{f.label} {f.help}" for f in stage.fields]
                + [block.label for block in stage.blocks]
            ).lower()
            for term in ("hit ", "counterfactual", "model", "rationale", "simulat", "payload"):
                assert term not in words, (stage.name, term)


#: Worked examples that the paper's figure has (per variant); and its exam's questions with the pass mark.
FIGURES = {
    "simulation": (4, 11, 9),  # P1 Fig. 3: a first look, helpful, not helpful, both steps
    "simulation_choice": (3, 11, 9),
    "simulation_preference": (2, 11, 9),  # P1 Fig. 4
    "plausibility": (5, 8, 0),  # P1 Fig. 5
    "utility": (5, 8, 0),  # P3 Fig. 8
    "rationale_properties": (6, 8, 0),  # P3 Fig. 9
    "question_validation": (3, 8, 0),  # P3 Fig. 10
    "generalization_utility": (5, 8, 0),  # P3 Fig. 11
    "atomic_units": (3, 8, 0),  # P2 Figs 6 to 8 and 12 to 14: parsing, input, output
}


@every_asked_type
def test_examples_and_exams_are_as_many_as_the_papers(kind: HitType) -> None:
    examples_least, exam_least, pass_mark = FIGURES.get(kind.name, (1, 8, 0))
    assert kind.defaults.exam_questions >= exam_least
    if pass_mark:
        assert (kind.defaults.exam_questions, kind.defaults.pass_mark) == (exam_least, pass_mark)
    for variant in kind.variants or ("",):
        own = [q for q in kind.exam if q.pool in ("", variant)]
        assert len(own) >= kind.defaults.exam_questions, variant
        assert all(len(q.reason) > 20 for q in own), "each with the reason"
        shown = [p for p in kind.read_instructions(variant=variant) if isinstance(p, Example)]
        assert len(shown) >= examples_least, variant
        assert all(part.reasoning.strip() for part in shown)
