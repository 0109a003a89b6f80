"""Simulators over every HIT type: one sample and several, one item in a request and several."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from annotator.hit_types.registry import hit_types
from annotator.models import Item, Judgment, Study
from evaluation.runs.create import RunPlan
from evaluation.runs.lifecycle import run_start
from evaluation.simulators.start import simulation_create
from tests.contracts.cases import examples
from tests.evaluation.run_factories import make_endpoint, make_material, make_run, work
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_study

pytestmark = pytest.mark.django_db(transaction=True)
TYPES = [name for name, kind in hit_types().items() if not kind.external]


@pytest.fixture(autouse=True)
def _allowed(scripted: ScriptedProcess, settings: object) -> None:
    settings.LLM_ALLOWED_HOSTS = [scripted.host]  # type: ignore[attr-defined]


def study_of(name: str) -> Study:
    """A study of the type's own examples."""
    kind = hit_types()[name]
    study = make_study(hit_type=name)
    cases = examples(kind, "valid")
    rows = {str(number): kind.parse_item(case["row"]) for number, case in enumerate(cases)}
    Item.objects.bulk_create(Item(study=study, key=key, payload=row.payload) for key, row in rows.items())
    return study


@pytest.mark.parametrize(
    ("choices", "structured"),
    [
        ({}, False),
        ({}, True),
        ({"samples": 3, "parameters": {"temperature": 1}}, False),
        ({"together": 3}, False),
    ],
    ids=["plain", "schema", "samples", "together"],
)
def test_every_item_of_every_type_is_judged_or_tied(
    choices: dict[str, Any], structured: bool, scripted: ScriptedProcess
) -> None:
    """All types in one test: the tables are emptied once."""
    endpoint = make_endpoint(scripted, structured=structured, model="scripted?quality=0.7")
    for name in TYPES:
        scripted.reset()
        study = study_of(name)
        run = simulation_create(study=study, endpoint=endpoint, plan=RunPlan(**choices))
        work(run_start(run=run))
        calls = list(run.calls.order_by("pk"))
        assert {(call.state, call.error) for call in calls} == {("done", "")}, name
        tied = {call.item_id for call in calls if "tie" in call.flags}
        judgments = Judgment.objects.filter(study=study).select_related("item")
        judged = {judgment.item_id for judgment in judgments}
        assert len(judged) + len(tied) == study.items.count(), name
        assert not judged & tied
        drawn = {call.item_id: call.context.get("presentation") for call in calls}
        for judgment in judgments:
            payload = judgment.item.payload
            whole = hit_types()[name].parse_whole(payload, judgment.response, drawn[judgment.item_id])
            assert whole == judgment.response
            assert hit_types()[name].to_ratings(payload, whole)
        requests = scripted.stats()["requests"]
        if choices.get("together"):
            assert requests < len(calls) or len(calls) == 1, name
        else:
            assert requests == len(calls), name  # a row for each sample and stage


def test_withdrawn_items_are_not_asked(scripted: ScriptedProcess) -> None:
    study = make_material(3)
    study.items.filter(key="item-1").update(withdrawn_at=timezone.now(), withdrawn_reason="A typing error.")
    run = make_run(make_endpoint(scripted), study)
    work(run)
    assert set(run.calls.values_list("key", flat=True)) == {"item-0", "item-2"}
