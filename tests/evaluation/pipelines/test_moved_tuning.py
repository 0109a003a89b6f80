"""An endpoint whose address changes around a fine-tuning job: no job is followed, and no trained model asked, elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from annotator.core.errors import Conflict
from annotator.models import AuditAction, AuditEntry
from evaluation.models import Endpoint, FineTuning, Pipeline
from evaluation.pipelines import advance, training
from evaluation.pipelines.advance import (
    pipeline_advance,
    pipeline_cancel,
    pipeline_deployment_confirm,
    pipeline_resume,
)
from evaluation.pipelines.create import pipeline_create, recipe_save
from evaluation.pipelines.recipe import recipe_file
from evaluation.pipelines.sweep import pipelines_sweep
from evaluation.runs.inline import run_inline
from evaluation.services.dataset import dataset_load
from tests.evaluation.pipelines.carried import questions
from tests.evaluation.run_factories import make_endpoint
from tests.evaluation.scripted_process import ScriptedProcess

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("allowed")]


@pytest.fixture
def moved(scripted: ScriptedProcess, settings: Any) -> str:
    """Another address of the scripted provider, without the scheme."""
    host = scripted.host.replace("127.0.0.1", "localhost")
    settings.LLM_ALLOWED_HOSTS = [*settings.LLM_ALLOWED_HOSTS, host]
    return host


def move(host: str) -> None:
    Endpoint.objects.update(base_url=f"http://{host}/v1")


def rewarded(scripted: ScriptedProcess, folder: Path, tuned: str = "") -> Pipeline:
    """A pipeline whose rationales have rewards, and which trains a model with them next and then asks it."""
    endpoint = make_endpoint(scripted, model="scripted?quality=0.7")
    dataset, _ = dataset_load(name="d", path=questions(folder), task="yes_no", limit=6)
    recipe = recipe_file("p3-quark")
    kept = ("generalization", "gen-u-without", "rationales-1", "rewards-1", "tune-1", "rationales-2")
    recipe["steps"] = [step for step in recipe["steps"] if step["name"] in kept]
    for step in recipe["steps"]:
        if "questions" in step["options"]:
            step["options"]["questions"] = "all"
    pipeline = pipeline_create(
        recipe=recipe_save(content=recipe),
        dataset=dataset,
        endpoint=endpoint,
        overrides={"generalization": {"n": 1}} | ({"tune-1": {"model": tuned}} if tuned else {}),
    )
    while True:
        assert pipeline_advance(pipeline_pk=pipeline.pk) == "waiting"
        run = pipeline.runs.get(state="running")
        run_inline(run=run)
        if run.options["step"] == "rewards-1":
            return pipeline


def carry(pipeline: Pipeline) -> Pipeline:
    """Work until the pipeline ends, pauses or waits for a fine-tuning job."""
    while pipeline_advance(pipeline_pk=pipeline.pk) == "waiting" and pipeline.runs.filter(state="running"):
        run_inline(run=pipeline.runs.get(state="running"))
    pipeline.refresh_from_db()
    return pipeline


def is_paused(pipeline: Pipeline, said: str) -> bool:
    return (pipeline.state, pipeline.reason.startswith(said)) == ("paused", True)


def test_a_model_is_not_trained_further_elsewhere(
    scripted: ScriptedProcess, moved: str, tmp_path: Path
) -> None:
    pipeline = rewarded(scripted, tmp_path)
    move(moved)
    pipeline = carry(pipeline)
    assert is_paused(pipeline, f"tune-1: The answers so far come from {scripted.host}"), pipeline.reason
    assert not FineTuning.objects.exists()
    pipeline = carry(pipeline_deployment_confirm(pipeline=pipeline, deployments=[moved]))
    assert pipeline.state == "done", pipeline.reason
    assert FineTuning.objects.get().deployments == [moved]


def test_a_job_is_not_started_with_a_file_that_was_sent_elsewhere(
    scripted: ScriptedProcess, moved: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def dies_when_the_file_is_sent(endpoint: Any, what: Any) -> Any:
        if FineTuning.objects.exclude(file_id="").exists():
            raise Killed
        return ask(endpoint, what)

    pipeline = rewarded(scripted, tmp_path)
    ask = training.tuner_ask
    monkeypatch.setattr(training, "tuner_ask", dies_when_the_file_is_sent)
    with pytest.raises(Killed):
        carry(pipeline)
    monkeypatch.setattr(training, "tuner_ask", ask)
    move(moved)
    scripted.reset()
    pipeline = carry(pipeline)
    assert is_paused(pipeline, f"tune-1: The fine-tuning of tune-1 is at {scripted.host}"), pipeline.reason
    assert f"the endpoint scripted is at {moved} now" in pipeline.reason
    assert is_paused(carry(pipeline_resume(pipeline=pipeline)), "tune-1: The fine-tuning"), "still elsewhere"
    assert FineTuning.objects.get().job_id == ""

    pipeline = carry(pipeline_deployment_confirm(pipeline=pipeline, deployments=[moved]))
    assert pipeline.state == "done", pipeline.reason
    tuning = FineTuning.objects.get()
    assert (tuning.state, tuning.deployments) == ("done", [scripted.host, moved])
    entry = AuditEntry.objects.get(action=AuditAction.DEPLOYMENT_CONFIRMED, target__startswith="fine-tuning")
    assert (entry.before, entry.after) == (
        {"deployments": [scripted.host]},
        {"deployments": [scripted.host, moved]},
    )


def test_a_running_job_is_followed_again_when_the_endpoint_is_changed_back(
    scripted: ScriptedProcess, moved: str, tmp_path: Path
) -> None:
    pipeline = carry(rewarded(scripted, tmp_path, tuned="scripted?tuning_seconds=600"))
    before = FineTuning.objects.get()
    assert (pipeline.state, before.state) == ("running", "running")
    move(moved)
    pipeline = carry(pipeline)
    assert is_paused(pipeline, f"tune-1: The fine-tuning of tune-1 is at {scripted.host}"), pipeline.reason
    after = FineTuning.objects.get()
    assert (after.state, after.looked_at) == ("running", before.looked_at), "nothing was asked"
    move(scripted.host)
    pipeline = carry(pipeline_resume(pipeline=pipeline))
    assert (pipeline.state, FineTuning.objects.get().job_id) == ("running", before.job_id)
    with pytest.raises(Conflict, match="Resume the pipeline"):
        pipeline_deployment_confirm(pipeline=pipeline, deployments=[moved])


def test_a_cancelled_job_is_not_cancelled_elsewhere(
    scripted: ScriptedProcess, moved: str, tmp_path: Path
) -> None:
    pipeline = carry(rewarded(scripted, tmp_path, tuned="scripted?tuning_seconds=600"))
    move(moved)
    pipeline_cancel(pipeline=pipeline)
    pipelines_sweep()
    tuning = FineTuning.objects.get()
    assert tuning.state == "cancelling"
    assert tuning.error.startswith(
        f"The job is at {scripted.host}, and the endpoint scripted is at {moved} now."
    )
    move(scripted.host)
    pipelines_sweep()
    tuning.refresh_from_db()
    assert tuning.state == "cancelled"


def test_a_trained_model_is_not_asked_elsewhere(
    scripted: ScriptedProcess, moved: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = rewarded(scripted, tmp_path)
    monkeypatch.setattr(advance, "tuning_work", lambda **_: False)
    carry(pipeline)
    monkeypatch.undo()
    assert training.tuning_work(pipeline_pk=pipeline.pk)
    move(moved)
    pipeline = carry(pipeline)
    assert is_paused(pipeline, f"rationales-2: The fine-tuning of tune-1 is at {scripted.host}"), (
        pipeline.reason
    )
    assert not pipeline.runs.filter(options__step="rationales-2").exists()
    assert carry(pipeline_deployment_confirm(pipeline=pipeline, deployments=[moved])).state == "done"
