from __future__ import annotations

import io
import json
from typing import Any

import pytest

from annotator.core.tables.faults import FileRefused
from annotator.models import Dataset, Explanation, FollowUp, Instance, Item, Output, Study, System, User
from annotator.services.imports.material_import import ImportResult, material_import
from annotator.services.study import study_create
from tests.annotator.services.imports.material_rows import ROW, jsonl

pytestmark = pytest.mark.django_db


def counts() -> list[int]:
    nouns = (Dataset, Instance, System, Explanation, FollowUp, Output, Item)
    return [noun.objects.count() for noun in nouns]


def refused(study: Study, file: io.BytesIO, name: str = "m.jsonl", **options: Any) -> list[str]:
    before = counts()
    with pytest.raises(FileRefused) as caught:
        material_import(study=study, file=file, name=name, **options)
    assert counts() == before, "an import that is refused must leave nothing behind"
    return [str(fault) for fault in caught.value.faults]


def test_a_row_becomes_an_item_with_its_material(study: Study) -> None:
    second = ROW | {"follow_up": "Can ducks swim?", "key": "owl-2", "real_output": "no"}
    result = material_import(study=study, file=jsonl(ROW, second), name="m.jsonl")
    assert (result.rows, result.items, result.unchanged) == (2, 2, 0)
    assert (result.instances, result.systems, result.explanations) == (1, 1, 1)
    assert (result.follow_ups, result.outputs) == (2, 2)

    item = Item.objects.select_related("instance__dataset", "explanation__system", "follow_up").get(
        key="owl-1"
    )
    assert item.payload["follow_up"] == "Can penguins swim?"
    assert "real_output" not in item.payload
    assert (item.role, item.gold, item.parts) == ("ordinary", None, {})
    assert item.instance.input == ROW["question"]
    assert item.instance.dataset.name == "owls"
    assert (item.explanation.text, item.explanation.output) == (ROW["explanation"], "no")
    assert item.explanation.system.name == "toy-cot"
    assert item.follow_up.explanation == item.explanation
    assert item.follow_up.outputs.get().text == "yes"
    item.full_clean()


def test_items_are_stored_in_the_order_of_the_file(study: Study) -> None:
    rows = [ROW | {"key": f"k{n}", "follow_up": f"Number {n}?"} for n in (5, 3, 9, 1)]
    material_import(study=study, file=jsonl(*rows), name="m.jsonl")
    assert list(study.items.values_list("key", flat=True)) == ["k5", "k3", "k9", "k1"]


def test_importing_the_same_file_again_changes_nothing(study: Study) -> None:
    material_import(study=study, file=jsonl(ROW), name="m.jsonl")
    before = counts()
    again = material_import(study=study, file=jsonl(ROW), name="m.jsonl")
    assert (again.rows, again.items, again.unchanged, again.instances, again.outputs) == (1, 0, 1, 0, 0)
    assert counts() == before


def test_a_second_file_extends_the_study(study: Study) -> None:
    material_import(study=study, file=jsonl(ROW), name="m.jsonl")
    more = material_import(
        study=study, file=jsonl(ROW, ROW | {"key": "b", "follow_up": "B?"}), name="n.jsonl"
    )
    assert (more.items, more.unchanged, more.explanations) == (1, 1, 0)


def test_columns_of_a_csv_file_can_be_renamed(study: Study) -> None:
    text = (
        "Input.question,Input.rationale,robot,next,Input.nll\n"
        "Can owls swim?,They are birds.,FALSE,Can ducks swim?,0.5\n"
    )
    result = material_import(
        study=study,
        file=io.BytesIO(text.encode()),
        name="hits.csv",
        mapping={
            "question": "Input.question",
            "explanation": "Input.rationale",
            "answer": "robot",
            "follow_up": "next",
        },
        constants={"system": "gpt3"},
    )
    assert result.ignored == ("Input.nll",)
    item = study.items.get()
    assert item.payload["answer"] == "no"
    assert item.explanation.system.name == "gpt3"
    assert Output.objects.count() == 0


def test_a_dry_run_counts_rows_and_writes_nothing(study: Study) -> None:
    before = counts()
    result = material_import(study=study, file=jsonl(ROW), name="m.jsonl", dry_run=True)
    assert result.dry_run
    assert (result.items, result.explanations) == (1, 1)
    assert result.preview[0].payload["question"] == ROW["question"]
    assert counts() == before


def test_further_explanations_are_stored_by_unit(study: Study) -> None:
    material_import(study=study, file=jsonl(ROW | {"others": ["One.", "Two."]}), name="m.jsonl")
    item = study.items.get()
    texts = {e.pk: (e.system.name, e.text) for e in Explanation.objects.select_related("system")}
    assert {unit: texts[pk] for unit, pk in item.parts.items()} == {
        "1": ("other 1", "One."),
        "2": ("other 2", "Two."),
    }


