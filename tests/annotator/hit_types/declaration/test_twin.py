"""The type ``simulation`` as a file gives what the one in Python gives: items, stages, keys, ratings, replies, exam and report."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

import annotator.demo
from annotator.hit_types.base import JSON, FieldErrors, ItemDraft, Unparsable
from annotator.hit_types.registry import HIT_TYPES, hit_type_get
from annotator.models import Study
from annotator.services.imports.material_import import material_import
from annotator.web.task_form import option_keys, task_form
from tests.annotator.hit_types.declaration.files import twin
from tests.contracts.cases import examples
from tests.evaluation.reports.studies import computed
from tests.factories import make_rater, make_study, record_judgment

DEMO = Path(annotator.demo.__path__[0]) / "simulation.jsonl"
ROWS = [json.loads(line) for line in DEMO.read_text(encoding="utf-8").splitlines()]
OWN = hit_type_get("simulation")


def without_key(draft: ItemDraft) -> ItemDraft:
    """An item's own key begins with its type's name."""
    return replace(draft, key="")


def test_items_of_the_demo_are_the_same() -> None:
    for row in ROWS:
        assert twin().parse_item(row) == OWN.parse_item(row)
        unnamed = {name: value for name, value in row.items() if name not in ("key", "instance")}
        assert without_key(twin().parse_item(unnamed)) == without_key(OWN.parse_item(unnamed))


def test_stages_fields_and_keys_are_the_same() -> None:
    for row in ROWS:
        payload = OWN.parse_item(row).payload
        ours, theirs = twin().stages(payload), OWN.stages(payload)
        assert ours == theirs
        assert [option_keys(stage.fields) for stage in ours] == [option_keys(s.fields) for s in theirs]
        assert task_form(ours[0]) == task_form(theirs[0])


RESPONSES: tuple[JSON, ...] = (
    {"helpful": "no"},
    {"helpful": "no", "answer": "yes"},
    {"helpful": "yes", "answer": "yes"},
    {"helpful": "yes", "answer": "no"},
)


def test_responses_ratings_and_replies_are_the_same() -> None:
    payload = OWN.parse_item(ROWS[0]).payload
    assert twin().variables == OWN.variables
    assert (twin().headline, twin().measures) == (OWN.headline, OWN.measures)
    for raw in RESPONSES:
        response = OWN.parse_response(payload, raw)
        assert twin().parse_response(payload, raw) == response
        assert twin().to_ratings(payload, response) == OWN.to_ratings(payload, response)
        assert twin().describe(payload, response) == OWN.describe(payload, response)
        assert twin().write_reply(payload, response) == OWN.write_reply(payload, response)
    for raw in ({}, {"helpful": "yes"}, {"helpful": "perhaps"}):
        with pytest.raises(FieldErrors) as ours:
            twin().parse_response(payload, raw)
        with pytest.raises(FieldErrors) as theirs:
            OWN.parse_response(payload, raw)
        assert ours.value.errors == theirs.value.errors


def test_replies_of_real_models_are_read_alike_or_refused() -> None:
    """The file has no patterns of sentences, so that a reply without a last line may be refused; none is read otherwise."""
    items = [OWN.parse_item(case["row"]).payload for case in examples(OWN, "valid")]
    read = 0
    for case in examples(OWN, "replies"):
        payload = items[case.get("item", 0)]
        try:
            raw = twin().parse_reply(case["reply"], payload)
        except Unparsable:
            continue
        assert twin().parse_response(payload, raw) == case.get("response"), case["reply"]
        read += 1
        assert [m.content for m in twin().prompt(payload)] == [m.content for m in OWN.prompt(payload)]
    assert read > 20


def test_exam_practice_and_instructions_are_the_same() -> None:
    assert (twin().exam, twin().practice) == (OWN.exam, OWN.practice)
    assert twin().read_instructions() == OWN.read_instructions()
    assert twin().defaults == OWN.defaults


@pytest.mark.django_db
def test_the_report_is_the_same() -> None:
    study: Study = make_study()
    lines = "\n".join(json.dumps(row) for row in ROWS[:12])
    material_import(study=study, file=io.BytesIO(lines.encode()), name="demo.jsonl")
    for place, item in enumerate(study.items.order_by("key")):
        for number, name in enumerate(("ann", "bob", "cid")):
            record_judgment(item, make_rater(name), RESPONSES[(0, 2, 3)[(place + number * (place % 3)) % 3]])
    expected = computed(study).content
    with HIT_TYPES.including(twin()):
        Study.objects.filter(pk=study.pk).update(hit_type=twin().name)
        found = computed(Study.objects.get(pk=study.pk)).content
    assert len(expected["sections"]) > 4
    assert "p1-table-4" in json.dumps(expected)
    text = json.dumps(found).replace(twin().name, OWN.name)
    ours = json.loads(text.replace(f"version {twin().version}", f"version {OWN.version}"))
    theirs = json.loads(json.dumps(expected))
    assert set(ours) == set(theirs)
    for one in (ours, theirs):  # the digest of the inputs includes the type's name
        one["facts"] = [fact for fact in one["facts"] if fact[0] != "Inputs"]
    for part in set(theirs) - {"sections"}:
        assert ours[part] == theirs[part], part
    for mine, yours in zip(ours["sections"], theirs["sections"], strict=True):
        assert mine == yours, yours["id"]
