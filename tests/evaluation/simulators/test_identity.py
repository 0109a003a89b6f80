"""Which runs are the same simulator: the same if and only if nothing that changes the answers differs."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from django.apps import apps

from annotator.models import Judgment, Rater
from evaluation.runs.create import NothingToAsk
from tests.evaluation.run_factories import make_endpoint, make_material, make_run, work
from tests.evaluation.scripted_process import ScriptedProcess

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("scripted_allowed")]


@pytest.mark.parametrize(
    ("endpoint", "run"),
    [
        ({"base_url": "http://127.0.0.1:1/v1"}, {}),
        ({"deployment": "the lab's own"}, {}),
        ({"structured": True}, {}),
        ({"parameters": {"temperature": 1}}, {}),
        ({}, {"model": "scripted?seed=2"}),
        ({}, {"prompt": "## user\n$follow_up"}),
        ({}, {"samples": 3}),
        ({}, {"together": 2}),
    ],
)
def test_every_setting_that_changes_answers_identifies_another_simulator(
    scripted: ScriptedProcess, endpoint: dict[str, Any], run: dict[str, Any]
) -> None:
    study = make_material(2)
    one = make_run(make_endpoint(scripted), study, started=False)
    other = make_run(make_endpoint(scripted, name="other", **endpoint), study, started=False, **run)
    assert one.rater_id != other.rater_id


def test_settings_that_do_not_change_answers_keep_the_simulator(scripted: ScriptedProcess) -> None:
    study = make_material(2)
    one = make_run(make_endpoint(scripted), study, started=False)
    other = make_run(
        make_endpoint(scripted, name="other", concurrency=3, timeout_seconds=9, price_in=7), study,
        started=False, workers=3, budget_calls=9, max_attempts=2,
    )  # fmt: skip
    assert one.rater_id == other.rater_id


def test_two_addresses_of_one_deployment_are_one_simulator(scripted: ScriptedProcess) -> None:
    study = make_material(2)
    places = [
        make_endpoint(scripted, name=url, base_url=url, deployment="lab llama")
        for url in ("http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1")
    ]
    assert len({make_run(place, study, started=False).rater_id for place in places}) == 1


def test_judgments_of_another_returned_version_get_a_separate_rater(scripted: ScriptedProcess) -> None:
    study = make_material(30)
    run = make_run(make_endpoint(scripted), study, model="scripted?versions=2")
    work(run)
    by_rater = {
        rater: {
            run.calls.get(item=judgment.item).fingerprint
            for judgment in Judgment.objects.filter(study=study, rater=rater)
        }
        for rater in Rater.objects.filter(kind="simulator")
    }
    assert len(by_rater) == 2
    assert all(len(versions) == 1 for versions in by_rater.values())
    assert run.rater in by_rater
    other = next(rater for rater in by_rater if rater != run.rater)
    assert other.name.startswith(f"{run.rater} · returned scripted-1 fp_scripted_")
    assert Judgment.objects.filter(study=study).count() == 30


def test_the_migration_gives_old_simulators_the_name_that_new_runs_look_for(
    scripted: ScriptedProcess,
) -> None:
    study = make_material(2)
    endpoint = make_endpoint(scripted, name="lab", structured=True)
    run = make_run(endpoint, study, parameters={"temperature": 1})
    work(run)
    assert run.rater is not None
    now = run.rater.name
    old = now.replace(f" at {scripted.host}", "").removesuffix(" · JSON schema")
    Rater.objects.filter(pk=run.rater_id).update(name=old)
    migration = importlib.import_module("evaluation.migrations.0005_run_resilience")
    migration.name_simulators(apps, None)
    assert Rater.objects.get(pk=run.rater_id).name == now
    with pytest.raises(NothingToAsk):
        make_run(endpoint, study, parameters={"temperature": 1})