def test_units_roles_and_correct_answers_are_stored(study: Study) -> None:
    row = ROW | {"units": ["A.", "B."], "follow_up_label": "yes", "role": "gold", "gold": {"guess": "no"}}
    result = material_import(
        study=study, file=jsonl(row, row | {"key": "b", "follow_up": "B?"}), name="m.jsonl"
    )
    assert result.units == 2
    item = study.items.select_related("explanation", "follow_up").get(key="owl-1")
    assert [(u.number, u.role, u.text) for u in item.explanation.units.all()] == [
        (1, "both", "A."),
        (2, "both", "B."),
    ]
    assert (item.role, item.gold, item.follow_up.gold_label) == ("gold", {"guess": "no"}, "yes")
    assert material_import(study=study, file=jsonl(row), name="m.jsonl").units == 0


def test_different_units_for_one_explanation_are_refused(study: Study) -> None:
    rows = ROW | {"units": ["A."]}, ROW | {"units": ["B."], "key": "b", "follow_up": "B?"}
    assert "has other units in an earlier row" in refused(study, jsonl(*rows))[0]


def test_different_correct_answers_for_one_follow_up_are_refused(study: Study) -> None:
    rows = ROW | {"follow_up_label": "yes"}, ROW | {"follow_up_label": "no", "key": "b"}
    assert "another right answer" in refused(study, jsonl(*rows))[0]


def test_unnamed_systems_of_different_studies_are_separate(study: Study, researcher: User) -> None:
    other = study_create(by=researcher, hit_type="toy", slug="other", title="Other")
    row = {name: value for name, value in ROW.items() if name != "system"}
    for one in (study, other):
        material_import(study=one, file=jsonl(row), name="m.jsonl")
    assert System.objects.filter(name__contains="not named").count() == 2


def test_every_fault_is_reported_with_its_line_and_column(study: Study) -> None:
    faults = refused(
        study,
        jsonl(ROW, ROW | {"answer": "maybe", "question": ""}, {"question": 5}, ROW | {"key": "k" * 201}),
    )
    assert "m.jsonl:2: answer: 'maybe': 'maybe' is not one of: yes, no" in faults
    assert "m.jsonl:2: question: is missing" in faults
    assert "m.jsonl:3: explanation: is missing" in faults
    assert any(f.startswith("m.jsonl:4: ") and "at most 200 characters, got 201" in f for f in faults)


def test_faults_name_the_columns_of_the_file(study: Study) -> None:
    text = b"q,explanation,answer,follow_up\nOwls?,Birds.,perhaps,Ducks?\n"
    faults = refused(study, io.BytesIO(text), "m.csv", mapping={"question": "q"})
    assert faults == ["m.csv:2: answer: 'perhaps': 'perhaps' is not one of: yes, no"]
    faults = refused(study, io.BytesIO(text.replace(b"Owls?", b"")), "m.csv", mapping={"question": "q"})
    assert "m.csv:2: q: is missing" in faults


def test_a_missing_column_is_reported_once(study: Study) -> None:
    text = b"question,explanation,anwser,follow_up\n" + b"a,b,yes,c\n" * 50
    faults = refused(study, io.BytesIO(text), "m.csv")
    assert faults == ["m.csv:1: answer: this column is missing; did you mean 'anwser'?"]


def test_a_misspelt_optional_column_is_reported(study: Study) -> None:
    result = material_import(study=study, file=jsonl(ROW | {"real_outputs": "yes"}), name="m.jsonl")
    assert result.ignored == ("real_outputs",)
    row = {name: value for name, value in ROW.items() if name != "real_output"} | {
        "key": "b",
        "real_ouput": "no",
    }
    result = material_import(study=study, file=jsonl(row), name="m.jsonl")
    assert result.warnings[0] == "column 'real_ouput' is not used; did you mean 'real_output'?"


def test_unknown_columns_in_a_mapping_are_refused(study: Study) -> None:
    faults = refused(study, jsonl(ROW), mapping={"query": "question"}, constants={"systm": "x"})
    assert [f.split(": ")[1] for f in faults] == ["query", "systm"]
    faults = refused(study, jsonl(ROW), mapping={"system": "s"}, constants={"system": "x"})
    assert "both mapped to a column and set" in faults[0]


def test_a_repeated_item_in_a_file_is_refused(study: Study) -> None:
    faults = refused(study, jsonl(ROW, ROW | {"key": "b", "follow_up": "B?"}, ROW))
    assert faults == ["m.jsonl:3: key: 'owl-1': this item is in the file already, on line 1"]


def test_a_repeated_item_is_reported_together_with_other_faults(study: Study) -> None:
    bad = {name: text for name, text in ROW.items() if name != "question"} | {"key": "c"}
    faults = refused(study, jsonl(bad, ROW, ROW))
    assert [fault.split(": ")[:2] for fault in faults] == [["m.jsonl:1", "question"], ["m.jsonl:3", "key"]]
    assert not study.items.exists()


def test_an_existing_item_with_different_content_is_refused(study: Study) -> None:
    material_import(study=study, file=jsonl(ROW), name="m.jsonl")
    faults = refused(study, jsonl(ROW | {"follow_up": "Something else?"}))
    assert len(faults) == 1
    assert "in the study already, with other content" in faults[0]


