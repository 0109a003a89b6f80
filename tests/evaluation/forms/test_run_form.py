"""The form of a new run: checking it writes nothing, saving it creates the run once."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotator.models import Rater
from evaluation.forms.runs import NewRunForm
from evaluation.models import Call, Run
from evaluation.runs.create import NothingToAsk, RunPlan
from evaluation.runs.estimate import run_estimate
from evaluation.simulators.start import simulation_create, simulation_draft
from tests.evaluation.run_factories import make_endpoint, make_material
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_user

pytestmark = pytest.mark.django_db


def form(scripted: ScriptedProcess, **more: object) -> NewRunForm:
    user = make_user("boss", staff=True, is_superuser=True)
    fields = {
        "kind": "simulate", "study": make_material(3).pk, "endpoint": make_endpoint(scripted).pk, "samples": 2,
        "together": 1, "mode": "live", "workers": 1, "max_attempts": 6, "max_unparsable": 3, "parameters": "{}",
        "options": "{}",
    }  # fmt: skip
    return type("Form", (NewRunForm,), {"user": user})(fields | more)


def test_checking_and_estimating_write_nothing(scripted: ScriptedProcess) -> None:
    checked = form(scripted)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert checked.is_valid(), checked.errors
        estimate = checked.estimate()
    assert estimate is not None
    assert (estimate.calls, estimate.first_key) == (6, "item-0")
    written = {"INSERT", "UPDATE", "DELETE"}
    assert not written & {query["sql"].split()[0] for query in queries}
    assert not Run.objects.exists()
    assert not Rater.objects.filter(kind="simulator").exists()


def test_saving_the_form_creates_the_run_once(scripted: ScriptedProcess) -> None:
    checked = form(scripted)
    assert checked.is_valid()
    run = checked.save()
    assert list(Run.objects.all()) == [run]
    assert Call.objects.filter(run=run).count() == 6
    assert run.rater == Rater.objects.get(kind="simulator")


def test_a_draft_and_its_saved_run_have_the_same_estimate(scripted: ScriptedProcess) -> None:
    endpoint, study = make_endpoint(scripted), make_material(5)
    plan = RunPlan(samples=2)
    draft = run_estimate(run=simulation_draft(study=study, endpoint=endpoint, plan=plan))
    saved = run_estimate(run=simulation_create(study=study, endpoint=endpoint, plan=plan))
    assert draft == saved
    assert draft.calls == 10


def test_a_study_without_items_has_nothing_to_ask(scripted: ScriptedProcess) -> None:
    with pytest.raises(NothingToAsk) as raised:
        simulation_draft(study=make_material(0), endpoint=make_endpoint(scripted))
    assert isinstance(raised.value, ValidationError)


def asked(kind: str) -> list[str]:
    user = make_user(staff=True, is_superuser=True)
    return list(type("Form", (NewRunForm,), {"user": user})(initial={"kind": kind}).fields)


def test_only_the_fields_of_the_kind_are_shown_with_json_last() -> None:
    simulate, generate = asked("simulate"), asked("counterfactuals")
    assert not {"material", "options"} & set(simulate)
    assert not {"study", "samples", "together", "max_attempts", "max_unparsable"} & set(generate)
    assert simulate[:3] == ["kind", "study", "endpoint"]
    assert generate[:3] == ["kind", "material", "endpoint"]
    assert (simulate[-1], generate[-2:]) == ("parameters", ["parameters", "options"])


def test_the_only_endpoint_is_chosen(scripted: ScriptedProcess) -> None:
    user = make_user(staff=True, is_superuser=True)
    own = type("Form", (NewRunForm,), {"user": user})
    only = make_endpoint(scripted)
    assert own()["endpoint"].value() == only.pk
    make_endpoint(scripted, name="another")
    assert own()["endpoint"].value() is None
