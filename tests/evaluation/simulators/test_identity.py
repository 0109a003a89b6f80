"""Which runs are the same simulator: the same if and only if nothing that changes the answers differs."""

from __future__ import annotations

from typing import Any

import pytest

from annotator.models import Judgment, Rater, Study
from evaluation.models import Endpoint, Run
from evaluation.reports.choices import Choices
from evaluation.reports.compute import compute
from evaluation.runs.lifecycle import run_resume
from evaluation.selectors.run import run_progress
from tests.evaluation.run_factories import SCRIPTED_MARKS, make_endpoint, make_material, make_run, work
from tests.evaluation.scripted_process import ScriptedProcess

pytestmark = SCRIPTED_MARKS


@pytest.mark.parametrize(
    ("endpoint", "run"),
    [
        ({"base_url": "http://127.0.0.1:1/v1"}, {}),
        ({"deployment": "the lab's own"}, {}),
        ({"structured": True}, {}),
        ({"parameters": {"temperature": 1}}, {}),
        ({"parameters": {"temperature": None}}, {}),
        ({"api_version": "2024-10-21"}, {}),
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


def test_a_simulator_that_is_asked_once_has_a_temperature_of_0_unless_somebody_chose_one(
    scripted: ScriptedProcess,
) -> None:
    study, endpoint = make_material(2), make_endpoint(scripted)
    own = make_endpoint(scripted, name="own", parameters={"temperature": 0.3})
    assert make_run(endpoint, study, started=False).parameters == {"temperature": 0.0}
    assert make_run(own, study, started=False).parameters == {}
    assert make_run(endpoint, study, started=False, model="o3").parameters == {}
    assert make_run(endpoint, study, started=False, samples=3).parameters == {}
    run = make_run(endpoint, study, parameters={"temperature": None, "seed": 2})
    work(run)
    assert {"temperature", "seed"} & set(run.calls.all()[0].request) == {"seed"}


def test_the_replies_of_another_api_version_are_not_taken_from_the_cache(scripted: ScriptedProcess) -> None:
    study, endpoint = make_material(2), make_endpoint(scripted)
    work(make_run(endpoint, study))
    Endpoint.objects.update(api_version="2024-10-21")
    endpoint.refresh_from_db()
    again = make_run(endpoint, study)
    work(again)
    assert list(again.calls.values_list("from_cache", flat=True)) == [False, False]


def test_two_addresses_of_one_deployment_are_one_simulator(scripted: ScriptedProcess) -> None:
    study = make_material(2)
    places = [
        make_endpoint(scripted, name=url, base_url=url, deployment="lab llama", api_version=version)
        for url, version in (("http://127.0.0.1:1/v1", ""), ("http://127.0.0.1:2/v1", "2024-10-21"))
    ]
    assert len({make_run(place, study, started=False).rater_id for place in places}) == 1


def test_fingerprints_in_turn_make_one_simulator_by_default(scripted: ScriptedProcess) -> None:
    study = make_material(30)
    run = make_run(make_endpoint(scripted), study, model="scripted?versions=4", samples=3)
    work(run)
    assert set(Judgment.objects.filter(study=study).values_list("rater", flat=True)) == {run.rater_id}
    assert Judgment.objects.filter(study=study).count() == 30
    assert run_progress(run).fingerprints == 4
    (note,) = [note for note in people_notes(study) if "fingerprints" in note]
    assert note.endswith("returned 4 fingerprints: it may have run several versions of the model.")


def people_notes(study: Study) -> list[str]:
    content = compute(study=study, choices=Choices.parse({"replicates": 0}), figures=False).content
    return next(section["notes"] for section in content["sections"] if section["id"] == "conduct")


def test_judgments_of_another_returned_version_get_a_separate_rater_by_choice(
    scripted: ScriptedProcess,
) -> None:
    study = make_material(30)
    run = make_run(make_endpoint(scripted), study, model="scripted?versions=2", by_fingerprint=True)
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


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"structured": True}, "form of reply"),
        ({"images": True}, "setting for images"),
        ({"parameters": {"temperature": 1}}, "parameters"),
        ({"headers": {"X-Project": "secret-project"}}, "headers"),
        ({"api_version": "2024-10-21"}, "API version"),
    ],
)
def test_an_endpoint_that_changes_in_the_middle_pauses_the_run(
    scripted: ScriptedProcess, change: dict[str, Any], named: str
) -> None:
    endpoint = make_endpoint(scripted)
    run = make_run(endpoint, make_material(5), budget_calls=2)
    work(run)
    assert (run.state, run.calls.filter(reply__isnull=False).count()) == ("paused", 2)
    Run.objects.filter(pk=run.pk).update(budget_calls=None)
    before = {name: getattr(endpoint, name) for name in change}
    Endpoint.objects.filter(pk=endpoint.pk).update(**change)
    run_resume(run=run)
    work(run)
    assert (run.state, run.calls.filter(reply__isnull=False).count()) == ("paused", 2)
    assert sorted(run.reason.partition("(")[2].partition(")")[0].split(", ")) == named.split(", ")
    assert "secret-project" not in str(run.endpoint_settings) + run.reason
    run_resume(run=run)
    work(run)
    assert run.state == "paused", "still changed"
    Endpoint.objects.filter(pk=endpoint.pk).update(**before)
    run_resume(run=run)
    work(run)
    assert run.state == "done"
    assert Judgment.objects.filter(rater_id=run.rater_id).count() == 5