def test_different_inputs_for_one_instance_are_refused(study: Study) -> None:
    first, second = ROW | {"instance": "i1"}, ROW | {"instance": "i1", "question": "Another?", "key": "b"}
    faults = refused(study, jsonl(first, second))
    assert faults == [
        "m.jsonl:2: 'i1': this instance has another input, label or gold rationale in an earlier row or import"
    ]


def test_different_real_outputs_for_one_follow_up_are_refused(study: Study) -> None:
    faults = refused(study, jsonl(ROW, ROW | {"key": "b", "real_output": "no"}))
    assert faults[0].startswith("m.jsonl:2: real_output: 'no': the system has another real output")


def test_different_models_for_one_system_are_refused(study: Study) -> None:
    faults = refused(
        study,
        jsonl(ROW | {"model": "a"}, ROW | {"model": "b", "key": "b", "follow_up": "B?"}),
    )
    assert faults[0].startswith("m.jsonl:2: system: 'toy-cot': this name has another model")


def test_a_system_gets_the_model_that_a_later_row_names(study: Study, researcher: User) -> None:
    material_import(study=study, file=jsonl(ROW), name="m.jsonl")
    other = study_create(by=researcher, hit_type="toy", slug="other", title="Other")
    material_import(study=other, file=jsonl(ROW | {"model": "m1"}), name="m.jsonl")
    assert System.objects.get().model == "m1"
    assert "another model" in refused(other, jsonl(ROW | {"model": "m2", "key": "b", "follow_up": "B?"}))[0]


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"", "m.csv"),
        (b"question,explanation,answer,follow_up\n", "m.csv"),
        (b"\n", "m.jsonl"),
        (b"PK\x03\x04rest", "m.csv"),
        (b"question,explanation,answer,follow_up\nA?,B,yes,C?\nA?,\x00,yes,D?\n", "m.csv"),
        (json.dumps(ROW).encode() + b'\n{"question": "\\ud800"}\n', "m.jsonl"),
        (json.dumps(ROW).encode() + b"\nnot json\n", "m.jsonl"),
        (json.dumps(ROW).encode() + b"\n" + b"x" * 1_000_002, "m.jsonl"),
    ],
)
def test_a_broken_file_writes_nothing(study: Study, content: bytes, name: str) -> None:
    assert refused(study, io.BytesIO(content), name)


def test_material_can_be_imported_into_a_draft_only(study: Study) -> None:
    Study.objects.filter(pk=study.pk).update(state="draft")
    material_import(study=study, file=jsonl(ROW), name="m.jsonl")
    from annotator.services.study import study_launch, study_update

    study_update(study=study, exam_required=False, practice_required=False)
    study_launch(study=study)
    faults = refused(study, jsonl(ROW | {"key": "late"}))
    assert faults == ["m.jsonl: the study is live; material can be imported into a draft only"]


def test_the_number_of_statements_is_independent_of_the_rows(
    study: Study, django_assert_max_num_queries: Any
) -> None:
    """The number of statements does not depend on the number of rows."""

    def rows(start: int, count: int) -> io.BytesIO:
        return jsonl(
            *(
                ROW | {"key": f"k{n}", "follow_up": f"Q{n}?", "question": f"S{n // 10}?"}
                for n in range(start, start + count)
            )
        )

    with django_assert_max_num_queries(35):
        result: ImportResult = material_import(study=study, file=rows(0, 2_000), name="m.jsonl")
    assert (result.items, result.instances) == (2_000, 200)


CHOICES = ROW | {"answer": "A", "options": ["yes", "no"], "follow_up_options": ["yes", "no"]}
PREFERENCE = {
    name: name
    for name in (
        "context", "response_1", "response_2", "explanation", "follow_up_context", "follow_up_response_1",
        "follow_up_response_2",
    )
} | {"choice": "1", "system": "toy"}  # fmt: skip
SIMULATIONS = {"simulation": ROW, "simulation_choice": CHOICES, "simulation_preference": PREFERENCE}


@pytest.mark.parametrize(
    ("given", "kept"), [("Refused", "refusal"), ("neither", "neither"), ("no answer", "neither")]
)
@pytest.mark.parametrize("hit_type", SIMULATIONS)
def test_a_refusal_as_real_output_is_kept(researcher: User, hit_type: str, given: str, kept: str) -> None:
    """Left blank it would be dropped from the denominators, and the system's precision would rise."""
    study = study_create(by=researcher, hit_type=hit_type, slug="refused", title="Refused")
    row = SIMULATIONS[hit_type] | {"real_output": given}
    material_import(study=study, file=jsonl(row), name="m.jsonl")
    assert Output.objects.get().text == kept


@pytest.mark.parametrize("hit_type", SIMULATIONS)
def test_other_texts_are_still_refused_as_real_outputs(researcher: User, hit_type: str) -> None:
    study = study_create(by=researcher, hit_type=hit_type, slug="refused", title="Refused")
    faults = refused(study, jsonl(SIMULATIONS[hit_type] | {"real_output": "perhaps"}))
    assert "'perhaps' is not" in faults[0]
    assert "refusal, neither" in faults[0]
