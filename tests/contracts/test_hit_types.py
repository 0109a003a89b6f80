"""Every HIT type: its items, stages, responses, gold, ratings and columns, run over each folder's own examples."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from random import Random

import pytest

from annotator.hit_types.base import (
    FieldErrors,
    HitType,
)
from tests.contracts.cases import (
    every_type,
    examples,
    payloads,
    presentations,
    seen,
)

#: Columns whose text no annotator may see, whatever the type.
HIDDEN = ("system", "model", "method", "generator", "real_output", "gold_rationale", "instance", "condition")


@every_type
def test_valid_examples_pass_every_step(kind: HitType) -> None:
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
        own = kind.for_item(payload)
        variables = {variable.name: variable for variable in own.variables}
        assert own.headline in variables
        for variable in own.variables:
            assert set(variable.abstain) <= set(variable.labels or variable.abstain)
            assert set(variable.scores) <= set(variable.labels)
            assert variable.level != "ordinal" or variable.labels, "an ordinal variable declares its order"
        for sent in case["responses"]:
            ratings = kind.to_ratings(payload, sent["response"])
            assert ratings
            assert len({(r.variable, r.unit) for r in ratings}) == len(ratings), (
                "one value per unit and variable"
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
def test_the_declared_number_of_stages_is_that_of_the_longest_item(kind: HitType) -> None:
    found = [kind.stages(p, shown) for p in payloads(kind) for shown in presentations(kind, p)]
    assert max(map(len, found)) == kind.most_stages


@every_type
def test_the_names_of_stages_are_those_of_the_stages(kind: HitType) -> None:
    for payload in payloads(kind):
        for drawn in presentations(kind, payload):
            assert kind.stage_names(payload, drawn) == tuple(one.name for one in kind.stages(payload, drawn))


@every_type
def test_no_stage_contains_what_a_later_one_adds(kind: HitType) -> None:
    for payload in payloads(kind):
        for drawn in presentations(kind, payload):
            stages = kind.stages(payload, drawn)
            for number, stage in enumerate(stages):
                now, blocks = seen(stage), seen(replace(stage, fields=()))
                offered = {option.label for field in stage.fields for option in field.options}
                known = {block.name for earlier in stages[: number + 1] for block in earlier.blocks}
                for later in stages[number + 1 :]:
                    for block in later.blocks:
                        # Points repeat parts of an explanation that is shown: they add nothing new.
                        if block.name not in known and block.group != "points":
                            for text in (block.text, *block.items):
                                # An answer such as "Yes" is an option of most questions, and tells nothing there.
                                sent = blocks if block.kind == "answer" and text in offered else now
                                assert not text or text not in sent, (stage.name, block.name)


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
